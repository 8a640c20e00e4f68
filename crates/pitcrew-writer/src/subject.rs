//! The subject of an effect: who gets its failure, and what cancels it.

use crate::order::Scope;
use pitcrew_model::{
    AttemptId, Effect, EffectResult, EgressOf, ErrorCause, Exit, Failure, OracleAnswer, PlanId,
    QueryId, StopReason, TaskId, Usage, WorkerId, text,
};

/// The exit of a process whose end was not observed.
pub const LOST: Exit = Exit { code: None, signal: None, stderr: String::new() };

/// Limited, because a failing snapshot may fail again every half minute.
const REASON_BYTES_MAX: usize = 300;

#[derive(Clone, Copy, Debug)]
pub enum Subject {
    Preparing(PlanId),
    CheckingBase(PlanId),
    Landing(PlanId),
    UndoingLanding(PlanId),
    Removing(AttemptId),
    Snapshotting(AttemptId),
    Restoring(TaskId, u32),
    Dropping(AttemptId),
    Tidying,
    Starting(AttemptId, WorkerId),
    Prompting(WorkerId),
    Answering(WorkerId),
    Interrupting(WorkerId),
    Stopping(WorkerId),
    /// A step that is useless once the attempt has ended.
    Working(AttemptId),
    /// A step that is never cancelled: it saves work, or has begun to publish it.
    Keeping(AttemptId),
    /// A pull of a sub-task's changes into its parent's checkout.
    Pulling(AttemptId, TaskId),
    /// A lookup for an attempt.
    Consulting(AttemptId, QueryId),
}

impl Subject {
    pub fn of(effect: &Effect) -> Self {
        match effect {
            Effect::PreparePlan { plan, .. } => Self::Preparing(*plan),
            Effect::CheckBase { plan, .. } => Self::CheckingBase(*plan),
            Effect::Land { plan, .. } => Self::Landing(*plan),
            Effect::UndoLanding { plan, .. } => Self::UndoingLanding(*plan),
            Effect::RemoveCheckout { attempt, .. } => Self::Removing(*attempt),
            Effect::Snapshot { attempt, .. } => Self::Snapshotting(*attempt),
            Effect::Restore { task, number, .. } => Self::Restoring(*task, *number),
            Effect::DropSnapshots { attempt } => Self::Dropping(*attempt),
            Effect::TidyVault => Self::Tidying,
            Effect::PullWork { attempt, task, .. } => Self::Pulling(*attempt, *task),
            Effect::ConsultOracle { attempt, query, .. } => Self::Consulting(*attempt, *query),
            Effect::StartAgent { attempt, worker, .. } => Self::Starting(*attempt, *worker),
            Effect::Prompt { worker, .. } => Self::Prompting(*worker),
            Effect::AnswerPermission { worker, .. } => Self::Answering(*worker),
            Effect::InterruptTurn { worker } => Self::Interrupting(*worker),
            Effect::StopAgent { worker } => Self::Stopping(*worker),
            Effect::PrepareCheckout { attempt, .. }
            | Effect::CollectWork { attempt, .. }
            | Effect::Verify { attempt, .. } => Self::Working(*attempt),
            Effect::SaveWork { attempt, .. } | Effect::Integrate { attempt, .. } => {
                Self::Keeping(*attempt)
            }
        }
    }

    /// Returns the scope whose end makes the effect useless.
    pub fn may_be_cut_with(self) -> Option<Scope> {
        match self {
            Self::Preparing(plan) => Some(Scope::Plan(plan)),
            Self::CheckingBase(plan) => Some(Scope::BaseOf(plan)),
            // The final state of an attempt is saved separately.
            Self::Working(attempt)
            | Self::Starting(attempt, _)
            | Self::Snapshotting(attempt)
            | Self::Consulting(attempt, _) => Some(Scope::Attempt(attempt)),
            Self::Landing(_)
            | Self::UndoingLanding(_)
            | Self::Removing(_)
            | Self::Restoring(..)
            | Self::Dropping(_)
            | Self::Tidying
            | Self::Prompting(_)
            | Self::Answering(_)
            | Self::Interrupting(_)
            | Self::Stopping(_)
            | Self::Pulling(..)
            | Self::Keeping(_) => None,
        }
    }

