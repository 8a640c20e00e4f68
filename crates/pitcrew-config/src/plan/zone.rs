//! What no task may change, and what none may read: the plan adds to what the settings say.

use super::{PlanDefaults, head, task::ReadTask};
use crate::{
    diagnostic::Problems,
    document::{Section, Spanned},
};
use pitcrew_model::{PlanHead, Reads, RepoPath};

pub(crate) const READS: &[(&str, Reads)] = &[("guided", Reads::Guided), ("zone", Reads::Zone)];

/// What the settings deny stays denied, whatever the plan says.
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

/// The same of a settings file.
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

/// A task that owns nothing but what is denied could change nothing.
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
                "the region of {} cannot hold `{path}`: `{rule}` is denied to every task",
                task.title()
            );
            let help = if defaults.denied.contains(rule) {
                "choose another region; your settings deny this one"
            } else {
                "choose another region, or take it out of `denied`"
            };
            problems.error(&task.region_span, message, Some(help.into()));
        }
    }
}
