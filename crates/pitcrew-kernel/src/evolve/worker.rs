//! Workers and their requests.

use super::{attempt, budget, message, query};
use crate::{
    State,
    state::{Checkout, Process, Request, Resumption, Worker},
};
use alloc::{
    collections::{BTreeMap, VecDeque},
    string::String,
    vec::Vec,
};
use pitcrew_model::{
    Access, EffectId, PermissionOption, PermissionOptionKind, PlanId, RequestId, RequestKind,
    RequestStatus, Timestamp, TurnCause, Usage, Verdict, WorkerId, WorkerStatus, limits,
};

/// Changes a worker and updates the agenda.
pub fn change(state: &mut State, worker: WorkerId, change: impl FnOnce(&mut Worker)) {
    let row = state.workers.row(worker);
    let before = Worker {
        resumptions: VecDeque::new(),
        notes_at: VecDeque::new(),
        requests: Vec::new(),
        answering: BTreeMap::new(),
        blocked: BTreeMap::new(),
        calls: VecDeque::new(),
        wait: None,
        shown: (Vec::new(), Vec::new()),
        handed: Vec::new(),
        ..*row
    };
    change(row);
    state.refresh_worker(worker, &before);
}

pub fn moved(
    state: &mut State,
    worker: WorkerId,
    from: WorkerStatus,
    to: WorkerStatus,
    at: Timestamp,
) {
    assert_eq!(state.workers[worker].status, from, "{worker} moved from where it was not");
    change(state, worker, |it| {
        it.status = to;
        // The start of the agent counts against its timeout, so that a hanging start is detected.
        if matches!(to, WorkerStatus::Starting | WorkerStatus::Running) {
            it.deadline.get_or_insert(at.plus(it.left_ms));
        } else if let Some(deadline) = it.deadline.take() {
            it.left_ms = deadline.since(at);
        }
        if to == WorkerStatus::Running {
            it.resumptions.retain(|it| *it != Resumption::Query);
        }
        if to == WorkerStatus::WaitingQuota {
            let (since, waits_count) = it.limited.unwrap_or((at, 0));
            it.limited = Some((since, waits_count + 1));
            go_on_after(it, TurnCause::QuotaOver);
        }
        // It has no request of its own, or only one from before its first turn: a cap stopped it.
        if to == WorkerStatus::WaitingPermission && (it.requests.is_empty() || it.turns_count == 0)
        {
            go_on_after(it, TurnCause::Resumed);
        }
    });
    if to.has_ended() {
        message::worker_ended(state, worker);
        query::worker_ended(state, worker);
    }
}

/// A worker that a limit stopped continues where it was. It did not end its turn by itself, so it
/// is not reminded.
fn go_on_after(worker: &mut Worker, cause: TurnCause) {
    worker.resumptions.retain(|it| *it != Resumption::Turn(TurnCause::Reminder));
    gets_turn(worker, cause);
}

/// Gives the worker a turn: the pending one, or one for this cause. The first prompt is always the
/// task.
pub fn gets_turn(worker: &mut Worker, cause: TurnCause) {
    let start = Resumption::Turn(TurnCause::Start);
    if worker.turns_count == 0 {
        if worker.resumptions.front() != Some(&start) {
            worker.resumptions.push_front(start);
        }
    } else if !worker.resumptions.iter().any(|it| matches!(it, Resumption::Turn(_))) {
        worker.resumptions.push_back(Resumption::Turn(cause));
    }
}

pub fn start_asked(state: &mut State, worker: WorkerId) {
    change(state, worker, |it| it.process = Process::Alive);
}

/// Clears the timeout: the outcome of the attempt is already decided.
pub fn stop_asked(state: &mut State, worker: WorkerId) {
    change(state, worker, |it| {
        it.process = Process::Stopping;
        it.deadline = None;
    });
}

pub fn gone(state: &mut State, worker: WorkerId) {
    change(state, worker, |it| it.process = Process::Gone);
    let attempt = &state.attempts[state.workers[worker].attempt];
    if !attempt.is_open() && attempt.checkout == Checkout::Borrowed {
        attempt::put_away(state, attempt.id);
    }
}

