//! A driver has finished an effect, or failed.

use super::{attempt_fails, cancel, complete_task, quota, turn_ended};
use crate::{
    State, message, removable, sandbox,
    state::{Attempt, BaseCheck, Checkout, Process, Task},
};
use alloc::{
    string::{String, ToString},
    vec,
    vec::Vec,
};
use pitcrew_model::{
    Actor, AttemptId, Claim, CommitId, EffectId, EffectResult, Event, Failure, Input, LandedAt,
    Landing, LandingStatus, Outcome, PlanId, PlanStatus, Reason, Rejection, TaskStatus, Timestamp,
    TurnCause, WorkerId, WorkerStatus,
};

const ACTOR: Actor = Actor::Orchestrator;

pub fn decide(
    state: &State,
    input: &Input,
    effect: EffectId,
    result: &EffectResult,
) -> Result<Vec<Event>, Rejection> {
    if !state.effects.contains(&effect) {
        return Err(Rejection::EffectNotOpen { effect });
    }
    let mut events = vec![Event::EffectEnded { effect, result: result.clone() }];
    match result {
        EffectResult::PlanPrepared { plan, .. } => events.extend(plan_prepared(state, *plan)),
        EffectResult::PlanNotPrepared { plan, failure } => {
            events.extend(plan_not_prepared(state, *plan, failure));
        }
        EffectResult::CheckoutPrepared { attempt, .. } => {
            events.extend(checkout_prepared(state, input.at, *attempt));
        }
        EffectResult::AgentReady { worker, .. } => {
            events.extend(agent_ready(state, input.at, *worker));
        }
        EffectResult::TurnEnded { worker, stop, usage, last_words } => {
            if turn_ended::is_read(state, effect, *worker, stop) {
                events.extend(message::read(state, input.at, *worker, last_words));
            }
            events.extend(turn_ended::decide(state, input, *worker, stop, *usage));
        }
        EffectResult::AgentStopped { worker, .. } => events.extend(agent_gone(state, *worker)),
        EffectResult::WorkCollected { attempt, .. } => {
            events.extend(work_collected(state, *attempt));
        }
        EffectResult::SnapshotTaken { attempt, .. }
        | EffectResult::SnapshotUnchanged { attempt }
        | EffectResult::SnapshotNotTaken { attempt, .. } => {
            events.extend(turn_ended::snapshot_ended(state, input.at, effect, *attempt));
            events.extend(not_kept(state, *attempt, result));
        }
        EffectResult::Verified { attempt, .. } => events.extend(verified(state, *attempt)),
        EffectResult::Integrated { attempt, .. } => events.extend(integrated(state, *attempt)),
        EffectResult::Landed { plan, landing } => events.extend(landed(state, *plan, landing)),
        EffectResult::NotLanded { plan, failure } => events.push(not_landed(state, *plan, failure)),
        EffectResult::Unsigned { plan, .. } => events.push(unsigned(state, *plan)),
        EffectResult::LandingUndone { plan, .. } => {
            events.push(landing_moved(state, *plan, LandingStatus::Undone, String::new()));
        }
        EffectResult::LandingNotUndone { plan, failure } => {
            events.push(landing_moved(state, *plan, LandingStatus::Merged, failure.to_string()));
        }
        EffectResult::WorkPulled { attempt, .. } | EffectResult::WorkNotPulled { attempt, .. } => {
            events.extend(pull_ended(state, effect, *attempt));
        }
        EffectResult::AttemptFailed { attempt, failure } => {
            events.extend(attempt_failed(state, input, effect, *attempt, failure));
        }
        EffectResult::BaseChecked { plan, .. } => events.extend(base_checked(state, *plan)),
        EffectResult::PermissionAnswered { .. }
        | EffectResult::TurnInterrupted { .. }
        | EffectResult::WorkSaved { .. }
        | EffectResult::Restored { .. }
        | EffectResult::NotRestored { .. }
        | EffectResult::SnapshotsDropped { .. }
        | EffectResult::SnapshotsNotDropped { .. }
        | EffectResult::VaultTidied { .. }
        | EffectResult::VaultNotTidied { .. }
        | EffectResult::CheckoutRemoved { .. }
        | EffectResult::CheckoutKept { .. }
        | EffectResult::OracleAnswered { .. } => {}
    }
    Ok(events)
}

