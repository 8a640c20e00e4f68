//! Successful results of drivers.

use pitcrew_model::{
    CheckResult, CommitId, Effect, EffectId, EffectResult, Exit, FileChange, LandedAt, Landing,
    OracleAnswer, PlanBase, Snapshot, StopReason, Usage, Work,
};

fn commit(effect: EffectId) -> CommitId {
    CommitId(format!("commit-{}", effect.0))
}

pub fn exit(code: Option<i32>) -> Exit {
    Exit { code, signal: None, stderr: String::new() }
}

/// Returns the successful result of an effect.
#[expect(clippy::too_many_lines, reason = "one arm for each kind of effect")]
pub fn success(id: EffectId, effect: &Effect) -> EffectResult {
    match effect {
        Effect::PreparePlan { plan, .. } => {
            let base = PlanBase {
                branch: Some("main".into()),
                tip: commit(id),
                start: commit(id),
                dirty_count: 0,
                notes: Vec::new(),
                left_behind: pitcrew_model::LeftBehind::default(),
            };
            EffectResult::PlanPrepared { plan: *plan, base }
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
            let snapshot =
                Snapshot { commit: commit(id), files_count: 1, insertions: 1, deletions: 0 };
            EffectResult::SnapshotTaken { attempt: *attempt, snapshot }
        }
        Effect::Restore { task, number, commit, .. } => {
            let commit = commit.clone();
            let snapshot = Snapshot { commit, files_count: 1, insertions: 1, deletions: 0 };
            let (task, number, branch) = (*task, *number, "branch".into());
            EffectResult::Restored { task, number, branch, snapshot }
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
        Effect::UndoLanding { plan, .. } => {
            let failure = pitcrew_model::Failure::Interrupted;
            EffectResult::LandingNotUndone { plan: *plan, failure }
        }
        Effect::PullWork { attempt, task, base, .. } => {
            let (commit, files) = (base.clone(), Vec::new());
            let work = Work { commit, files_count: 1, insertions: 1, deletions: 0, files };
            EffectResult::WorkPulled { attempt: *attempt, task: *task, work }
        }
        Effect::ConsultOracle { query, .. } => {
            EffectResult::OracleAnswered { query: *query, answer: OracleAnswer::default() }
        }
        Effect::RemoveCheckout { attempt, .. } => {
            EffectResult::CheckoutRemoved { attempt: *attempt }
        }
    }
}

fn landing(id: EffectId) -> Landing {
    let at = LandedAt::Base { branch: "main".into() };
    Landing {
        commit: commit(id),
        at,
        files_count: 1,
        insertions: 1,
        deletions: 0,
        commits_count: 1,
        before: None,
    }
}