/// Excludes the time without an orchestrator from the timeout.
pub fn reattached(state: &mut State, worker: WorkerId, away_ms: u64) {
    change(state, worker, |it| it.deadline = it.deadline.map(|at| at.plus(away_ms)));
}

pub fn call_taken(state: &mut State, worker: WorkerId, nonce: &str) {
    learn(&mut state.workers.row(worker).calls, nonce, limits::CALLS_KNOWN_MAX);
}

pub fn client_call_taken(state: &mut State, nonce: &str) {
    learn(&mut state.client_calls, nonce, limits::CLIENT_CALLS_KNOWN_MAX);
}

fn learn(calls: &mut VecDeque<String>, nonce: &str, max: usize) {
    if calls.len() == max {
        calls.pop_front();
    }
    calls.push_back(nonce.into());
}

pub fn access_blocked(state: &mut State, worker: WorkerId, place: u64, access: Access, path: &str) {
    let row = state.workers.row(worker);
    row.blocked_at = Some(place);
    *row.blocked.entry((access, path.into())).or_default() += 1;
}

pub fn answer_asked(state: &mut State, worker: WorkerId, effect: EffectId, call: &str) {
    state.workers.row(worker).answering.insert(effect, call.into());
}

pub fn turn_opened(
    state: &mut State,
    worker: WorkerId,
    cause: &TurnCause,
    effect: EffectId,
    at: Timestamp,
) {
    let attempt = state.attempts.row(state.workers[worker].attempt);
    if attempt.checkout != Checkout::Borrowed {
        attempt.snapshot_due.get_or_insert(at.plus(limits::SNAPSHOT_MS_MAX));
    }
    match cause {
        TurnCause::Reminder => attempt.reminded = true,
        TurnCause::Start
        | TurnCause::Answer { .. }
        | TurnCause::Resumed
        | TurnCause::QuotaOver
        | TurnCause::Results
        | TurnCause::Messages => {}
    }
    change(state, worker, |it| {
        it.turn = Some(effect);
        it.reported = Usage::NONE;
        it.turns_count += 1;
        let used = |it: &Resumption| matches!(it, Resumption::Turn(turn) if turn == cause);
        if it.resumptions.front().is_some_and(used) {
            it.resumptions.pop_front();
        }
    });
    message::turn_changed(state, worker);
}

/// Ends the turn and its open permission requests.
pub fn turn_over(state: &mut State, worker: WorkerId, effect: EffectId) {
    let row = &state.workers[worker];
    if row.turn != Some(effect) {
        return;
    }
    let waits = matches!(
        row.status,
        WorkerStatus::WaitingPermission
            | WorkerStatus::WaitingSubtasks
            | WorkerStatus::WaitingInput
    );
    let parked = waits && !state.has_question(row);
    let cause = next_cause(state, row).filter(|_| parked);
    change(state, worker, |it| {
        it.turn = None;
        it.handed.clear();
        it.resumptions.retain(|it| matches!(it, Resumption::Turn(_)));
        if it.resumptions.is_empty() {
            it.resumptions.extend(cause.map(Resumption::Turn));
        }
    });
    message::turn_changed(state, worker);
    query::asker_changed(state, worker);
}

/// Returns the cause of the next turn of a worker that ended its turn. None while its sub-tasks
/// run.
fn next_cause(state: &State, worker: &Worker) -> Option<TurnCause> {
    let family = &state.attempts[worker.attempt].family;
    if state.is_stopped(worker) {
        Some(TurnCause::Resumed)
    } else if !family.open.is_empty() {
        None
    } else if !family.unseen.is_empty() {
        Some(TurnCause::Results)
    } else {
        Some(TurnCause::Reminder)
    }
}

pub fn call_answered(state: &mut State, worker: WorkerId, answered: RequestId) {
    let is_other = |it: &Resumption| !matches!(it, Resumption::Permission { request, .. } if *request == answered);
    change(state, worker, |it| it.resumptions.retain(is_other));
}

/// Records what the worker continues with as soon as it has a slot.
pub fn will_return(state: &mut State, worker: WorkerId, resumption: Resumption) {
    change(state, worker, |it| it.resumptions.push_back(resumption));
}

