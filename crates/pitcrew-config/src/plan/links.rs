//! How the tasks of a plan refer to each other.

use super::{graph, task::ReadTask};
use crate::{diagnostic::Problems, suggest};
use std::collections::BTreeMap;

/// Records duplicate ids, unknown dependencies, self-dependencies and cycles.
pub(super) fn check(tasks: &[ReadTask], problems: &mut Problems) {
    let indices = check_ids(tasks, problems);
    let graph: Vec<Vec<usize>> =
        tasks.iter().map(|task| check_dependencies(task, &indices, problems)).collect();
    for cycle in graph::cycles(&graph) {
        report_cycle(&cycle, tasks, problems);
    }
}

/// The dependencies of checked tasks by index.
pub(super) fn graph(tasks: &[ReadTask]) -> Vec<Vec<usize>> {
    let indices: BTreeMap<&str, usize> =
        tasks.iter().enumerate().filter_map(|(index, task)| Some((task.name()?, index))).collect();
    let known = |task: &ReadTask| {
        task.depends_on.iter().filter_map(|it| indices.get(it.value.as_str()).copied()).collect()
    };
    tasks.iter().map(known).collect()
}

fn check_ids<'t>(tasks: &'t [ReadTask], problems: &mut Problems) -> BTreeMap<&'t str, usize> {
    let mut indices: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, task) in tasks.iter().enumerate() {
        let Some(key) = &task.key else { continue };
        let Some(first) = indices.get(key.value.as_str()) else {
            indices.insert(&key.value, index);
            continue;
        };
        let first = tasks[*first].key.as_ref().expect("an indexed task has a key");
        let (here, there) = (problems.line_of(&key.span), problems.line_of(&first.span));
        let message =
            format!("two tasks have the id `{}`: on line {there} and on line {here}", key.value);
        problems.error(&key.span, message, Some("rename one of them".into()));
    }
    indices
}

fn check_dependencies(
    task: &ReadTask,
    indices: &BTreeMap<&str, usize>,
    problems: &mut Problems,
) -> Vec<usize> {
    let mut known = Vec::new();
    for dependency in &task.depends_on {
        let wanted = dependency.value.as_str();
        let own = task.key.as_ref().is_some_and(|it| it.value == wanted);
        if own {
            let message = format!("task `{wanted}` depends on itself");
            problems.error(&dependency.span, message, Some("remove it from `depends_on`".into()));
            continue;
        }
        if let Some(index) = indices.get(wanted) {
            known.push(*index);
            continue;
        }
        let message = format!("{} depends on `{wanted}`, which is not in the plan", task.title());
        let others = indices.keys().copied().filter(|it| Some(*it) != task.name());
        let help = suggest::nearest(wanted, others).map_or_else(
            || "`depends_on` names the `id` of other tasks of this plan".to_owned(),
            suggest::did_you_mean,
        );
        problems.error(&dependency.span, message, Some(help));
    }
    known
}

fn report_cycle(cycle: &[usize], tasks: &[ReadTask], problems: &mut Problems) {
    let closed = cycle.iter().chain(cycle.first());
    let names: Vec<&str> = closed.filter_map(|it| tasks[*it].name()).collect();
    let first = &tasks[cycle[0]];
    let edge = first.depends_on.iter().find(|it| it.value == names[1]);
    let span = edge.map_or_else(|| first.span.clone(), |it| it.span.clone());
    let message = format!("the tasks depend on each other in a cycle: {}", names.join(" -> "));
    let help =
        Some("`a -> b` means that `a` depends on `b`: remove one of these dependencies".into());
    problems.error(&span, message, help);
}
