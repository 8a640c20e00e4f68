//! Converts journal entries to log lines of an attempt.

use super::{LogEntry, TaskNow, merge::Call};
use pitcrew_api::{LogFact, LogSource};
use pitcrew_model::{
    AttemptId, CheckFailure, CheckResult, EffectResult, EgressDecision, EgressOf, Entry, Event,
    Failure, Outcome, Reason, Timestamp, WorkerId,
};
use pitcrew_views::{Board, plain, words::duration};

pub enum Whose {
    Attempt(AttemptId),
    Worker(WorkerId),
    /// The newest attempt of the task.
    Newest,
}

type Step = (Whose, LogEntry);

/// The relation of an event to a call of one of our tools.
pub fn call(event: &Event) -> Call {
    let led = matches!(
        event,
        Event::SubtaskAdded { .. } | Event::AwaitBegun { .. } | Event::QueryAsked { .. }
    );
    if led { Call::Led } else { Call::None }
}

/// The lines of an entry. Entries of other tasks have no attempt here.
#[expect(clippy::too_many_lines, reason = "one arm for each kind of event")]
pub fn say(board: &Board, entry: &Entry, look: &TaskNow) -> Vec<Step> {
    let worded = |whose| vec![(whose, worded(board, entry))];
    match &entry.event {
        Event::AttemptOpened { attempt, task, worker, number, .. } if *task == look.task.id => {
            let agent = look.task.agent.clone();
            let text = format!("attempt {number} by {worker} ({})", plain::line(&agent));
            let fact = LogFact::Attempt { number: *number, worker: *worker, agent };
            let said = said(entry.at, LogSource::Attempt, text, Some(fact));
            vec![(Whose::Attempt(*attempt), said)]
        }
        Event::AttemptEnded { attempt, outcome, failure } => {
            let lines = ended(entry.at, *outcome, failure.as_ref());
            after(*attempt, lines)
        }
        Event::TaskMoved { task, reason: Reason::Failure { retry_at: Some(at), .. }, .. }
            if *task == look.task.id =>
        {
            let text = format!("the next attempt starts in {}", duration(at.since(entry.at)));
            vec![(Whose::Newest, orchestrator(entry.at, text))]
        }
        Event::RetryGranted { task, .. } if *task == look.task.id => worded(Whose::Newest),
        Event::CompletionClaimed { attempt, .. } => worded(Whose::Attempt(*attempt)),
        Event::EgressDecided(EgressDecision { whose: EgressOf::Attempt(attempt), .. }) => {
            worded(Whose::Attempt(*attempt))
        }
        Event::SubtaskAdded { delegation, .. } => worded(Whose::Attempt(delegation.parent)),
        // Approved calls are in the conversation.
        Event::ToolDecided { worker, denied_by: Some(_), .. }
        | Event::AgentConfined { worker, .. }
        | Event::AgentExited { worker, .. }
        | Event::AwaitBegun { worker, .. }
        | Event::ResultsHanded { worker, .. }
        | Event::AccessBlocked { worker, .. }
        | Event::QueryAsked { worker, .. }
        | Event::QueryRouted { worker, .. }
        | Event::QueryEnded { worker, .. }
        | Event::QueryAnsweredLate { worker, .. } => worded(Whose::Worker(*worker)),
        Event::EffectEnded { result, .. } => of_result(board, entry, result, look),
        Event::EgressDecided(EgressDecision { whose: EgressOf::Plan(_), .. })
        | Event::SettingsApplied { .. }
        | Event::AgentsMaxSet { .. }
        | Event::PlanCreated { .. }
        | Event::TaskAdded { .. }
        | Event::PlanMoved { .. }
        | Event::PlanOpened { .. }
        | Event::BaseCheckAsked { .. }
        | Event::TaskMoved { .. }
        | Event::TaskDeployed { .. }
        | Event::TaskHeld { .. }
        | Event::RetryGranted { .. }
        | Event::AttemptOpened { .. }
        | Event::BackendHeld { .. }
        | Event::BackendProbed { .. }
        | Event::UsageNoted { .. }
        | Event::BudgetWarned(_)
        | Event::BackendReleased { .. }
        | Event::WorkerMoved { .. }
        | Event::AgentStartAsked { .. }
        | Event::AgentReattached { .. }
        | Event::CallTaken { .. }
        | Event::TurnOpened { .. }
        | Event::StopAsked { .. }
        | Event::InterruptAsked { .. }
        | Event::ActivityNoted { .. }
        | Event::CollectAsked { .. }
        | Event::SaveAsked { .. }
        | Event::SnapshotAsked { .. }
        | Event::VerifyAsked { .. }
        | Event::IntegrateAsked { .. }
        | Event::RequestOpened { .. }
        | Event::RequestMoved { .. }
        | Event::ToolDecided { .. }
        | Event::ToolAnswered { .. }
        | Event::LandingMoved { .. }
        | Event::LandingPlanned { .. }
        | Event::MergedByHand { .. }
        | Event::Abandoned { .. }
        | Event::RemovalAsked { .. }
        | Event::RestoreAsked { .. }
        | Event::DropAsked { .. }
        | Event::TidyAsked
        | Event::AwaitEnded { .. }
        | Event::OutputHanded { .. }
        | Event::PullAsked { .. }
        | Event::MessageQueued(_)
        | Event::MessageMoved { .. }
        | Event::MatrixApplied { .. }
        | Event::CrewApplied { .. }
        | Event::SandboxApplied { .. }
        | Event::TierAccepted { .. }
        | Event::GrantGiven { .. }
        | Event::GrantRevoked { .. }
        | Event::QueryLimitsApplied { .. }
        | Event::ClientCallTaken { .. }
        | Event::AgentGroupCreated { .. }
        | Event::AgentGroupMemberCompleted { .. }
        | Event::StandaloneSpawned { .. } => Vec::new(),
    }
}