    /// Returns on whose behalf its setup or checks fetch packages.
    pub fn fetches_for(self) -> Option<EgressOf> {
        match self {
            Self::Working(attempt) | Self::Keeping(attempt) => Some(EgressOf::Attempt(attempt)),
            Self::Preparing(plan) | Self::CheckingBase(plan) | Self::Landing(plan) => {
                Some(EgressOf::Plan(plan))
            }
            Self::UndoingLanding(_)
            | Self::Removing(_)
            | Self::Snapshotting(_)
            | Self::Restoring(..)
            | Self::Dropping(_)
            | Self::Tidying
            | Self::Starting(..)
            | Self::Prompting(_)
            | Self::Answering(_)
            | Self::Interrupting(_)
            | Self::Stopping(_)
            | Self::Pulling(..)
            | Self::Consulting(..) => None,
        }
    }

    /// Returns the result of an effect whose driver broke.
    pub fn failed(self, message: String) -> EffectResult {
        match self {
            Self::CheckingBase(plan) => EffectResult::BaseChecked { plan, checks: Vec::new() },
            Self::Starting(attempt, _) => {
                EffectResult::AttemptFailed { attempt, failure: Failure::Protocol { message } }
            }
            Self::Prompting(worker) => EffectResult::TurnEnded {
                worker,
                stop: StopReason::Error { cause: ErrorCause::Other, message },
                usage: Usage::default(),
                last_words: String::new(),
            },
            Self::Answering(worker) => EffectResult::PermissionAnswered { worker },
            Self::Interrupting(worker) => EffectResult::TurnInterrupted { worker },
            Self::Stopping(worker) => EffectResult::AgentStopped { worker, exit: LOST },
            // Not found in the index; its owner may know it.
            Self::Consulting(_, query) => {
                EffectResult::OracleAnswered { query, answer: OracleAnswer::default() }
            }
            Self::Preparing(_)
            | Self::Landing(_)
            | Self::UndoingLanding(_)
            | Self::Removing(_)
            | Self::Snapshotting(_)
            | Self::Restoring(..)
            | Self::Dropping(_)
            | Self::Tidying
            | Self::Working(_)
            | Self::Pulling(..)
            | Self::Keeping(_) => self.failed_with(Failure::Git { message }),
        }
    }

    /// Returns the result of an effect of the vault that failed.
    pub fn failed_with(self, failure: Failure) -> EffectResult {
        match self {
            Self::Preparing(plan) => EffectResult::PlanNotPrepared { plan, failure },
            Self::Landing(plan) => EffectResult::NotLanded { plan, failure },
            Self::UndoingLanding(plan) => EffectResult::LandingNotUndone { plan, failure },
            Self::Removing(attempt) => {
                EffectResult::CheckoutKept { attempt, reason: failure.to_string() }
            }
            Self::Pulling(attempt, task) => EffectResult::WorkNotPulled { attempt, task, failure },
            Self::Restoring(task, number) => EffectResult::NotRestored { task, number, failure },
            Self::Dropping(attempt) => {
                EffectResult::SnapshotsNotDropped { attempt, reason: failure.to_string() }
            }
            Self::Tidying => EffectResult::VaultNotTidied { reason: failure.to_string() },
            Self::Snapshotting(attempt) => {
                let reason = failure.to_string();
                let reason = text::cut(&reason, REASON_BYTES_MAX).into();
                EffectResult::SnapshotNotTaken { attempt, reason }
            }
            Self::Working(attempt) | Self::Keeping(attempt) | Self::Starting(attempt, _) => {
                EffectResult::AttemptFailed { attempt, failure }
            }
            Self::CheckingBase(_)
            | Self::Prompting(_)
            | Self::Answering(_)
            | Self::Interrupting(_)
            | Self::Stopping(_)
            | Self::Consulting(..) => self.failed(failure.to_string()),
        }
    }
}
