//! Finds regions that match no file, which are usually misspelled.

use super::PlanProblem;
use crate::workspace::Workspace;
use pitcrew_model::{PlanSpec, RepoPath, TaskSpec, text::distance};
use std::collections::{BTreeMap, BTreeSet};

/// The regions of the plan that match no file of its base, each with the nearest existing path. A
/// region is not misspelled if the task is expected to create files in it, or if the region of a
/// task that it depends on overlaps.
pub fn unmatched(spec: &PlanSpec, workspace: &Workspace) -> Vec<PlanProblem> {
    let base = spec.head.base.as_deref().filter(|it| *it != "HEAD");
    let is_new = |path: &RepoPath| {
        !path.is_root() && (base.is_some() || !workspace.root().join(path.as_str()).exists())
    };
    let by_key: BTreeMap<&str, &TaskSpec> =
        spec.tasks.iter().map(|it| (it.key.as_str(), it)).collect();
    let regions: Vec<(&TaskSpec, &RepoPath)> = spec
        .tasks
        .iter()
        .flat_map(|task| task.region.iter().map(move |path| (task, path)))
        .filter(|(task, path)| is_new(path) && !is_planned(task, path, &by_key))
        .collect();
    if regions.is_empty() {
        return Vec::new();
    }
    let Some(files) = workspace.committed_files(base.unwrap_or("HEAD")) else { return Vec::new() };
    let known = with_folders(&files);
    let missing = regions.into_iter().filter(|(_, path)| !known.contains(path.as_str()));
    missing.map(|(task, path)| problem(task, path, &known)).collect()
}

/// Whether the task, or one before it, is to create files there.
fn is_planned(task: &TaskSpec, path: &RepoPath, by_key: &BTreeMap<&str, &TaskSpec>) -> bool {
    let mut open: Vec<&str> = task.depends_on.iter().map(String::as_str).collect();
    let mut seen = BTreeSet::new();
    while let Some(key) = open.pop() {
        let Some(before) = by_key.get(key).filter(|_| seen.insert(key)) else { continue };
        let overlaps = |it: &RepoPath| it.contains(path.as_str()) || path.contains(it.as_str());
        if before.region.is_empty() || before.region.iter().any(overlaps) {
            return true;
        }
        open.extend(before.depends_on.iter().map(String::as_str));
    }
    task.expected_files.iter().any(|it| path.contains(it.as_str()))
}

fn with_folders(files: &[String]) -> BTreeSet<&str> {
    let mut known = BTreeSet::new();
    for file in files {
        let mut path = file.as_str();
        while known.insert(path) {
            let Some((folder, _)) = path.rsplit_once('/') else { break };
            path = folder;
        }
    }
    known
}

fn problem(task: &TaskSpec, path: &RepoPath, known: &BTreeSet<&str>) -> PlanProblem {
    let message =
        format!("the region `{path}` of task `{}` matches no file of the repository", task.key);
    let help = match nearest(path.as_str(), known) {
        Some(near) => {
            format!("did you mean `{near}`? The task may change files only in its region")
        }
        None => "the task may change files only in its region; if it is to create them there, \
                 nothing has to be changed"
            .to_owned(),
    };
    PlanProblem { message, help }
}

/// The most similar path, if it is similar enough for a typing error.
fn nearest<'a>(path: &str, known: &BTreeSet<&'a str>) -> Option<&'a str> {
    let distance_max = (path.len() / 4).clamp(1, 4);
    known
        .iter()
        .filter(|it| it.len().abs_diff(path.len()) <= distance_max)
        .map(|it| (distance(path, it), *it))
        .filter(|(distance, _)| *distance <= distance_max)
        .min()
        .map(|it| it.1)
}
