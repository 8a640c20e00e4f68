//! What must hold after every step, computed the slow way from the facts.

use crate::world::World;
use pitcrew_kernel::{Attempt, Comeback, Process, State, Task, Worker, next_due};
use pitcrew_model::{
    AttemptId, Effect, Entry, Event, Input, LandingStatus, Outcome, Overlap, PlanStatus,
    RequestKind, RequestStatus, TaskStatus, Timestamp, TurnCause, WorkerStatus, overlap,
};

pub fn slots_used(state: &State) -> u32 {
    let takes = |it: &&Worker| {
        matches!(it.status, WorkerStatus::Created | WorkerStatus::Starting | WorkerStatus::Running)
    };
    count(state.workers.iter().filter(takes))
}

fn processes(state: &State) -> u32 {
    let counts = |it: &&Worker| {
        it.status == WorkerStatus::Created
            || matches!(it.process, Process::Alive | Process::Stopping)
    };
    count(state.workers.iter().filter(counts))
}

fn count<T>(items: impl Iterator<Item = T>) -> u32 {
    u32::try_from(items.count()).expect("a small number")
}

/// One event and the effect it asked for, before the effect is in the outbox.
pub fn check_entry(world: &World, entry: &Entry, effect: Option<&Effect>) {
    let state = &world.state;
    if let Event::AttemptOpened { task, attempt, .. } = &entry.event {
        for dependency in &state.tasks[*task].depends_on {
            let status = state.tasks[*dependency].status;
            assert_eq!(status, TaskStatus::Completed, "{task} started before {dependency}");
        }
        check_start(state, *attempt);
    }
    if let Event::DropAsked { attempt } = &entry.event {
        let it = &state.attempts[*attempt];
        let task = &state.tasks[it.task];
        let landed = task.status == TaskStatus::Completed
            && state.plans[task.plan].landing == LandingStatus::Cleaned;
        assert!(it.put_away && (landed || it.abandoned_at.is_some()), "{attempt} is dropped");
    }
    if let Event::RemovalAsked { attempt } = &entry.event {
        let it = &state.attempts[*attempt];
        assert!(it.put_away, "{attempt} is removed before its work is saved");
        let process = state.workers[it.worker].process;
        let lives = matches!(process, Process::Alive | Process::Stopping);
        assert!(!lives, "{attempt} is removed under its process");
    }
    if let Event::IntegrateAsked { attempt } = &entry.event {
        let it = &state.attempts[*attempt];
        assert_eq!(
            state.tasks[it.task].last_attempt(),
            Some(*attempt),
            "an old attempt integrates"
        );
        let stands =
            it.is_open() || matches!(it.outcome, Some(Outcome::Success | Outcome::Partial));
        assert!(stands, "{attempt} ended as {:?} and is integrated", it.outcome);
    }
    if let Event::PlanMoved {
        plan,
        from: PlanStatus::AwaitingApproval,
        to: PlanStatus::Active,
        ..
    } = &entry.event
    {
        let requests = state.requests.iter().filter(|it| it.plan == *plan);
        let mut asked = requests.filter(|it| it.kind == RequestKind::PlanExecution);
        assert!(asked.all(|it| it.status == RequestStatus::Approved), "{plan} runs unapproved");
    }
    if let Event::TurnOpened { worker, cause } = &entry.event {
        let first = state.workers[*worker].turns_count == 1;
        assert_eq!(first, *cause == TurnCause::Start, "{worker} is told its task first and once");
    }
    if let Some(Effect::Snapshot { attempt, .. }) = effect {
        let again =
            |it: &Effect| matches!(it, Effect::Snapshot { attempt: other, .. } if other == attempt);
        assert!(!world.outbox.values().any(again), "{attempt} is snapshotted twice at a time");
        assert!(state.attempts[*attempt].is_open(), "{attempt} is over and snapshotted");
    }
    if let Some(Effect::Prompt { worker, .. }) = effect {
        let attempt = state.workers[*worker].attempt;
        let kept = state.attempts[attempt].snapshot.is_none();
        assert!(kept, "{worker} is prompted before the end of its last turn is kept");
        let again =
            |it: &Effect| matches!(it, Effect::Prompt { worker: other, .. } if other == worker);
        assert!(!world.outbox.values().any(again), "{worker} is prompted twice");
    }
}

