//! The text of each event.

use super::{
    line::{About, LineDraft},
    messages, queries, results,
};
use crate::{
    Board, inbox, plain,
    words::{clock, duration},
};
use pitcrew_model::{
    Action, Actor, AttemptId, BudgetScope, Claim, EgressOf, Entry, Event, Exit, Freshness, Grant,
    Reason, RequestId, RequestKind, RequestStatus, RuleSource, SubtaskName, SubtaskNames, TaskId,
    TaskSpec, TaskStatus, Timestamp, TurnCause, WorkerId, WorkerStatus,
};
use std::fmt::Display;

#[expect(clippy::too_many_lines, reason = "one arm for each kind of event")]
pub(super) fn say(board: &Board, entry: &Entry) -> Option<LineDraft> {
    let said = match &entry.event {
        Event::AgentsMaxSet { count } => slots(*count),
        Event::PlanCreated { plan, status, actor, .. } => {
            by(*actor, About::Plan(*plan), format!("created, {status}"))
        }
        Event::PlanMoved { plan, from, to, reason, actor } => {
            by(*actor, About::Plan(*plan), moved(from, to, reason))
        }
        Event::BaseCheckAsked { plan } => by_us(About::Plan(*plan), "checks run on the base"),
        Event::TaskMoved { task, from, to, reason, actor } => {
            by(*actor, About::Task(*task), task_moved(board, (*from, *to), reason, entry.at))
        }
        Event::TaskDeployed { task, actor } => by(*actor, About::Task(*task), "deployed"),
        Event::TaskHeld { task, actor } => {
            let text = format!("added; waits for a person: `pitcrew deploy {task}`");
            by(*actor, About::Task(*task), &text)
        }
        Event::RetryGranted { task, freshness, actor } => {
            by(*actor, About::Task(*task), retry(*freshness))
        }
        Event::AttemptOpened { task, worker, number, start, .. } => by_us(
            About::Task(*task),
            format!("attempt {number} by {worker} from {}", start.short()),
        ),
        Event::BudgetWarned(spending) => by_us(about(spending.scope), format!("{spending}")),
        Event::BackendHeld { backend, until, reason, .. } => {
            by_us(About::Workspace, held(backend, *until, entry.at, reason))
        }
        Event::BackendProbed { backend, task } => {
            let text = format!("tries whether {} can be reached", plain::line(backend));
            by_us(About::Task(*task), text)
        }
        Event::BackendReleased { backend, actor } => {
            by(*actor, About::Workspace, format!("{} is available again", plain::line(backend)))
        }
        Event::WorkerMoved { worker, from, to, reason } => {
            worker_moved(*worker, *from, *to, reason)?
        }
        Event::TurnOpened { worker, cause } => turn(*worker, cause)?,
        Event::AgentExited { worker, exit } => by_us(About::Worker(*worker), exited(exit)),
        Event::AgentReattached { worker, away_ms } => worked_on(*worker, *away_ms),
        Event::ActivityNoted { worker, note } => {
            by(Actor::Worker(*worker), About::Worker(*worker), plain::line(note))
        }
        Event::MessageQueued(message) => messages::queued(message),
        Event::MessageMoved { message, task, to, reason, .. } => {
            messages::moved(*message, *task, *to, reason)?
        }
        Event::CompletionClaimed { attempt, claim, summary } => {
            claimed(board, *attempt, *claim, summary)
        }
        Event::RequestOpened { request, worker, kind, .. } => asked(*request, *worker, kind),
        Event::RequestMoved { request, to, text, actor, .. } => {
            by(*actor, About::Request(*request), decided(*request, *to, text.as_deref()))
        }
        Event::ToolDecided {
            worker, title, action: Some(action), denied_by: Some(rule), ..
        } => by_us(About::Worker(*worker), denied(title, action, rule)),
        Event::ToolDecided { worker, title, option, action, grant, .. } => {
            let by = match (grant, action) {
                (Some(grant), _) => grant.to_string(),
                (None, Some(action)) => format!("the rule for {action}"),
                (None, None) => "rule".to_owned(),
            };
            by_us(About::Worker(*worker), tool_decided(title, option.as_deref(), &by))
        }
        Event::AccessBlocked { worker, access, path, .. } => {
            let path = plain::line(path);
            by_us(About::Worker(*worker), format!("blocked: {access} {path}, outside its region"))
        }
        Event::MatrixApplied { .. } => by_us(About::Workspace, "the permissions have changed"),
        Event::CrewApplied { .. } => by_us(About::Workspace, "the agents have changed"),
        Event::SandboxApplied { sandbox } => {
            let tier = sandbox.available;
            let why = sandbox.obstacle.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
            by_us(About::Workspace, format!("programs are confined by tier {tier}{why}"))
        }
        Event::TierAccepted { tier, actor } => {
            by(*actor, About::Workspace, format!("tier {tier} is accepted"))
        }
        Event::AgentConfined { worker, confined } => {
            let policy = confined.policy.get(..12).unwrap_or(&confined.policy);
            let text = format!("confined by tier {}, policy {policy}", confined.tier);
            by_us(About::Worker(*worker), text)
        }
        Event::GrantGiven { grant, actor, .. } => {
            by(*actor, About::Workspace, format!("{} given: {}", grant.id, granted(grant)))
        }
        Event::GrantRevoked { grant, actor } => {
            by(*actor, About::Workspace, format!("{grant} revoked"))
        }
        Event::AgentGroupCreated { parent, tasks, .. } => by_us(
            About::Attempt(*parent),
            format!("sub-tasks created together: {}", SubtaskNames(tasks)),
        ),
        Event::StandaloneSpawned { plan, tasks, .. } => {
            by(Actor::Client, About::Plan(*plan), format!("{} sub-tasks created", tasks.len()))
        }
        Event::MergedByHand { plan, branch } => {
            by_us(About::Plan(*plan), format!("{} contains the result", plain::line(branch)))
        }
        Event::LandingMoved { plan, from, to, reason, actor } => {
            by(*actor, About::Plan(*plan), format!("landing {}", moved(from, to, reason)))
        }
        Event::Abandoned { attempt, actor } => {
            by(*actor, About::Attempt(*attempt), abandoned(board, *attempt))
        }
        Event::SubtaskAdded { task, spec, delegation, .. } => {
            by_us(About::Attempt(delegation.parent), handed_out(*task, spec))
        }
        Event::AwaitBegun { worker, tasks, .. } => {
            by_us(About::Worker(*worker), format!("waits for {}", SubtaskNames(tasks)))
        }
        Event::ResultsHanded { worker, tasks } => {
            by_us(About::Worker(*worker), format!("gets the results of {}", SubtaskNames(tasks)))
        }
        Event::EgressDecided(it) => {
            let about = match it.whose {
                EgressOf::Attempt(attempt) => About::Attempt(attempt),
                EgressOf::Plan(plan) => About::Plan(plan),
            };
            by_us(about, plain::line(&it.to_string()))
        }
        Event::QueryAsked { query, worker, symbol, .. } => {
            let text = format!("{query}: what is `{}`?", plain::line(symbol));
            by(Actor::Worker(*worker), About::Worker(*worker), text)
        }
        Event::QueryRouted { query, worker, owner, .. } => {
            by_us(About::Worker(*worker), format!("{query} goes to {owner}"))
        }
        Event::QueryEnded { query, worker, outcome, tokens_spent, tokens_saved, .. } => {
            let text = queries::ended(*query, *outcome, *tokens_spent, *tokens_saved);
            by_us(About::Worker(*worker), text)
        }
        Event::QueryAnsweredLate { query, worker, owner, .. } => {
            by(Actor::Worker(*owner), About::Worker(*worker), format!("{query} answered late"))
        }
        Event::QueryLimitsApplied { .. } => {
            by_us(About::Workspace, "the limits of queries have changed")
        }
        Event::EffectEnded { result, .. } => results::say(board, result)?,
        // These are described by another event.
        Event::TaskAdded { .. }
        | Event::ClientCallTaken { .. }
        | Event::AgentGroupMemberCompleted { .. }
        | Event::PlanOpened { .. }
        | Event::AttemptEnded { .. }
        | Event::AgentStartAsked { .. }
        | Event::StopAsked { .. }
        | Event::InterruptAsked { .. }
        | Event::CollectAsked { .. }
        | Event::SaveAsked { .. }
        | Event::SnapshotAsked { .. }
        | Event::RestoreAsked { .. }
        | Event::DropAsked { .. }
        | Event::TidyAsked
        | Event::VerifyAsked { .. }
        | Event::IntegrateAsked { .. }
        | Event::ToolAnswered { .. }
        | Event::RemovalAsked { .. }
        | Event::CallTaken { .. }
        | Event::UsageNoted { .. }
        | Event::AwaitEnded { .. }
        | Event::OutputHanded { .. }
        | Event::PullAsked { .. }
        | Event::LandingPlanned { .. }
        | Event::SettingsApplied { .. } => return None,
    };
    Some(said)
}

