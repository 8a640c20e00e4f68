//! What a plan's author should know although the plan can run.

use super::{graph::Ancestors, links, task::ReadTask};
use crate::{diagnostic::Problems, document::Section};
use pitcrew_model::{Overlap, PlanHead, RepoPath, TaskId, exclusive};
use std::collections::BTreeMap;

/// Names that a warning lists before it says that there are others.
const NAMES_LISTED_MAX: usize = 3;

pub(super) fn give(root: &Section, head: &PlanHead, tasks: &[ReadTask], problems: &mut Problems) {
    if head.setup.is_empty() && !head.setup_inputs.is_empty() {
        let span = root.key_span("setup_inputs");
        problems.warn(&span, "`setup_inputs` has no effect: there is no `setup`", None);
    }
    for task in tasks {
        of_task(task, problems);
    }
    if head.overlap == Overlap::Wait {
        overlaps(head, tasks, problems);
    }
}

fn of_task(task: &ReadTask, problems: &mut Problems) {
    let Some(key) = &task.key else { return };
    let (name, title) = (key.value.as_str(), task.title());
    if task.region.is_empty() {
        let message = format!(
            "{title} has no `region`: it may change the whole repository, and others may at the same time"
        );
        let help = "name the paths it owns, for example: region = \"src/api\"";
        problems.warn(&key.span, message, Some(help.into()));
    }
    if task.checks_count == 0 {
        let message = format!("{title} has no `checks`: nothing will be run to verify it");
        let help = "add a command that must succeed, for example: checks = \"cargo test\"";
        problems.warn(&key.span, message, Some(help.into()));
    }
    if name.parse::<TaskId>().is_ok() {
        let message =
            format!("`{name}` looks like an id that pitcrew gives out, and will have another one");
        problems.warn(
            &key.span,
            message,
            Some("choose a name that says what the task does".into()),
        );
    }
}

/// Tells for each task which independent ones before it in the file it can not run beside.
fn overlaps(head: &PlanHead, tasks: &[ReadTask], problems: &mut Problems) {
    let ancestors = Ancestors::of(&links::graph(tasks));
    // Who owns a path, and who owns something in it: so that only relatives of a path are looked at.
    let mut owners: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut owners_within: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, task) in tasks.iter().enumerate() {
        let mut rivals: Vec<usize> = Vec::new();
        for path in exclusive(&task.region, &head.shared) {
            let above = prefixes(path).filter_map(|it| owners.get(it)).flatten();
            let within = owners_within.get(path.as_str()).into_iter().flatten();
            for rival in above.chain(within) {
                if rivals.len() > NAMES_LISTED_MAX {
                    break;
                }
                if !rivals.contains(rival) && ancestors.independent(*rival, index) {
                    rivals.push(*rival);
                }
            }
        }
        for path in exclusive(&task.region, &head.shared) {
            owners.entry(path.as_str()).or_default().push(index);
            for prefix in prefixes(path) {
                let within = owners_within.entry(prefix).or_default();
                if within.last() != Some(&index) {
                    within.push(index);
                }
            }
        }
        if !rivals.is_empty() {
            tell_overlap(task, &rivals, tasks, problems);
        }
    }
}

/// The path itself and every folder above it, down from the root.
fn prefixes(path: &RepoPath) -> impl Iterator<Item = &str> {
    let path = path.as_str();
    let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
    let root = (!path.is_empty()).then_some("");
    root.into_iter().chain(folders).chain(std::iter::once(path))
}

fn tell_overlap(task: &ReadTask, rivals: &[usize], tasks: &[ReadTask], problems: &mut Problems) {
    let listed = rivals.iter().take(NAMES_LISTED_MAX).filter_map(|it| tasks[*it].name());
    let mut names: Vec<String> = listed.map(|it| format!("`{it}`")).collect();
    if rivals.len() > NAMES_LISTED_MAX {
        names.push("others".into());
    }
    let last = names.pop().unwrap_or_default();
    let others = if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) };
    let message = format!(
        "the region of {} overlaps with that of {others}: they will not run at the same time",
        task.title()
    );
    let help = "give them regions apart, let one depend on the other, or write `overlap = \"allow\"` in the plan";
    problems.warn(&task.region_span, message, Some(help.into()));
}
