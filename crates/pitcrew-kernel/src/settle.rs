//! Standing rules: what must follow whenever the state allows it, whatever caused it.
//!
//! Each rule looks at its own list in the agenda. `step` repeats until no rule applies, so a free
//! slot and a ready task never coexist.

mod budget;
mod mail;
mod query;
pub(crate) mod subtask;
mod expire;

use crate::{
    State,
    decide::attempt_fails,
    message, sandbox,
    state::{Attempt, Checkout, Plan, Process, Quota, Resumption, Task, Worker},
};
use alloc::{vec, vec::Vec};
use pitcrew_model::{
    Actor, AwaitEnd, CommitId, Event, Failure, HoldCause, LandingStatus, PlanId, PlanStatus,
    Reason, TaskId, TaskStatus, Timestamp, WorkerStatus, limits,
};

const ACTOR: Actor = Actor::Orchestrator;

/// Returns the events of the first rule that applies; none when all is settled.
pub fn settle(state: &State, now: Timestamp) -> Vec<Event> {
    subtask::cancel_orphan(state, now)
        .or_else(|| subtask::tell_group(state))
        .or_else(|| subtask::drop_wait(state))
        .or_else(|| end_overdue(state, now))
        .or_else(|| expire::expire(state, now))
        .or_else(|| expire::grant(state))
        .or_else(|| snapshot(state, now))
        .or_else(|| release(state, now))
        .or_else(|| budget::warn(state))
        .or_else(|| budget::stop(state))
        .or_else(|| budget::withdraw(state))
        .or_else(|| mail::put_right(state))
        .or_else(|| query::go_on(state, now))
        .or_else(|| query::time_out(state, now))
        .or_else(|| mail::expire(state, now))
        .or_else(|| mail::give_up(state, now))
        .or_else(|| subtask::go_on(state, now))
        .or_else(|| block(state))
        .or_else(|| unblock(state))
        .or_else(|| queue(state, now))
        .or_else(|| answer_worker(state, now))
        .or_else(|| subtask::park(state))
        .or_else(|| query::park(state))
        .or_else(|| return_worker(state, now))
        .or_else(|| subtask::time_out(state, now))
        .or_else(|| mail::wake(state, now))
        .or_else(|| start(state))
        .or_else(|| subtask::start_beyond(state))
        .or_else(|| verify(state))
        .or_else(|| end_plan(state))
        .or_else(|| clean_plan(state))
        .unwrap_or_default()
}

/// Returns the next time at which a rule may apply without another input.
pub fn next_due(state: &State) -> Option<Timestamp> {
    let queue = state.agenda.to_queue.first().map(|it| it.0);
    let deadline = state.agenda.deadlines.first().map(|it| it.0);
    let snapshot = state.agenda.snapshots.first().map(|it| it.0);
    let expiry = state.agenda.expiries.first().map(|it| it.0);
    let quota = state.quotas.values().filter_map(Quota::due).min();
    let wait = subtask::next_due(state);
    // A worker without a slot is not woken by time alone.
    let free = state.agenda.slots_used < state.agents_max;
    let mut waking = state.agenda.waking.iter().filter(|it| free && state.worker_has_slot(it.1));
    let wake = waking.next().map(|it| it.0);
    // The expiry of a message alone does not keep the orchestrator running.
    let lives = !state.agenda.live.is_empty();
    let stale = state.mail.expiries.first().filter(|_| lives).map(|it| it.0);
    let query = state.queries.deadlines.first().map(|it| it.0);
    let all = [queue, deadline, snapshot, expiry, quota, wait, wake, stale, query];
    all.into_iter().flatten().min()
}

/// Returns attempts whose checkouts may be removed: the task is completed, or the parent of the
/// sub-task has ended, so all work is in the vault; or no agent ever started.
pub fn removable(state: &State) -> impl Iterator<Item = &Attempt> {
    state.attempts.iter().filter(|it| {
        let task = &state.tasks[it.task];
        let was_empty = state.workers[it.worker].process == Process::None;
        let is_kept = it.saved.is_some() || it.work.is_some() || was_empty;
        let is_left = state.parent_of(task).is_some_and(|it| !it.is_open());
        it.checkout == Checkout::There
            && it.put_away
            && (task.status == TaskStatus::Completed
                || task.status.has_ended() && is_left && is_kept)
    })
}