fn attempt_failed(
    state: &State,
    input: &Input,
    effect: EffectId,
    attempt: AttemptId,
    failure: &Failure,
) -> Vec<Event> {
    let it = &state.attempts[attempt];
    if it.step != Some(effect) {
        // The attempt no longer waits for this effect, so its failure has no consequence.
        return Vec::new();
    }
    let process = state.workers[it.worker].process;
    let save = attempt_fails::save(it).filter(|_| process == Process::Stopping);
    match (&it.claim, failure) {
        // The agent exited right after its report.
        (Some((claim, summary)), Failure::AgentExited { .. })
            if it.is_open() && process == Process::Alive =>
        {
            complete_task::after_turn(state, input, attempt, *claim, summary.clone())
        }
        _ if it.is_open() => {
            let mut events =
                attempt_fails::decide(state, input.at, ACTOR, attempt, failure.clone());
            events.extend(save);
            events
        }
        // A partial task that a person accepted has a merge conflict.
        _ if is_accepted(state, it) => {
            let reason = Reason::Failure { failure: failure.clone(), retry_at: None };
            let (from, to) = (TaskStatus::Integrating, TaskStatus::Failed);
            vec![Event::TaskMoved { task: it.task, from, to, reason, actor: ACTOR }]
        }
        _ => save.into_iter().collect(),
    }
}

/// The attempt ended as partial, and a person accepted it.
fn is_accepted(state: &State, attempt: &Attempt) -> bool {
    let status = state.tasks[attempt.task].status;
    status == TaskStatus::Integrating && attempt.outcome == Some(Outcome::Partial)
}

fn landing_moved(state: &State, plan: PlanId, to: LandingStatus, reason: String) -> Event {
    let from = state.plans[plan].landing;
    Event::LandingMoved { plan, from, to, reason, actor: ACTOR }
}

fn not_landed(state: &State, plan: PlanId, failure: &Failure) -> Event {
    let conflict = matches!(failure, Failure::Conflict { .. });
    let to = if conflict { LandingStatus::Conflict } else { LandingStatus::None };
    landing_moved(state, plan, to, failure.to_string())
}

/// A landing waits for its signature. An undo does not: the branch still has the landing.
fn unsigned(state: &State, plan: PlanId) -> Event {
    let undoes = state.plans[plan].landing == LandingStatus::Undoing;
    let to = if undoes { LandingStatus::Merged } else { LandingStatus::Signing };
    landing_moved(state, plan, to, String::new())
}

/// The work is in the user's repository, so its checkouts are no longer needed.
fn landed(state: &State, plan: PlanId, landing: &Landing) -> Vec<Event> {
    let (to, reason) = match &landing.at {
        LandedAt::Base { .. } => (LandingStatus::Merged, String::new()),
        LandedAt::Side { reason, .. } => (LandingStatus::SideBranch, reason.clone()),
    };
    let mut events = vec![landing_moved(state, plan, to, reason)];
    let of_plan = removable(state).filter(|it| state.tasks[it.task].plan == plan);
    events.extend(of_plan.map(|it| Event::RemovalAsked { attempt: it.id }));
    events
}

/// A person has merged the separate branch. A report about an earlier result changes nothing.
pub fn merged_by_hand(
    state: &State,
    plan: PlanId,
    branch: &str,
    landed: &CommitId,
) -> Result<Vec<Event>, Rejection> {
    let it = state.plan(plan)?;
    let is_last = it.landed.as_ref().is_some_and(|it| it.commit == *landed);
    if it.landing != LandingStatus::SideBranch || !is_last {
        return Ok(Vec::new());
    }
    let merged = Event::MergedByHand { plan, branch: branch.into() };
    let reason = String::from("it was merged by hand");
    Ok(vec![merged, landing_moved(state, plan, LandingStatus::Merged, reason)])
}