fn by(actor: Actor, about: About, text: impl Into<String>) -> LineDraft {
    LineDraft::new(actor, about, text)
}

fn by_us(about: About, text: impl Into<String>) -> LineDraft {
    by(Actor::Orchestrator, about, text)
}

fn handed_out(task: TaskId, spec: &TaskSpec) -> String {
    format!("delegates {} to {}: {}", SubtaskName(task), spec.agent, plain::line(&spec.key))
}

fn asked(request: RequestId, worker: Option<WorkerId>, kind: &RequestKind) -> LineDraft {
    let actor = worker.map_or(Actor::Orchestrator, Actor::Worker);
    by(actor, About::Request(request), format!("{request}: {}", inbox::title(kind)))
}

fn about(scope: BudgetScope) -> About {
    match scope {
        BudgetScope::Task(task) => About::Task(task),
        BudgetScope::Plan(plan) => About::Plan(plan),
    }
}

fn held(backend: &str, until: Timestamp, now: Timestamp, reason: &str) -> String {
    let (backend, until, reason) = (plain::line(backend), clock(until, now), plain::line(reason));
    format!("{backend} has reached a provider limit until {until}: {reason}")
}

fn worked_on(worker: WorkerId, away_ms: u64) -> LineDraft {
    let away = duration(away_ms);
    by_us(
        About::Worker(worker),
        format!("its agent kept running without an orchestrator for {away}"),
    )
}