/// Returns attempts whose snapshots may be dropped: their work landed or was abandoned long ago.
pub fn droppable(state: &State, now: Timestamp) -> impl Iterator<Item = &Attempt> {
    let is_old = move |at: &Timestamp| now.since(*at) >= limits::SNAPSHOTS_KEPT_MS;
    state.attempts.iter().filter(move |it| {
        let task = &state.tasks[it.task];
        let landed = state.plans[task.plan].cleaned_at;
        let landed = landed.filter(|_| task.status == TaskStatus::Completed);
        let is_over = !it.is_open() && it.put_away && it.dropping.is_none();
        is_over
            && landed.or(it.abandoned_at).as_ref().is_some_and(is_old)
            && task.kept.droppable_count(it.id) > 0
    })
}

fn end_overdue(state: &State, now: Timestamp) -> Option<Vec<Event>> {
    let (deadline, worker) = state.agenda.deadlines.first()?;
    if *deadline > now {
        return None;
    }
    let attempt = &state.attempts[state.workers[*worker].attempt];
    let after_ms = state.tasks[attempt.task].spec.timeout_ms;
    Some(attempt_fails::decide(state, now, ACTOR, attempt.id, Failure::Timeout { after_ms }))
}

fn snapshot(state: &State, now: Timestamp) -> Option<Vec<Event>> {
    let (at, attempt) = *state.agenda.snapshots.first()?;
    (at <= now).then(|| vec![Event::SnapshotAsked { attempt }])
}

/// A provider limit has ended, or it is time to try a provider that could not be reached: one task
/// first, so that a crowd does not wait for timeouts together.
fn release(state: &State, now: Timestamp) -> Option<Vec<Event>> {
    let is_over = |it: Timestamp| it <= now;
    let (backend, row) = state.quotas.iter().find(|it| it.1.due().is_some_and(is_over))?;
    let probes = row.cause == HoldCause::Unreachable && row.probe.is_none();
    let probe = probes.then(|| probing_task(state, backend)).flatten();
    let backend = backend.clone();
    Some(vec![match probe {
        Some(task) => Event::BackendProbed { backend, task },
        None => Event::BackendReleased { backend, actor: ACTOR },
    }])
}

/// Returns the task that tries first, if others would try with it: one with an agent before one
/// that has not started.
fn probing_task(state: &State, backend: &str) -> Option<TaskId> {
    let waits = |it: &&Task| {
        it.spec.vendor() == Some(backend)
            && state.plans[it.plan].status == PlanStatus::Active
            && !state.is_over_budget(it)
    };
    let agents = state.live_workers().filter(|it| it.status == WorkerStatus::WaitingQuota);
    let with_agent = agents.map(|it| &state.tasks[state.attempts[it.attempt].task]).filter(waits);
    let queued = state.tasks.iter().filter(|it| it.status == TaskStatus::Queued).filter(waits);
    let mut waiting = with_agent.chain(queued);
    let first = waiting.next()?;
    waiting.next().map(|_| first.id)
}

fn block(state: &State) -> Option<Vec<Event>> {
    let task = &state.tasks[*state.agenda.to_block.first()?];
    let cause = |it: &&TaskId| {
        let status = state.tasks[**it].status;
        status != TaskStatus::Completed && (status.has_ended() || status == TaskStatus::Blocked)
    };
    let cause = task.depends_on.iter().find(cause).expect("a counted dependency blocks");
    let reason = Reason::DependencyEnded { task: *cause, status: state.tasks[*cause].status };
    Some(vec![moved(task, TaskStatus::Blocked, reason)])
}

fn unblock(state: &State) -> Option<Vec<Event>> {
    let task = &state.tasks[*state.agenda.to_unblock.first()?];
    Some(vec![moved(task, TaskStatus::Pending, Reason::Unblocked)])
}