fn plan_prepared(state: &State, plan: PlanId) -> Option<Event> {
    let it = &state.plans[plan];
    let checks = it.tasks.iter().any(|it| !state.tasks[*it].spec.checks.is_empty());
    (checks && !it.status.has_ended()).then_some(Event::BaseCheckAsked { plan })
}

/// The plan was resumed while its base check was being stopped, so the check runs again.
fn base_checked(state: &State, plan: PlanId) -> Option<Event> {
    let it = &state.plans[plan];
    let is_wanted = it.base_check == BaseCheck::CutShort && it.status == PlanStatus::Active;
    is_wanted.then_some(Event::BaseCheckAsked { plan })
}

/// The plan cannot start: it fails, and so does each of its tasks.
fn plan_not_prepared(state: &State, plan: PlanId, failure: &Failure) -> Vec<Event> {
    let it = &state.plans[plan];
    if it.status.has_ended() {
        return Vec::new();
    }
    let reason = Reason::Failure { failure: failure.clone(), retry_at: None };
    let (from, to, why) = (it.status, PlanStatus::Failed, failure.to_string());
    let mut events = vec![Event::PlanMoved { plan, from, to, reason: why, actor: ACTOR }];
    events.extend(cancel::cancel_waiting(state, plan, &reason, ACTOR));
    events
}

fn checkout_prepared(state: &State, now: Timestamp, attempt: AttemptId) -> Vec<Event> {
    let it = &state.attempts[attempt];
    if !it.is_open() {
        return Vec::new();
    }
    // The sandbox may have become weaker since the attempt was opened.
    if let Err(failure) = sandbox::check(state) {
        return attempt_fails::decide(state, now, ACTOR, attempt, failure);
    }
    let worker = it.worker;
    let (from, to) = (WorkerStatus::Created, WorkerStatus::Starting);
    let reason = String::new();
    vec![Event::WorkerMoved { worker, from, to, reason }, Event::AgentStartAsked { worker }]
}

fn agent_ready(state: &State, now: Timestamp, worker: WorkerId) -> Vec<Event> {
    let it = &state.workers[worker];
    let attempt = &state.attempts[it.attempt];
    if !attempt.is_open() {
        return Vec::new();
    }
    let task = &state.tasks[attempt.task];
    let (from, to) = (it.status, WorkerStatus::Running);
    let reason = String::new();
    let mut events = vec![
        Event::WorkerMoved { worker, from, to, reason },
        Event::TaskMoved {
            task: task.id,
            from: TaskStatus::Starting,
            to: TaskStatus::Running,
            reason: Reason::Progress,
            actor: ACTOR,
        },
    ];
    if state.plan_of(attempt).status == PlanStatus::Paused {
        let (from, to) = (WorkerStatus::Running, WorkerStatus::Paused);
        let reason = "the plan is paused".to_string();
        events.push(Event::WorkerMoved { worker, from, to, reason });
    } else if let Some(vendor) = state.held_vendor(task) {
        let why = quota::why_held(state, vendor);
        events.push(turn_ended::waits_for_quota(worker, WorkerStatus::Running, why));
    } else if state.is_over_budget(task) {
        let (from, to) = (WorkerStatus::Running, WorkerStatus::WaitingPermission);
        let reason = "a cap is reached".to_string();
        events.push(Event::WorkerMoved { worker, from, to, reason });
    } else {
        events.extend(message::open_turn(state, now, worker, TurnCause::Start));
    }
    events
}

/// The attempt that pulled has ended meanwhile, so its work can be saved now.
fn pull_ended(state: &State, effect: EffectId, attempt: AttemptId) -> Option<Event> {
    let owner = &state.attempts[state.checkout_owner(attempt)];
    let is_last = owner.family.pulls.iter().all(|it| *it == effect);
    let is_left = !owner.is_open()
        && !owner.put_away
        && owner.work.is_none()
        && owner.checkout == Checkout::There
        && state.workers[owner.worker].process == Process::Gone;
    (is_last && is_left).then_some(Event::SaveAsked { attempt: owner.id })
}