fn exited(exit: &Exit) -> String {
    if exit.is_lost() {
        return "its agent was lost: the machine went down, or no orchestrator came back in time"
            .into();
    }
    format!("its agent exited by itself: {exit}")
}

fn moved(from: &impl Display, to: &impl Display, reason: &str) -> String {
    let reason = plain::line(reason);
    if reason.is_empty() { format!("{from} -> {to}") } else { format!("{from} -> {to} ({reason})") }
}

fn task_moved(
    board: &Board,
    (from, to): (TaskStatus, TaskStatus),
    reason: &Reason,
    at: Timestamp,
) -> String {
    let words = match reason {
        Reason::DependencyEnded { task, status } => {
            format!("{} is {status}", plain::line(&board.task_name(*task)))
        }
        Reason::Failure { failure, retry_at: Some(retry_at) } => {
            let wait = duration(retry_at.since(at));
            format!("{}; next attempt in {wait}", plain::line(&failure.to_string()))
        }
        Reason::Failure { retry_at: None, .. }
        | Reason::Progress
        | Reason::DependenciesCompleted
        | Reason::Unblocked
        | Reason::SlotFree
        | Reason::Retry
        | Reason::Cancelled
        | Reason::Accepted => plain::line(&reason.to_string()),
    };
    // The text is already short; cutting it again would lose the wait.
    if words.is_empty() { format!("{from} -> {to}") } else { format!("{from} -> {to} ({words})") }
}

