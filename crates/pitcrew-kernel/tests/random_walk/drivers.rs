//! How drivers answer: well, badly or strangely, but always with a result that fits the effect.

use crate::dice::Dice;
use pitcrew_model::{
    AttemptId, CheckFailure, CheckResult, CommitId, Effect, EffectId, EffectResult, Exit, Failure,
    FileChange, LandedAt, Landing, PlanBase, Refusal, RefusalKind, Snapshot, StopReason, Usage,
    Work,
};

pub fn commit(effect: EffectId) -> CommitId {
    CommitId(format!("commit-{}", effect.0))
}

pub fn exit(code: Option<i32>) -> Exit {
    Exit { code, signal: None, stderr: String::new() }
}

/// The result of a driver that could do what it was told.
pub fn success(id: EffectId, effect: &Effect) -> EffectResult {
    match effect {
        Effect::PreparePlan { plan, .. } => {
            EffectResult::PlanPrepared { plan: *plan, base: base(commit(id)) }
        }
        Effect::CheckBase { plan, checks, .. } => {
            let check = |it: &String| CheckResult {
                command: it.clone(),
                code: Some(0),
                output: String::new(),
                took_ms: 1,
            };
            EffectResult::BaseChecked { plan: *plan, checks: checks.iter().map(check).collect() }
        }
        Effect::PrepareCheckout { attempt, .. } => EffectResult::CheckoutPrepared {
            attempt: *attempt,
            path: format!("/{attempt}"),
            notes: Vec::new(),
        },
        Effect::StartAgent { worker, .. } => EffectResult::AgentReady {
            worker: *worker,
            agent: "agent".into(),
            session: "session".into(),
        },
        Effect::Prompt { worker, .. } => EffectResult::TurnEnded {
            worker: *worker,
            stop: StopReason::EndTurn,
            usage: Usage::default(),
            last_words: String::new(),
        },
        Effect::AnswerPermission { worker, .. } => {
            EffectResult::PermissionAnswered { worker: *worker }
        }
        Effect::InterruptTurn { worker } => EffectResult::TurnInterrupted { worker: *worker },
        Effect::StopAgent { worker } => {
            EffectResult::AgentStopped { worker: *worker, exit: exit(Some(0)) }
        }
        Effect::CollectWork { attempt, .. } => {
            let files = vec![FileChange { path: "src/a".into(), change: 'M' }];
            let (commit, files_count) = (commit(id), 1);
            let work = Work { commit, files_count, insertions: 1, deletions: 0, files };
            EffectResult::WorkCollected { attempt: *attempt, work }
        }
        Effect::Snapshot { attempt, .. } => {
            let snapshot = snapshot(commit(id));
            EffectResult::SnapshotTaken { attempt: *attempt, snapshot }
        }
        Effect::Restore { task, number, commit, .. } => {
            let (branch, snapshot) = ("branch".into(), snapshot(commit.clone()));
            EffectResult::Restored { task: *task, number: *number, branch, snapshot }
        }
        Effect::DropSnapshots { attempt } => EffectResult::SnapshotsDropped { attempt: *attempt },
        Effect::TidyVault => EffectResult::VaultTidied { packed_count: 1 },
        Effect::SaveWork { attempt, .. } => {
            EffectResult::WorkSaved { attempt: *attempt, commit: Some(commit(id)) }
        }
        Effect::Verify { attempt, .. } => {
            EffectResult::Verified { attempt: *attempt, merged: commit(id), checks: Vec::new() }
        }
        Effect::Integrate { attempt, merged, .. } => {
            EffectResult::Integrated { attempt: *attempt, head: merged.clone() }
        }
        Effect::Land { plan, .. } => EffectResult::Landed { plan: *plan, landing: landing(id) },
        Effect::RemoveCheckout { attempt, .. } => {
            EffectResult::CheckoutRemoved { attempt: *attempt }
        }
    }
}

fn base(commit: CommitId) -> PlanBase {
    PlanBase {
        branch: Some("main".into()),
        tip: commit.clone(),
        start: commit,
        dirty_count: 0,
        notes: Vec::new(),
    }
}

fn snapshot(commit: CommitId) -> Snapshot {
    Snapshot { commit, files_count: 1, insertions: 1, deletions: 0 }
}

