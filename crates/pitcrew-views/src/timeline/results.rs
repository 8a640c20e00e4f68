//! The text of the results of effects.

use super::line::{About, LineDraft};
use crate::{
    Board, plain,
    words::{counted, left_behind},
};
use pitcrew_model::{
    Actor, CheckResult, EffectResult, Failure, LandedAt, Landing, PlanBase, StopReason,
    SubtaskName, TaskId, Undo, UndoneBy, Work,
};

#[expect(clippy::too_many_lines, reason = "one arm for each kind of result")]
pub(super) fn say(board: &Board, result: &EffectResult) -> Option<LineDraft> {
    let (about, text) = match result {
        EffectResult::PlanPrepared { plan, base } => (About::Plan(*plan), prepared(base)),
        EffectResult::PlanNotPrepared { plan, failure } => {
            (About::Plan(*plan), format!("cannot start: {}", one_line(failure)))
        }
        EffectResult::BaseChecked { plan, checks } => (About::Plan(*plan), base(checks)),
        EffectResult::CheckoutPrepared { attempt, notes, .. } => {
            (About::Attempt(*attempt), checkout(notes))
        }
        EffectResult::AgentReady { worker, agent, .. } => {
            (About::Worker(*worker), format!("agent `{}` is ready", plain::line(agent)))
        }
        EffectResult::TurnEnded { worker, stop, .. } => (About::Worker(*worker), odd_end(stop)?),
        EffectResult::WorkCollected { attempt, work } => {
            (About::Attempt(*attempt), collected(work))
        }
        EffectResult::WorkSaved { attempt, commit: Some(commit) } => {
            (About::Attempt(*attempt), format!("its work is saved as {}", commit.short()))
        }
        EffectResult::Verified { attempt, checks, .. } => {
            (About::Attempt(*attempt), verified(checks))
        }
        EffectResult::Integrated { attempt, head } => {
            (About::Attempt(*attempt), format!("integrated as {}", head.short()))
        }
        EffectResult::Landed { plan, landing } => (About::Plan(*plan), landed(landing)),
        EffectResult::NotLanded { plan, failure } => {
            (About::Plan(*plan), format!("not landed: {}", one_line(failure)))
        }
        EffectResult::Unsigned { plan, unsigned } => {
            (About::Plan(*plan), format!("commits to sign: {}", unsigned.commits_count))
        }
        EffectResult::LandingUndone { plan, undo } => (About::Plan(*plan), undone(undo)),
        EffectResult::LandingNotUndone { plan, failure } => {
            (About::Plan(*plan), format!("landing not undone: {}", one_line(failure)))
        }
        EffectResult::CheckoutRemoved { attempt } => {
            (About::Attempt(*attempt), "checkout removed".to_owned())
        }
        EffectResult::CheckoutKept { attempt, reason } => {
            (About::Attempt(*attempt), format!("checkout kept: {}", plain::line(reason)))
        }
        EffectResult::Restored { task, number, branch, .. } => {
            let branch = plain::line(branch);
            (About::Task(*task), format!("snapshot {number} restored as {branch}"))
        }
        EffectResult::NotRestored { task, number, failure } => {
            let text = format!("snapshot {number} was not restored: {}", one_line(failure));
            (About::Task(*task), text)
        }
        EffectResult::WorkPulled { attempt, task, work } => {
            (About::Attempt(*attempt), pulled(*task, work))
        }
        EffectResult::WorkNotPulled { attempt, task, failure } => {
            let text = format!("{} is not pulled: {}", SubtaskName(*task), one_line(failure));
            (About::Attempt(*attempt), text)
        }
        EffectResult::SnapshotsDropped { attempt } => {
            (About::Attempt(*attempt), "old snapshots dropped".to_owned())
        }
        EffectResult::SnapshotsNotDropped { attempt, reason } => {
            (About::Attempt(*attempt), format!("snapshots not dropped: {}", plain::line(reason)))
        }
        EffectResult::VaultTidied { packed_count } if *packed_count > 0 => {
            (About::Workspace, format!("the vault was repacked: {packed_count} objects"))
        }
        EffectResult::VaultNotTidied { reason } => {
            (About::Workspace, format!("the vault was not repacked: {}", plain::line(reason)))
        }
        // A result that its attempt no longer waits for does not matter.
        EffectResult::SnapshotNotTaken { attempt, reason } => {
            board.attempt(*attempt).filter(|it| it.outcome.is_none())?;
            (About::Attempt(*attempt), format!("no snapshot was taken: {}", plain::line(reason)))
        }
        // The consequences of these are separate events.
        EffectResult::WorkSaved { commit: None, .. }
        | EffectResult::SnapshotTaken { .. }
        | EffectResult::SnapshotUnchanged { .. }
        | EffectResult::VaultTidied { .. }
        | EffectResult::PermissionAnswered { .. }
        | EffectResult::TurnInterrupted { .. }
        | EffectResult::AgentStopped { .. }
        | EffectResult::OracleAnswered { .. }
        | EffectResult::AttemptFailed { .. } => return None,
    };
    Some(LineDraft::new(Actor::Orchestrator, about, text))
}