fn retry(freshness: Freshness) -> &'static str {
    match freshness {
        Freshness::Continue => "one more attempt, from where the last one ended",
        Freshness::Fresh => "one more attempt, from the integration head",
    }
}

/// The lines of the task describe start and end, so only parking and resuming are shown here.
fn worker_moved(
    worker: WorkerId,
    from: WorkerStatus,
    to: WorkerStatus,
    reason: &str,
) -> Option<LineDraft> {
    let is_shown = to.is_parked() || from.is_parked() && to == WorkerStatus::Running;
    if !is_shown {
        return None;
    }
    Some(by_us(About::Worker(worker), format!("{worker} {}", moved(&from, &to, reason))))
}

fn slots(count: u32) -> LineDraft {
    by(Actor::Person, About::Workspace, format!("max_agents is {count}"))
}

fn turn(worker: WorkerId, cause: &TurnCause) -> Option<LineDraft> {
    let text = match cause {
        TurnCause::Start => return None,
        TurnCause::Reminder => "reminded to report completion",
        TurnCause::Answer { .. } => "gets the answer",
        TurnCause::Resumed | TurnCause::QuotaOver => "continues",
        TurnCause::Results => "its sub-tasks have ended",
        TurnCause::Messages => "gets its messages",
    };
    Some(by_us(About::Worker(worker), text))
}

fn claimed(board: &Board, attempt: AttemptId, claim: Claim, summary: &str) -> LineDraft {
    let word = match claim {
        Claim::Success => "done",
        Claim::Partial => "partly done",
        Claim::Failed => "not possible",
    };
    let worker = board.attempt(attempt).map(|it| it.worker);
    let actor = worker.map_or(Actor::Orchestrator, Actor::Worker);
    // The output of a command follows in a paragraph of its own.
    let summary = plain::line(summary.trim().split("\n\n").next().unwrap_or_default());
    let text = if summary.is_empty() {
        format!("says: {word}")
    } else {
        format!("says: {word}: {summary}")
    };
    by(actor, About::Attempt(attempt), text)
}

fn decided(request: RequestId, status: RequestStatus, text: Option<&str>) -> String {
    match text.map(plain::line).filter(|it| !it.is_empty()) {
        Some(text) => format!("{request} {status}: {text}"),
        None => format!("{request} {status}"),
    }
}

/// Describes a grant in one line.
fn granted(grant: &Grant) -> String {
    let actions: Vec<&str> = grant.actions.iter().map(Action::name).collect();
    let paths = grant.paths.iter().chain(&grant.outside).map(|it| plain::line(it));
    let command = grant.command.as_ref().map(|it| format!("`{}`", plain::line(it)));
    let what: Vec<String> = command.into_iter().chain(paths).collect();
    format!("{} for {}, {}", actions.join(", "), what.join(" "), grant.reach)
}

/// Describes the rule that denied an action, and what can be done.
pub(crate) fn denied(title: &str, action: &Action, rule: &RuleSource) -> String {
    format!("`{}` is refused: {}", plain::line(title), plain::line(&rule.denies(action)))
}

fn tool_decided(title: &str, option: Option<&str>, by: &str) -> String {
    let answer = option.map_or_else(|| "cancelled".to_owned(), plain::line);
    format!("`{}` answered by {by}: {answer}", plain::line(title))
}

fn abandoned(board: &Board, attempt: AttemptId) -> String {
    let number = board.attempt(attempt).map(|it| format!(" {}", it.number)).unwrap_or_default();
    format!("attempt{number} abandoned")
}