/// The start of sub-tasks could not be saved.
fn not_kept(state: &State, attempt: AttemptId, result: &EffectResult) -> Vec<Event> {
    let EffectResult::SnapshotNotTaken { reason, .. } = result else { return Vec::new() };
    let it = &state.attempts[attempt];
    // Another snapshot is due, and they wait for that one.
    if it.snapshot_due == Some(Timestamp(0)) {
        return Vec::new();
    }
    let open = it.family.waiters.iter().map(|it| &state.tasks[*it]);
    let fails = |task: &Task| {
        let message = alloc::format!("the parent's checkout could not be saved: {reason}");
        let reason = Reason::Failure { failure: Failure::Checkout { message }, retry_at: None };
        let (from, to) = (task.status, TaskStatus::Failed);
        Event::TaskMoved { task: task.id, from, to, reason, actor: ACTOR }
    };
    open.filter(|it| it.status == TaskStatus::Pending).map(fails).collect()
}

/// The process ended because it was stopped: after a completion its work is collected, otherwise
/// saved.
pub fn agent_gone(state: &State, worker: WorkerId) -> Vec<Event> {
    let it = &state.workers[worker];
    let attempt = &state.attempts[it.attempt];
    if it.process == Process::Gone {
        return Vec::new();
    }
    if !attempt.is_open() {
        let saved = attempt.put_away || attempt.work.is_some();
        return attempt_fails::save(attempt).filter(|_| !saved).into_iter().collect();
    }
    let reason = String::new();
    let mut events = attempt_fails::withdraw_requests(state, worker);
    events.extend([
        Event::WorkerMoved { worker, from: it.status, to: WorkerStatus::Completed, reason },
        Event::TaskMoved {
            task: attempt.task,
            from: TaskStatus::Running,
            to: TaskStatus::Verifying,
            reason: Reason::Progress,
            actor: ACTOR,
        },
    ]);
    if attempt.checkout == Checkout::Borrowed {
        events.extend(done(attempt));
    } else {
        events.push(Event::CollectAsked { attempt: attempt.id });
    }
    events
}

fn work_collected(state: &State, attempt: AttemptId) -> Vec<Event> {
    let it = &state.attempts[attempt];
    let partial = matches!(it.claim, Some((Claim::Partial, _)));
    // Work of a sub-task is not merged: its parent pulls it.
    let delegated = state.tasks[it.task].delegation.is_some();
    if !it.is_open() || !(partial || delegated) {
        return Vec::new();
    }
    done(it).into()
}

/// The sub-task ends with the reported outcome. Nothing is merged.
fn done(attempt: &Attempt) -> [Event; 2] {
    let partial = matches!(attempt.claim, Some((Claim::Partial, _)));
    let (outcome, to) = if partial {
        (Outcome::Partial, TaskStatus::Partial)
    } else {
        (Outcome::Success, TaskStatus::Completed)
    };
    let (task, from, reason) = (attempt.task, TaskStatus::Verifying, Reason::Progress);
    [
        Event::AttemptEnded { attempt: attempt.id, outcome, failure: None },
        Event::TaskMoved { task, from, to, reason, actor: ACTOR },
    ]
}

fn verified(state: &State, attempt: AttemptId) -> Vec<Event> {
    let it = &state.attempts[attempt];
    let mut events = Vec::new();
    if it.is_open() {
        events.push(Event::TaskMoved {
            task: it.task,
            from: TaskStatus::Verifying,
            to: TaskStatus::Integrating,
            reason: Reason::Progress,
            actor: ACTOR,
        });
    } else if !is_accepted(state, it) {
        // The task was cancelled meanwhile.
        return Vec::new();
    }
    events.push(Event::IntegrateAsked { attempt });
    events
}

fn integrated(state: &State, attempt: AttemptId) -> Vec<Event> {
    let it = &state.attempts[attempt];
    let mut events = Vec::new();
    if it.is_open() {
        events.push(Event::AttemptEnded { attempt, outcome: Outcome::Success, failure: None });
    }
    events.push(Event::TaskMoved {
        task: it.task,
        from: TaskStatus::Integrating,
        to: TaskStatus::Completed,
        reason: Reason::Progress,
        actor: ACTOR,
    });
    events
}