fn queue(state: &State, now: Timestamp) -> Option<Vec<Event>> {
    let (at, task) = state.agenda.to_queue.first()?;
    if *at > now {
        return None;
    }
    let task = &state.tasks[*task];
    let first = task.attempts.is_empty() && !task.depends_on.is_empty();
    let reason = if first { Reason::DependenciesCompleted } else { Reason::Progress };
    Some(vec![moved(task, TaskStatus::Queued, reason)])
}

/// A worker may wait for several calls: the first answer has already resumed it.
fn answer_worker(state: &State, now: Timestamp) -> Option<Vec<Event>> {
    let worker = &state.workers[*state.agenda.answered.first()?];
    Some(resumption(state, now, worker))
}

/// Parked workers come before tasks that have not started.
fn return_worker(state: &State, now: Timestamp) -> Option<Vec<Event>> {
    if state.agenda.slots_used >= state.agents_max {
        return None;
    }
    let mut returning = state.agenda.returning.iter();
    let worker = &state.workers[*returning.find(|it| state.worker_has_slot(**it))?];
    let (from, to) = (worker.status, WorkerStatus::Running);
    let moved = Event::WorkerMoved { worker: worker.id, from, to, reason: "a slot is free".into() };
    let mut events = vec![moved];
    events.extend(resumption(state, now, worker));
    Some(events)
}

fn resumption(state: &State, now: Timestamp, worker: &Worker) -> Vec<Event> {
    match worker.next_resumption().expect("a returning worker has something to go on with") {
        Resumption::Turn(cause) => message::open_turn(state, now, worker.id, cause.clone()),
        Resumption::Permission { request, call, option } => vec![Event::ToolAnswered {
            request: *request,
            worker: worker.id,
            call: call.clone(),
            option: option.clone(),
        }],
        // The open call needs no event besides the new slot.
        Resumption::Query => Vec::new(),
        Resumption::Await => {
            let is_over = worker.wait.as_ref().is_none_or(|it| it.open.is_empty());
            let is_decider = state.asked_of(worker.attempt).next().is_some();
            let end = match (is_over, is_decider) {
                (true, _) => AwaitEnd::AllEnded,
                (false, true) => AwaitEnd::ChildAsks,
                (false, false) => AwaitEnd::Questioned,
            };
            subtask::end_wait(state, worker, end)
        }
    }
}

fn start(state: &State) -> Option<Vec<Event>> {
    let agenda = &state.agenda;
    if agenda.slots_used >= state.agents_max || agenda.processes_count >= state.agents_live_max {
        return None;
    }
    // Its parent waits for it, or soon will.
    let may_start = |it: &&TaskId| state.plan_has_slot(state.tasks[**it].plan);
    if let Some(child) = agenda.children.iter().find(may_start) {
        return Some(open_attempt(state, *child));
    }
    let coming_count = u32::try_from(agenda.soon.len()).unwrap_or(u32::MAX);
    if agenda.slots_used.saturating_add(coming_count) >= state.agents_max {
        return None;
    }
    let free = |key: &u32, overlap: &pitcrew_model::Overlap| {
        *overlap == pitcrew_model::Overlap::Allow || !agenda.regions.is_held(*key)
    };
    let has_slot = |plan: &Option<PlanId>| plan.is_none_or(|it| state.plan_has_slot(it));
    let mut heads = agenda.to_start.iter();
    let (task, _) = heads.find(|(_, (key, overlap, plan))| free(key, overlap) && has_slot(plan))?;
    Some(open_attempt(state, *task))
}

fn open_attempt(state: &State, task: TaskId) -> Vec<Event> {
    let task = &state.tasks[task];
    if let Err(failure) = sandbox::check(state) {
        let reason = Reason::Failure { failure, retry_at: None };
        return vec![moved(task, TaskStatus::Failed, reason)];
    }
    let (start, base) = starting_point(state, task);
    vec![
        moved(task, TaskStatus::Starting, Reason::SlotFree),
        Event::AttemptOpened {
            attempt: state.attempts.next_id(),
            task: task.id,
            worker: state.workers.next_id(),
            number: u32::try_from(task.attempts.len()).expect("attempts are few") + 1,
            start,
            base,
        },
    ]
}