fn of_result(board: &Board, entry: &Entry, result: &EffectResult, look: &TaskNow) -> Vec<Step> {
    let worded = |whose| vec![(whose, worded(board, entry))];
    match result {
        EffectResult::CheckoutPrepared { attempt, .. } => {
            let mut lines = worded(Whose::Attempt(*attempt));
            // A checkout exists only if every setup command succeeded.
            lines.extend(look.setup.iter().map(|it| {
                let fact = command(it, Some(0), None);
                let said = said(entry.at, LogSource::Setup, String::new(), Some(fact));
                (Whose::Attempt(*attempt), said)
            }));
            lines
        }
        EffectResult::AgentReady { worker, .. } => worded(Whose::Worker(*worker)),
        EffectResult::Verified { attempt, checks, .. } if !checks.is_empty() => {
            let passed = |it: &CheckResult| {
                let fact = command(&it.command, it.code, Some(it.took_ms));
                said(entry.at, LogSource::Check, it.output.clone(), Some(fact))
            };
            after(*attempt, checks.iter().map(passed).collect())
        }
        EffectResult::Verified { attempt, .. }
        | EffectResult::WorkCollected { attempt, .. }
        | EffectResult::WorkSaved { attempt, commit: Some(_) }
        | EffectResult::WorkPulled { attempt, .. }
        | EffectResult::WorkNotPulled { attempt, .. }
        | EffectResult::Integrated { attempt, .. } => worded(Whose::Attempt(*attempt)),
        // These concern the plan, are logged by another line, or may come after a newer attempt
        // started.
        EffectResult::WorkSaved { commit: None, .. }
        | EffectResult::SnapshotTaken { .. }
        | EffectResult::SnapshotUnchanged { .. }
        | EffectResult::SnapshotNotTaken { .. }
        | EffectResult::PlanPrepared { .. }
        | EffectResult::PlanNotPrepared { .. }
        | EffectResult::BaseChecked { .. }
        | EffectResult::TurnEnded { .. }
        | EffectResult::PermissionAnswered { .. }
        | EffectResult::TurnInterrupted { .. }
        | EffectResult::AgentStopped { .. }
        | EffectResult::AttemptFailed { .. }
        | EffectResult::Landed { .. }
        | EffectResult::NotLanded { .. }
        | EffectResult::Unsigned { .. }
        | EffectResult::LandingUndone { .. }
        | EffectResult::LandingNotUndone { .. }
        | EffectResult::CheckoutRemoved { .. }
        | EffectResult::CheckoutKept { .. }
        | EffectResult::Restored { .. }
        | EffectResult::NotRestored { .. }
        | EffectResult::SnapshotsDropped { .. }
        | EffectResult::SnapshotsNotDropped { .. }
        | EffectResult::VaultTidied { .. }
        | EffectResult::VaultNotTidied { .. }
        | EffectResult::OracleAnswered { .. } => Vec::new(),
    }
}

/// The failed commands, each with the end of its output, and the outcome with its reason.
fn ended(at: Timestamp, outcome: Outcome, failure: Option<&Failure>) -> Vec<LogEntry> {
    let mut lines = Vec::new();
    let mut text = failure.map(ToString::to_string).unwrap_or_default();
    if let Some(Failure::Checks { failed }) = failure {
        lines.extend(failed.iter().map(|it| failed_check(at, it)));
    } else if let Some(Failure::Setup { command: ran, code, output }) = failure {
        let fact = command(ran, *code, None);
        lines.push(said(at, LogSource::Setup, output.clone(), Some(fact)));
    } else if let Some(detail) = failure.map(Failure::detail).filter(|it| !it.is_empty()) {
        text = format!("{text}\n{detail}");
    }
    let fact = LogFact::Ended { outcome, failure: failure.cloned() };
    lines.push(said(at, LogSource::Outcome, text, Some(fact)));
    lines
}

fn failed_check(at: Timestamp, check: &CheckFailure) -> LogEntry {
    let fact = command(&check.command, check.code, None);
    said(at, LogSource::Check, check.output.clone(), Some(fact))
}

fn command(command: &str, code: Option<i32>, took_ms: Option<u64>) -> LogFact {
    LogFact::Command { command: command.to_owned(), passed: code == Some(0), code, took_ms }
}

fn after(attempt: AttemptId, lines: Vec<LogEntry>) -> Vec<Step> {
    lines.into_iter().map(|it| (Whose::Attempt(attempt), it)).collect()
}

fn worded(board: &Board, entry: &Entry) -> LogEntry {
    let text = pitcrew_views::line(board, entry).map(|it| it.text).unwrap_or_default();
    orchestrator(entry.at, text)
}

fn orchestrator(at: Timestamp, text: String) -> LogEntry {
    said(at, LogSource::Orchestrator, text, None)
}

fn said(at: Timestamp, source: LogSource, text: String, fact: Option<LogFact>) -> LogEntry {
    LogEntry { at, source, text, fact }
}