pub fn request_opened(
    state: &mut State,
    request: RequestId,
    plan: PlanId,
    worker: Option<WorkerId>,
    kind: &RequestKind,
) {
    let status = begins(state, worker, kind);
    let (since, due) = (Timestamp(0), None);
    let (kind, tasks_count) = (kind.clone(), state.plans[plan].tasks.len());
    let row = Request { id: request, plan, worker, kind, status, since, due, tasks_count };
    let scope = if let RequestKind::Budget(it) = &row.kind { Some(it.scope) } else { None };
    state.requests.push(request, row);
    if let Some(scope) = scope {
        return budget::asked(state, request, scope);
    }
    match worker {
        Some(worker) => {
            let row = state.workers.row(worker);
            row.requests.push(request);
            row.requests_count += 1;
        }
        None => state.plans.row(plan).request = Some(request),
    }
}

/// Returns the first status: a permission request of a sub-task is escalated, others go to a
/// person.
fn begins(state: &State, worker: Option<WorkerId>, kind: &RequestKind) -> RequestStatus {
    let is_tool = matches!(kind, RequestKind::ToolUse { .. });
    let Some(worker) = worker.filter(|_| is_tool) else { return RequestStatus::AtUser };
    let task = &state.tasks[state.attempts[state.workers[worker].attempt].task];
    match task.delegation {
        Some(_) => RequestStatus::Requested,
        None => RequestStatus::AtUser,
    }
}

pub fn request_moved(
    state: &mut State,
    request: RequestId,
    from: RequestStatus,
    to: RequestStatus,
    text: Option<&str>,
) {
    let default = state.matrix.limits.permission_default;
    let row = state.requests.row(request);
    assert_eq!(row.status, from, "{request} moved from where it was not");
    row.status = to;
    if let RequestKind::Budget(spending) = row.kind {
        return budget::decided(state, &spending, to);
    }
    let Some(worker) = row.worker else {
        let plan = row.plan;
        state.plans.row(plan).request = None;
        return;
    };
    if to.is_open() {
        return;
    }
    let resumption = resumption(row, to, text, default);
    state.workers.row(worker).requests.retain(|it| *it != request);
    if let Some(resumption) = resumption {
        will_return(state, worker, resumption);
    }
}

fn resumption(
    request: &Request,
    to: RequestStatus,
    text: Option<&str>,
    default: Verdict,
) -> Option<Resumption> {
    let allow = match to {
        RequestStatus::Requested
        | RequestStatus::AtParent
        | RequestStatus::AtOrchestrator
        | RequestStatus::AtUser
        | RequestStatus::Withdrawn => return None,
        RequestStatus::Approved | RequestStatus::Answered => Allow::Yes,
        RequestStatus::Expired if default == Verdict::Approve => Allow::Yes,
        RequestStatus::Denied | RequestStatus::Expired => Allow::No,
    };
    match &request.kind {
        RequestKind::PlanExecution | RequestKind::BranchMerge | RequestKind::Budget(_) => None,
        RequestKind::Question { question } => Some(Resumption::Turn(TurnCause::Answer {
            question: question.clone(),
            answer: text.unwrap_or_default().into(),
        })),
        RequestKind::ToolUse { call, options, .. } => Some(Resumption::Permission {
            request: request.id,
            call: call.clone(),
            option: choose(options, allow),
        }),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Allow {
    /// Once, without a person.
    Once,
    /// A person approved, so any affirmative option will do.
    Yes,
    No,
}

/// Returns the option for an approval, preferably one that allows it only once.
pub fn choose(options: &[PermissionOption], allow: Allow) -> Option<String> {
    let wanted: &[PermissionOptionKind] = match allow {
        Allow::Once => &[PermissionOptionKind::AllowOnce],
        Allow::Yes => &[PermissionOptionKind::AllowOnce, PermissionOptionKind::AllowAlways],
        Allow::No => &[PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways],
    };
    wanted
        .iter()
        .find_map(|kind| options.iter().find(|it| it.kind == *kind))
        .map(|it| it.id.clone())
}