/// Returns the last state of the previous attempt, unless a fresh start is required or there is
/// none.
fn starting_point(state: &State, task: &Task) -> (CommitId, CommitId) {
    let integrated = state.plans[task.plan].integrated.as_ref();
    let head = match &task.delegation {
        Some(delegation) => subtask::starting_point(state, task, delegation.parent),
        None => integrated.expect("a prepared plan has an integration head"),
    };
    let previous = task.last_attempt().filter(|_| !task.fresh).map(|it| &state.attempts[it]);
    let saved = previous.and_then(|it| {
        let handed_in = it.work.as_ref().map(|work| &work.commit);
        let last = || task.kept.last_of(it.id).map(|it| &it.commit);
        let commit = it.saved.as_ref().or(handed_in).or_else(last)?;
        Some((commit.clone(), it.base.clone()))
    });
    saved.unwrap_or_else(|| (head.clone(), head.clone()))
}

fn verify(state: &State) -> Option<Vec<Event>> {
    let plan = &state.plans[*state.agenda.to_verify.first()?];
    let attempt = *plan.merge_queue.front().expect("a plan to verify has work");
    let onto = plan.integrated.clone().expect("a prepared plan has an integration head");
    Some(vec![Event::VerifyAsked { attempt, onto }])
}

fn end_plan(state: &State) -> Option<Vec<Event>> {
    let plan = &state.plans[*state.agenda.to_end.first()?];
    let (done, all) = (plan.completed_count, plan.tasks.len());
    let partial = || plan.tasks.iter().any(|it| state.tasks[*it].status == TaskStatus::Partial);
    let to = if done == all {
        PlanStatus::Completed
    } else if done > 0 || partial() {
        PlanStatus::Partial
    } else {
        PlanStatus::Failed
    };
    let reason = alloc::format!("{done} of {all} tasks are completed");
    let mut events =
        vec![Event::PlanMoved { plan: plan.id, from: plan.status, to, reason, actor: ACTOR }];
    events.extend(answered(state, plan, to));
    Some(events)
}

/// If sub-tasks of a client changed nothing, their results are the answer, and no landing is open.
fn answered(state: &State, plan: &Plan, ended: PlanStatus) -> Vec<Event> {
    let (from, to) = (plan.landing, LandingStatus::Abandoned);
    let has_changed = |task: &TaskId| state.has_changed(&state.tasks[*task]);
    // After a failure a person may still want the remaining work.
    let is_done = plan.standalone.is_some() && ended == PlanStatus::Completed;
    let is_over = plan.is_answer() || is_done && !plan.tasks.iter().any(has_changed);
    if !is_over || !from.may_become(to) {
        return Vec::new();
    }
    let what = if plan.is_answer() { "only read" } else { "changed nothing" };
    let reason = alloc::format!("its sub-tasks {what}: there is nothing to land");
    let mut events = vec![Event::LandingMoved { plan: plan.id, from, to, reason, actor: ACTOR }];
    let of_plan = removable(state).filter(|it| state.tasks[it.task].plan == plan.id);
    events.extend(of_plan.map(|it| Event::RemovalAsked { attempt: it.id }));
    events
}

fn clean_plan(state: &State) -> Option<Vec<Event>> {
    let plan = *state.agenda.to_clean.first()?;
    let kept_count = removable(state).filter(|it| state.tasks[it.task].plan == plan).count();
    let (from, to) = (LandingStatus::Merged, LandingStatus::Cleaned);
    let reason = match kept_count {
        0 => "the checkouts are removed".into(),
        count => alloc::format!("{count} checkouts could not be removed; see `pitcrew gc`"),
    };
    Some(vec![Event::LandingMoved { plan, from, to, reason, actor: ACTOR }])
}

fn moved(task: &Task, to: TaskStatus, reason: Reason) -> Event {
    Event::TaskMoved { task: task.id, from: task.status, to, reason, actor: ACTOR }
}
