//! Results of effects.

use crate::{
    golden, queries,
    values::{ATTEMPT, PLAN, TASK, WORKER, check_result, commit, exit, strings},
};
use pitcrew_model::{
    CheckResult, EffectResult, Failure, FileChange, LandedAt, Landing, LeftBehind, PlanBase,
    SecretFile, Snapshot, StopReason, Undo, UndoneBy, Unsigned, Usage, Work,
};

fn results() -> Vec<EffectResult> {
    [plan_results(), worker_results(), attempt_results(), queries::results()].concat()
}

fn plan_results() -> Vec<EffectResult> {
    let base = |branch: Option<&str>| PlanBase {
        branch: branch.map(String::from),
        tip: commit("a"),
        start: commit("b"),
        dirty_count: 2,
        notes: strings(&["a shallow clone"]),
        left_behind: LeftBehind::default(),
    };
    let secret = SecretFile { path: ".env".into(), sign: "its name".into() };
    let left_behind = LeftBehind { files: vec![secret], count: 1 };
    let landing = Landing {
        commit: commit("c"),
        at: LandedAt::Base { branch: "main".into() },
        files_count: 3,
        insertions: 20,
        deletions: 10,
        commits_count: 4,
        before: None,
    };
    let recorded = Landing { before: Some(commit("b")), ..landing.clone() };
    let unsigned =
        Unsigned { commit: commit("c"), below: vec![commit("a"), commit("b")], commits_count: 3 };
    let undo = |by| {
        let undo = Undo { branch: "main".into(), commit: commit("d"), by };
        EffectResult::LandingUndone { plan: PLAN, undo }
    };
    let stopped = CheckResult { code: None, ..check_result() };
    vec![
        EffectResult::PlanPrepared { plan: PLAN, base: base(Some("main")) },
        EffectResult::PlanPrepared { plan: PLAN, base: base(None) },
        EffectResult::PlanPrepared { plan: PLAN, base: PlanBase { left_behind, ..base(None) } },
        EffectResult::PlanNotPrepared { plan: PLAN, failure: Failure::Interrupted },
        EffectResult::BaseChecked { plan: PLAN, checks: vec![check_result(), stopped] },
        EffectResult::Landed { plan: PLAN, landing },
        EffectResult::Landed { plan: PLAN, landing: recorded },
        EffectResult::NotLanded { plan: PLAN, failure: Failure::Interrupted },
        EffectResult::Unsigned { plan: PLAN, unsigned },
        undo(UndoneBy::Restore),
        undo(UndoneBy::RevertOfPushed),
        undo(UndoneBy::RevertBelowOthers),
        EffectResult::LandingNotUndone { plan: PLAN, failure: Failure::Interrupted },
    ]
}

fn worker_results() -> Vec<EffectResult> {
    vec![
        EffectResult::AgentReady {
            worker: WORKER,
            agent: "claude 5".into(),
            session: "s-1".into(),
        },
        EffectResult::TurnEnded {
            worker: WORKER,
            stop: StopReason::EndTurn,
            usage: Usage { tokens_in: 1, tokens_out: 2, tokens_cached: 3, cost_micros: 4 },
            last_words: "done".into(),
        },
        EffectResult::PermissionAnswered { worker: WORKER },
        EffectResult::TurnInterrupted { worker: WORKER },
        EffectResult::AgentStopped { worker: WORKER, exit: exit() },
    ]
}

fn attempt_results() -> Vec<EffectResult> {
    let work = Work {
        commit: commit("d"),
        files_count: 1,
        insertions: 2,
        deletions: 3,
        files: vec![FileChange { path: "src/ü b.rs".into(), change: 'M' }],
    };
    vec![
        EffectResult::CheckoutPrepared {
            attempt: ATTEMPT,
            path: "/checkouts/task-392".into(),
            notes: vec!["submodule lib is left empty".into()],
        },
        EffectResult::WorkCollected { attempt: ATTEMPT, work: work.clone() },
        EffectResult::WorkSaved { attempt: ATTEMPT, commit: Some(commit("d")) },
        EffectResult::WorkSaved { attempt: ATTEMPT, commit: None },
        EffectResult::SnapshotTaken {
            attempt: ATTEMPT,
            snapshot: Snapshot { commit: commit("f"), files_count: 1, insertions: 2, deletions: 3 },
        },
        EffectResult::SnapshotUnchanged { attempt: ATTEMPT },
        EffectResult::Restored {
            task: TASK,
            number: 3,
            branch: "pitcrew/restore/task-392-add-the-api-3".into(),
            snapshot: Snapshot { commit: commit("f"), files_count: 1, insertions: 2, deletions: 3 },
        },
        EffectResult::NotRestored { task: TASK, number: 3, failure: Failure::Interrupted },
        EffectResult::SnapshotsDropped { attempt: ATTEMPT },
        EffectResult::SnapshotsNotDropped { attempt: ATTEMPT, reason: "no room".into() },
        EffectResult::VaultTidied { packed_count: 5_000 },
        EffectResult::VaultNotTidied { reason: "no room".into() },
        EffectResult::SnapshotNotTaken { attempt: ATTEMPT, reason: "no room".into() },
        EffectResult::Verified {
            attempt: ATTEMPT,
            merged: commit("e"),
            checks: vec![check_result()],
        },
        EffectResult::Integrated { attempt: ATTEMPT, head: commit("e") },
        EffectResult::CheckoutRemoved { attempt: ATTEMPT },
        EffectResult::CheckoutKept { attempt: ATTEMPT, reason: "a process uses it".into() },
        EffectResult::AttemptFailed { attempt: ATTEMPT, failure: Failure::NoCompletion },
        EffectResult::WorkPulled { attempt: ATTEMPT, task: TASK, work },
        EffectResult::WorkNotPulled {
            attempt: ATTEMPT,
            task: TASK,
            failure: Failure::Conflict { paths: vec!["src/a.rs".into()], with: Vec::new() },
        },
    ]
}

golden!(
    results_are_stored_as_ever,
    EffectResult,
    "effect_result.ndjson",
    results(),
    [
        PlanPrepared,
        PlanNotPrepared,
        BaseChecked,
        CheckoutPrepared,
        AgentReady,
        TurnEnded,
        PermissionAnswered,
        TurnInterrupted,
        AgentStopped,
        WorkCollected,
        WorkSaved,
        SnapshotTaken,
        SnapshotUnchanged,
        Restored,
        NotRestored,
        SnapshotsDropped,
        SnapshotsNotDropped,
        VaultTidied,
        VaultNotTidied,
        SnapshotNotTaken,
        Verified,
        Integrated,
        Landed,
        NotLanded,
        Unsigned,
        LandingUndone,
        LandingNotUndone,
        CheckoutRemoved,
        CheckoutKept,
        AttemptFailed,
        WorkPulled,
        WorkNotPulled,
        OracleAnswered,
    ]
);