/// What it must not run beside: an attempt of the same task, and what works on the same files.
fn check_start(state: &State, attempt: AttemptId) {
    let task = &state.tasks[state.attempts[attempt].task];
    for before in task.attempts.iter().filter(|it| **it < attempt) {
        assert!(state.attempts[*before].put_away, "{attempt} started before {before} was saved");
    }
    let exclusive = state.plans[task.plan].head.overlap == Overlap::Wait;
    let earlier = |it: &&Task| it.last_attempt().is_some_and(|it| it < attempt);
    for other in state.tasks.iter().filter(|it| it.status.in_attempt()).filter(earlier) {
        let beside = exclusive && overlap(&task.spec.region, &other.spec.region);
        assert!(!beside, "{} started beside {}", task.id, other.id);
    }
}

pub fn check(world: &World, slots_before: u32, input: &Input) {
    let state = &world.state;
    let open: Vec<_> = world.outbox.keys().copied().collect();
    assert_eq!(open, state.effects.iter().copied().collect::<Vec<_>>(), "{input:?}");
    let slots = slots_used(state);
    assert_eq!(slots, state.agenda.slots_used, "slots are miscounted: {input:?}");
    assert!(slots <= state.agents_max.max(slots_before), "{slots} slots: {input:?}");
    assert_eq!(processes(state), state.agenda.processes_count, "{input:?}");
    assert!(processes(state) <= state.agents_live_max, "too many processes: {input:?}");
    for task in state.tasks.iter() {
        check_task(state, task, world.now);
    }
    for attempt in state.attempts.iter() {
        check_attempt(world, attempt, input);
    }
    for worker in state.workers.iter() {
        check_worker(state, worker);
    }
    for request in state.requests.iter().filter(|it| it.status == RequestStatus::AtUser) {
        let asked_by_nobody = match request.worker {
            Some(worker) => {
                !state.workers[worker].requests.contains(&request.id)
                    || !state.attempts[state.workers[worker].attempt].is_open()
                    || state.workers[worker].process != Process::Alive
            }
            None => state.plans[request.plan].request != Some(request.id),
        };
        assert!(!asked_by_nobody, "{} waits for nobody's sake: {input:?}", request.id);
    }
    check_plans(world);
}

fn check_plans(world: &World) {
    let state = &world.state;
    for plan in state.plans.iter() {
        let tasks = || plan.tasks.iter().map(|it| &state.tasks[*it]);
        let completed = tasks().filter(|it| it.status == TaskStatus::Completed).count();
        assert_eq!(completed, plan.completed_count, "{}", plan.id);
        if let Some(merging) = plan.merging {
            assert!(state.effects.contains(&merging), "{} waits for no effect", plan.id);
        } else if !plan.checking_base {
            assert!(plan.merge_queue.is_empty(), "{} has work and verifies none", plan.id);
        }
        if plan.status == PlanStatus::Failed || plan.status == PlanStatus::Partial {
            let running = tasks().find(|it| it.status.in_attempt());
            assert!(running.is_none(), "{} is {} under a running task", plan.id, plan.status);
        }
        let removals = world.outbox.values().filter(|it| {
            matches!(it, Effect::RemoveCheckout { attempt, .. }
                if state.tasks[state.attempts[*attempt].task].plan == plan.id)
        });
        assert_eq!(removals.count(), plan.removals_count, "{}", plan.id);
    }
}

