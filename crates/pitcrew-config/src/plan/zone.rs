//! The denied paths and the read policy: the plan adds to the settings.

use super::{PlanDefaults, head, task::ReadTask};
use crate::{
    diagnostic::Problems,
    document::{Section, Spanned},
};
use pitcrew_model::{PlanHead, Reads, RepoPath};

pub(crate) const READS: &[(&str, Reads)] = &[("guided", Reads::Guided), ("zone", Reads::Zone)];

/// Paths denied in the settings stay denied.
pub(super) fn denied(
    root: &Section,
    defaults: &PlanDefaults,
    problems: &mut Problems,
) -> Vec<RepoPath> {
    let mut denied = head::paths(root, "denied", problems, RepoPath::parse_prefix);
    let denied = denied.get_or_insert_default();
    for path in &defaults.denied {
        if !denied.contains(path) {
            denied.push(path.clone());
        }
    }
    std::mem::take(denied)
}

/// The same for a settings file.
pub(crate) fn denied_paths(
    root: &Section,
    problems: &mut Problems,
) -> Option<Spanned<Vec<RepoPath>>> {
    let value = head::paths(root, "denied", problems, RepoPath::parse_prefix)?;
    Some(Spanned { value, span: root.key_span("denied") })
}

pub(super) fn reads(root: &Section, defaults: &PlanDefaults, problems: &mut Problems) -> Reads {
    root.choice("reads", READS, problems).unwrap_or_default().max(defaults.reads)
}

/// Rejects a region that lies entirely in denied paths.
pub(super) fn check(
    head: &PlanHead,
    defaults: &PlanDefaults,
    tasks: &[ReadTask],
    problems: &mut Problems,
) {
    for task in tasks {
        for path in &task.region {
            let Some(rule) = head.denied.iter().find(|it| it.may_contain(path.as_str())) else {
                continue;
            };
            let message = format!(
                "the region of {} cannot contain `{path}`: `{rule}` is denied to all tasks",
                task.title()
            );
            let help = if defaults.denied.contains(rule) {
                "choose another region; your settings deny this one"
            } else {
                "choose another region, or remove it from `denied`"
            };
            problems.error(&task.region_span, message, Some(help.into()));
        }
    }
}