fn landing(id: EffectId) -> Landing {
    let at = LandedAt::Base { branch: "main".into() };
    Landing { commit: commit(id), at, files_count: 1, insertions: 1, deletions: 0 }
}

/// Any result that the driver of this effect may give.
pub fn any(dice: &mut Dice, faults_one_in: u64, id: EffectId, effect: &Effect) -> EffectResult {
    // Few walks come to a landing, so those that do have something to land against.
    let landing = matches!(effect, Effect::Land { .. });
    if !dice.one_in(if landing { 2 } else { faults_one_in }) {
        return success(id, effect);
    }
    let fails = |dice: &mut Dice, attempt: &AttemptId| EffectResult::AttemptFailed {
        attempt: *attempt,
        failure: failure(dice),
    };
    match effect {
        Effect::PreparePlan { plan, .. } => {
            EffectResult::PlanNotPrepared { plan: *plan, failure: failure(dice) }
        }
        Effect::Land { plan, .. } => {
            let conflict = Failure::Conflict { paths: vec!["src/a".into()], with: Vec::new() };
            let failure = if dice.one_in(2) { conflict } else { failure(dice) };
            EffectResult::NotLanded { plan: *plan, failure }
        }
        Effect::RemoveCheckout { attempt, .. } => {
            EffectResult::CheckoutKept { attempt: *attempt, reason: "in use".into() }
        }
        Effect::Prompt { worker, .. } if dice.one_in(2) => EffectResult::TurnEnded {
            worker: *worker,
            stop: dice
                .pick(&[
                    StopReason::MaxTokens,
                    StopReason::Refusal,
                    StopReason::Cancelled,
                    StopReason::Error { message: "no".into() },
                ])
                .expect("a reason"),
            usage: Usage::default(),
            last_words: String::new(),
        },
        Effect::Restore { task, number, .. } => {
            let (task, number, failure) = (*task, *number, failure(dice));
            EffectResult::NotRestored { task, number, failure }
        }
        Effect::DropSnapshots { attempt } => {
            EffectResult::SnapshotsNotDropped { attempt: *attempt, reason: "no room".into() }
        }
        Effect::TidyVault => EffectResult::VaultNotTidied { reason: "no room".into() },
        Effect::Snapshot { attempt, .. } if dice.one_in(2) => {
            EffectResult::SnapshotUnchanged { attempt: *attempt }
        }
        Effect::Snapshot { attempt, .. } => {
            EffectResult::SnapshotNotTaken { attempt: *attempt, reason: "no room".into() }
        }
        // Worker and attempt are opened together and have the same number.
        Effect::Prompt { worker, .. } | Effect::StopAgent { worker } => {
            fails(dice, &AttemptId(worker.0))
        }
        Effect::PrepareCheckout { attempt, .. }
        | Effect::StartAgent { attempt, .. }
        | Effect::CollectWork { attempt, .. }
        | Effect::SaveWork { attempt, .. }
        | Effect::Verify { attempt, .. }
        | Effect::Integrate { attempt, .. } => fails(dice, attempt),
        Effect::CheckBase { .. }
        | Effect::AnswerPermission { .. }
        | Effect::InterruptTurn { .. } => success(id, effect),
    }
}

fn failure(dice: &mut Dice) -> Failure {
    let text = String::from("text");
    let check = CheckFailure {
        command: "check".into(),
        code: Some(1),
        output: text.clone(),
        red_on_base: false,
    };
    let refusal = Refusal { path: text.clone(), kind: RefusalKind::OutsideZone };
    let all = [
        Failure::Checkout { message: text.clone() },
        Failure::Setup { command: text.clone(), code: Some(1), output: text.clone() },
        Failure::AgentMissing { program: text.clone(), message: text.clone() },
        Failure::AgentExited { exit: text.clone(), output: text.clone() },
        Failure::Protocol { message: text.clone() },
        Failure::Gate { refusals: vec![refusal], refusals_count: 1 },
        Failure::Checks { failed: vec![check] },
        Failure::Conflict { paths: vec!["src/a".into()], with: Vec::new() },
        Failure::Interrupted,
        Failure::DiskLow { path: text.clone(), free_bytes: 1 },
        Failure::Git { message: text },
    ];
    dice.pick(&all).expect("a failure")
}