/// No task waits that could go on.
fn check_task(state: &State, task: &Task, now: Timestamp) {
    let plan = &state.plans[task.plan];
    let runs = plan.status == PlanStatus::Active && plan.base.is_some();
    let statuses = || task.depends_on.iter().map(|it| state.tasks[*it].status);
    let ended = |it: TaskStatus| it.has_ended() || it == TaskStatus::Blocked;
    let blocked = statuses().any(|it| it != TaskStatus::Completed && ended(it));
    let ready = statuses().all(|it| it == TaskStatus::Completed);
    let put_away = task.last_attempt().is_none_or(|it| state.attempts[it].put_away);
    match task.status {
        TaskStatus::Pending => {
            assert!(!blocked, "{} can never start and is not blocked", task.id);
            if runs && ready && task.deployed && put_away {
                assert!(task.not_before > now, "{} is ready and not queued", task.id);
                assert!(next_due(state) <= Some(task.not_before), "{} is forgotten", task.id);
            }
        }
        TaskStatus::Blocked => assert!(blocked, "{} is blocked by nothing", task.id),
        TaskStatus::Queued if runs => {
            let free = slots_used(state) < state.agents_max
                && processes(state) < state.agents_live_max
                && (plan.head.overlap == Overlap::Allow || !region_is_held(state, task));
            assert!(!free, "{} waits beside a free slot", task.id);
        }
        TaskStatus::Starting | TaskStatus::Running | TaskStatus::Verifying => {
            let attempt = task.last_attempt().map(|it| &state.attempts[it]);
            assert!(attempt.is_some_and(Attempt::is_open), "{} has no open attempt", task.id);
        }
        TaskStatus::Queued
        | TaskStatus::Integrating
        | TaskStatus::Completed
        | TaskStatus::Partial
        | TaskStatus::Failed
        | TaskStatus::Cancelled => {}
    }
}

fn region_is_held(state: &State, task: &Task) -> bool {
    let holders = state.tasks.iter().filter(|it| it.status.in_attempt());
    holders.into_iter().any(|it| overlap(&it.spec.region, &task.spec.region))
}

/// Every attempt that is not done with has something under way that will take it further.
fn check_attempt(world: &World, attempt: &Attempt, input: &Input) {
    let state = &world.state;
    let task = &state.tasks[attempt.task];
    let worker = &state.workers[attempt.worker];
    if attempt.is_open() {
        assert!(task.status.in_attempt(), "{} is open, {} {}", attempt.id, task.id, task.status);
        assert_eq!(task.last_attempt(), Some(attempt.id), "an older attempt is open");
        let queued = state.plans[task.plan].merge_queue.contains(&attempt.id);
        let moves = is_under_way(world, attempt.id) || queued || waits_for_somebody(state, worker);
        assert!(moves, "{} of {} ({}) is stuck: {input:?}", attempt.id, task.id, worker.status);
    } else {
        assert!(worker.status.has_ended(), "{} outlives {}", worker.id, attempt.id);
        let moves = attempt.put_away || is_under_way(world, attempt.id);
        assert!(moves, "{} is never put away: {input:?}", attempt.id);
    }
}

fn is_under_way(world: &World, attempt: AttemptId) -> bool {
    let it = &world.state.attempts[attempt];
    let waits_for = it.step.into_iter().chain(it.snapshot.filter(|_| it.is_open()));
    waits_for.into_iter().any(|it| world.outbox.contains_key(&it))
}

fn waits_for_somebody(state: &State, worker: &Worker) -> bool {
    let paused = state.plan_of(&state.attempts[worker.attempt]).status == PlanStatus::Paused;
    worker.status.is_parked()
        && worker.process == Process::Alive
        && (paused || !worker.requests.is_empty() || !worker.comebacks.is_empty())
}

/// No worker waits that could go on.
fn check_worker(state: &State, worker: &Worker) {
    let attempt = &state.attempts[worker.attempt];
    if !attempt.is_open() || worker.process != Process::Alive {
        return;
    }
    let decided = worker.comebacks.iter().any(|it| matches!(it, Comeback::Permission { .. }));
    let rests = worker.turn.is_none() && attempt.snapshot.is_none();
    let can_go_on = decided && worker.turn.is_some() || rests && !worker.comebacks.is_empty();
    if worker.turn.is_some() && attempt.snapshot.is_none() {
        let due = attempt.snapshot_due.expect("a snapshot of a turn that goes on is due");
        assert!(next_due(state) <= Some(due), "the snapshot of {} is forgotten", attempt.id);
    }
    if worker.status == WorkerStatus::Running {
        let moves = worker.turn.is_some() || attempt.snapshot.is_some();
        assert!(moves, "{} runs without a turn", worker.id);
        assert!(!decided, "{} is not told what was decided", worker.id);
    } else if worker.status.is_parked() && can_go_on {
        let plan = state.plan_of(attempt);
        let free = slots_used(state) < state.agents_max && plan.status == PlanStatus::Active;
        assert!(!free, "{} waits beside a free slot", worker.id);
    }
}
