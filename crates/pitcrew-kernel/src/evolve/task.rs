//! Tasks and their dependencies.

use super::{permission, subtask};
use crate::{
    State,
    state::{Budget, Deployer, Pull, Task},
};
use alloc::{sync::Arc, vec::Vec};
use pitcrew_model::{
    Actor, Deploy, Failure, Freshness, GrantTarget, KeptStates, PlanId, Reason, RepoPath, TaskId,
    TaskSpec, TaskStatus, Timestamp, exclusive,
};

pub fn added(state: &mut State, plan: PlanId, task: TaskId, spec: &TaskSpec, after: &[TaskId]) {
    let shared = &state.plans[plan].head.shared;
    let region: Vec<RepoPath> = exclusive(&spec.region, shared).cloned().collect();
    let region_key = state.agenda.regions.key(&region);
    let owner = state.plans.row(plan);
    owner.tasks.push(task);
    owner.open_count += 1;
    let deployed = owner.head.deploy == Deploy::Auto;
    // A task that is added later may depend on tasks that have ended.
    let ended = |it: fn(TaskStatus) -> bool| {
        after.iter().filter(|task| it(state.tasks[**task].status)).count()
    };
    let (waiting_count, blocking_count) =
        (ended(|it| it != TaskStatus::Completed), ended(blocks_others));
    let fresh = row(task, plan, spec, after);
    let profile = state.profile(&spec.agent).cloned();
    let row = Task { profile, region_key, deployed, waiting_count, blocking_count, ..fresh };
    state.tasks.push(task, row);
    for dependency in after {
        state.tasks.row(*dependency).dependents.push(task);
    }
    state.refresh_task(task);
}

/// Returns the row of a new task.
pub fn row(task: TaskId, plan: PlanId, spec: &TaskSpec, after: &[TaskId]) -> Task {
    Task {
        id: task,
        plan,
        spec: Arc::new(spec.clone()),
        profile: None,
        delegation: None,
        waits_for_snapshot: false,
        pull: Pull::None,
        failure: None,
        region_key: 0,
        denied: Vec::new(),
        depends_on: after.to_vec(),
        dependents: Vec::new(),
        status: TaskStatus::Pending,
        deployed: false,
        deployer: Deployer::Anybody,
        waiting_count: after.len(),
        blocking_count: 0,
        not_before: Timestamp(0),
        attempts: Vec::new(),
        attempts_granted: spec.attempts_max,
        attempts_spent: 0,
        interruptions_count: 0,
        fresh: false,
        kept: KeptStates::default(),
        budget: Budget::new(spec.caps),
        added_count: 0,
    }
}

pub fn moved(state: &mut State, task: TaskId, from: TaskStatus, to: TaskStatus, reason: &Reason) {
    let row = state.tasks.row(task);
    assert_eq!(row.status, from, "{task} moved from where it was not: the journal is corrupt");
    row.status = to;
    row.not_before = Timestamp(0);
    row.failure = None;
    if let Reason::Failure { failure, retry_at } = reason {
        row.not_before = retry_at.unwrap_or_default();
        row.fresh = failure.wants_fresh_start() || row.spec.work.starts_over(failure);
        if from.in_attempt() {
            count_attempt(row, failure);
        } else if row.delegation.is_some() {
            row.failure = Some(failure.clone());
        }
    }
    let region_key = row.region_key;
    match (from.in_attempt(), to.in_attempt()) {
        (false, true) => state.agenda.regions.hold(region_key),
        (true, false) => state.agenda.regions.release(region_key),
        (true, true) | (false, false) => {}
    }
    if state.tasks[task].delegation.is_some() {
        subtask::moved(state, task, from, to);
    } else {
        plan_goes_on(state, task, from, to);
    }
    state.refresh_task(task);
    if to.has_ended() {
        super::message::refresh_box(state, task);
        permission::refresh_grants(state, |it| it == GrantTarget::Task(task));
    }
}

/// Updates the counts of the plan and the tasks that depend on this one.
fn plan_goes_on(state: &mut State, task: TaskId, from: TaskStatus, to: TaskStatus) {
    let (plan, last_attempt) = (state.tasks[task].plan, state.tasks[task].last_attempt());
    let owner = state.plans.row(plan);
    if from == TaskStatus::Partial && to == TaskStatus::Integrating {
        owner.merge_queue.extend(last_attempt);
    }
    match (is_open(from), is_open(to)) {
        (false, true) => owner.open_count += 1,
        (true, false) => owner.open_count -= 1,
        (true, true) | (false, false) => {}
    }
    if to == TaskStatus::Completed {
        owner.completed_count += 1;
        owner.integrated_tasks.push(task);
    }
    state.refresh_plan(plan);
    tell_dependents(state, task, from, to);
}

fn count_attempt(task: &mut Task, failure: &Failure) {
    if task.is_free(failure) {
        task.interruptions_count += 1;
    } else {
        task.attempts_spent += 1;
    }
}

fn is_open(status: TaskStatus) -> bool {
    !status.has_ended() && status != TaskStatus::Blocked
}

fn blocks_others(status: TaskStatus) -> bool {
    status != TaskStatus::Completed && !is_open(status)
}

fn tell_dependents(state: &mut State, task: TaskId, from: TaskStatus, to: TaskStatus) {
    let blocking = (blocks_others(from), blocks_others(to));
    let completed = to == TaskStatus::Completed;
    if blocking.0 == blocking.1 && !completed {
        return;
    }
    for index in 0..state.tasks[task].dependents.len() {
        let dependent = state.tasks[task].dependents[index];
        let row = state.tasks.row(dependent);
        if completed {
            row.waiting_count -= 1;
        }
        match blocking {
            (false, true) => row.blocking_count += 1,
            (true, false) => row.blocking_count -= 1,
            (true, true) | (false, false) => {}
        }
        state.refresh_task(dependent);
    }
}

pub fn deployed(state: &mut State, task: TaskId) {
    let row = state.tasks.row(task);
    (row.deployed, row.deployer) = (true, Deployer::Anybody);
    state.refresh_task(task);
}

pub fn held(state: &mut State, task: TaskId, actor: Actor) {
    let row = state.tasks.row(task);
    (row.deployed, row.deployer) = (false, Deployer::Person);
    if let Actor::Worker(worker) = actor
        && let Some(adder) = state.task_of(worker)
    {
        state.tasks.row(adder).added_count += 1;
    }
    state.refresh_task(task);
}

pub fn retry_granted(state: &mut State, task: TaskId, freshness: Freshness) {
    let row = state.tasks.row(task);
    row.attempts_granted = row.attempts_granted.max(row.attempts_spent) + 1;
    // The changes of the next attempt have not been pulled.
    row.pull = Pull::None;
    row.denied.clear();
    (row.deployed, row.deployer) = (true, Deployer::Anybody);
    if freshness == Freshness::Fresh {
        row.fresh = true;
    }
}
