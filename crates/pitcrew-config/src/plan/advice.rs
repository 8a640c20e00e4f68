//! Warnings about a plan that can run.

use super::{graph::Ancestors, links, task::ReadTask};
use crate::{diagnostic::Problems, document::Section};
use pitcrew_model::{Overlap, PlanHead, RepoPath, TaskId, exclusive};
use std::collections::BTreeMap;

/// Names that a warning lists before it summarizes the rest.
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
            "{title} has no `region`: it may change any file, also one that another task is changing"
        );
        let help = "name the paths it owns, for example: region = \"src/api\"";
        problems.warn(&key.span, message, Some(help.into()));
    }
    if task.checks_count == 0 {
        let message = format!("{title} has no `checks`: nothing will verify its work");
        let help = "add a command that must succeed, for example: checks = \"cargo test\"";
        problems.warn(&key.span, message, Some(help.into()));
    }
    if name.parse::<TaskId>().is_ok() {
        let message = format!(
            "`{name}` looks like an id that Pitcrew assigns, but the task will get a different id"
        );
        problems.warn(
            &key.span,
            message,
            Some("choose a name that says what the task does".into()),
        );
    }
}

/// Warns for each task about independent earlier tasks that it cannot run beside.
fn overlaps(head: &PlanHead, tasks: &[ReadTask], problems: &mut Problems) {
    let ancestors = Ancestors::of(&links::graph(tasks));
    // Indexes owners by path and by every folder above it, so that only related paths are compared.
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
            warn_overlap(task, &rivals, tasks, problems);
        }
    }
}

/// The path itself and every folder above it, from the root down.
fn prefixes(path: &RepoPath) -> impl Iterator<Item = &str> {
    let path = path.as_str();
    let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
    let root = (!path.is_empty()).then_some("");
    root.into_iter().chain(folders).chain(std::iter::once(path))
}

fn warn_overlap(task: &ReadTask, rivals: &[usize], tasks: &[ReadTask], problems: &mut Problems) {
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
    let help = "give them separate regions, let one depend on the other, or write `overlap = \"allow\"` in the plan";
    problems.warn(&task.region_span, message, Some(help.into()));
}