/// Without the path, because people use a copy.
fn checkout(notes: &[String]) -> String {
    let notes = notes.iter().map(|it| plain::line(it));
    let said: Vec<String> = ["its checkout is ready".to_owned()].into_iter().chain(notes).collect();
    said.join("; ")
}

fn pulled(task: TaskId, work: &Work) -> String {
    format!("pulls {} of {}", counted(work.files_count, "file"), SubtaskName(task))
}

fn one_line(failure: &Failure) -> String {
    plain::line(&failure.to_string())
}

fn prepared(base: &PlanBase) -> String {
    let branch = plain::line(base.branch.as_deref().unwrap_or("a detached HEAD"));
    let dirty = match base.dirty_count {
        0 => String::new(),
        count => format!(", with {}", counted(count, "uncommitted path")),
    };
    let notes = base.notes.iter().map(|it| plain::line(it));
    let notes: Vec<String> = left_behind(&base.left_behind).into_iter().chain(notes).collect();
    let notes = if notes.is_empty() { String::new() } else { format!("; {}", notes.join("; ")) };
    format!("starts from {branch} at {}{dirty}{notes}", base.tip.short())
}

fn base(checks: &[CheckResult]) -> String {
    let red: Vec<String> =
        checks.iter().filter(|it| !it.passed()).map(|it| format!("`{}`", it.command)).collect();
    if red.is_empty() {
        format!("the base is green ({})", counted(checks.len() as u64, "check"))
    } else {
        format!("already fails on the base: {}", plain::line(&red.join(", ")))
    }
}

/// A normal end of a turn says nothing about the task.
fn odd_end(stop: &StopReason) -> Option<String> {
    match stop {
        StopReason::EndTurn | StopReason::Cancelled => None,
        StopReason::MaxTokens => Some("the turn ended: no tokens left".to_owned()),
        StopReason::MaxTurnRequests => Some("the turn ended: too many requests".to_owned()),
        StopReason::Refusal => Some("the turn ended: the agent refused".to_owned()),
        StopReason::Error { message, .. } => {
            Some(format!("the turn ended: {}", plain::line(message)))
        }
    }
}

fn collected(work: &Work) -> String {
    if work.files_count == 0 {
        return "changed nothing".to_owned();
    }
    let files = counted(work.files_count, "file");
    format!("changed {files}, +{} -{}", work.insertions, work.deletions)
}

fn verified(checks: &[CheckResult]) -> String {
    if checks.is_empty() {
        return "merges cleanly; it has no checks".to_owned();
    }
    format!("{} passed on the merged tree", counted(checks.len() as u64, "check"))
}

fn undone(undo: &Undo) -> String {
    let (branch, commit) = (plain::line(&undo.branch), undo.commit.short());
    match undo.by {
        UndoneBy::Restore => format!("landing undone: {branch} is at {commit}"),
        UndoneBy::RevertOfPushed | UndoneBy::RevertBelowOthers => {
            format!("landing undone: {branch} has the revert {commit}")
        }
    }
}

fn landed(landing: &Landing) -> String {
    let commit = landing.commit.short();
    match &landing.at {
        LandedAt::Base { branch } => format!("landed on {} as {commit}", plain::line(branch)),
        LandedAt::Side { branch, reason } => {
            format!("merged at {} as {commit}: {}", plain::line(branch), plain::line(reason))
        }
    }
}
