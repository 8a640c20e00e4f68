//! Invariants of the state after every step, computed naively from the facts.

mod tasks;
mod workers;
mod budgets;
mod family;
mod mail;
mod queries;

use crate::{broken::hold, world::World};
use pitcrew_kernel::{BaseCheck, Process, State, Worker, next_due};
use pitcrew_model::{
    PlanId, PlanStatus, RequestKind, RequestStatus, TaskStatus, WorkerStatus, limits as bounds,
};

pub fn slots_used(state: &State) -> u32 {
    count(state.workers.iter().filter(|it| takes_slot(it)))
}

fn takes_slot(it: &Worker) -> bool {
    matches!(it.status, WorkerStatus::Created | WorkerStatus::Starting | WorkerStatus::Running)
}

pub fn processes(state: &State) -> u32 {
    let counts = |it: &&Worker| {
        it.status == WorkerStatus::Created
            || matches!(it.process, Process::Alive | Process::Stopping)
    };
    count(state.workers.iter().filter(counts))
}

fn count<T>(items: impl Iterator<Item = T>) -> u32 {
    u32::try_from(items.count()).expect("a small number")
}

pub fn check(world: &World) {
    let state = world.state();
    let open = world.ledger.open.keys();
    hold!(open.eq(state.effects.iter()), "the state knows what is open", "{:?}", state.effects);
    check_limits(world, state);
    for task in state.tasks.iter() {
        tasks::check(world, task);
    }
    for attempt in state.attempts.iter() {
        tasks::check_attempt(world, attempt);
    }
    for worker in state.workers.iter() {
        workers::check(world, worker);
        family::check(world, worker);
    }
    check_requests(state);
    family::check_asked(world);
    check_quotas(world, state);
    budgets::check(world);
    mail::check(world);
    queries::check(world);
    check_plans(world, state);
}

/// Whether another worker of the plan may have a slot.
pub fn has_slot(state: &State, plan: PlanId) -> bool {
    let max = state.plans[plan].head.agents_max;
    slots_used(state) < state.agents_max && max.is_none_or(|it| slots_of(state, plan) < it)
}

fn slots_of(state: &State, plan: PlanId) -> u32 {
    let is_of_plan = |it: &&Worker| state.plan_of(&state.attempts[it.attempt]).id == plan;
    count(state.workers.iter().filter(|it| takes_slot(it)).filter(is_of_plan))
}

fn check_limits(world: &World, state: &State) {
    let ledger = &world.ledger;
    let limits = (state.agents_max, state.agents_live_max);
    let stored = (ledger.agents_max, ledger.agents_live_max);
    hold!(limits == stored, "the limits are those that were set", "{limits:?}, not {stored:?}");
    let (slots, counted) = (slots_used(state), state.agenda.slots_used);
    hold!(slots == counted, "slots are counted", "{slots}, not {counted}");
    let most = state.agents_max.max(world.slots_before);
    hold!(slots <= most, "no more workers run than may", "{slots} of {most}");
    for plan in state.plans.iter() {
        let (slots, counted) = (slots_of(state, plan.id), state.agenda.slots_of(plan.id));
        hold!(slots == counted, "the slots of a plan are counted", "{slots}, not {counted}");
        let within = plan.head.agents_max.is_none_or(|it| slots <= it);
        hold!(within, "no plan uses more slots than it may", "{}: {slots}", plan.id);
    }
    let (processes, counted) = (processes(state), state.agenda.processes_count);
    hold!(processes == counted, "processes are counted", "{processes}, not {counted}");
    let most = state.agents_live_max.max(world.processes_before);
    // If all of them wait for their sub-tasks, one more may start.
    let most = most.max(family::parents(state) + 1);
    hold!(processes <= most, "no more processes live than may", "{processes} of {most}");
}

fn check_quotas(world: &World, state: &State) {
    let known = state.quotas.iter().filter_map(|it| Some((it.0, it.1.until?)));
    let held = world.ledger.held.iter().map(|it| (it.0, *it.1));
    hold!(known.eq(held), "the state knows which backends are held", "{:?}", state.quotas);
    for (backend, until) in &world.ledger.held {
        let probe = world.ledger.probes.get(backend).map(|it| it.1.plus(bounds::PROBE_MS_MAX));
        let until = &probe.unwrap_or(*until);
        let waits = *until > world.settled_at && next_due(state) <= Some(*until);
        hold!(waits, "what is due later is not forgotten", "{backend} until {until}");
    }
}

fn check_requests(state: &State) {
    for request in state.requests.iter().filter(|it| it.status.is_open()) {
        let stands = matches!(request.status, RequestStatus::AtUser | RequestStatus::AtParent);
        hold!(stands, "a request stands where somebody decides", "{}", request.id);
        let asked = match request.worker {
            Some(worker) => {
                let worker = &state.workers[worker];
                worker.requests.contains(&request.id)
                    && state.attempts[worker.attempt].is_open()
                    && worker.process == Process::Alive
            }
            None => match &request.kind {
                RequestKind::Budget(it) => state.budget(it.scope).request == Some(request.id),
                RequestKind::PlanExecution
                | RequestKind::BranchMerge
                | RequestKind::ToolUse { .. }
                | RequestKind::Question { .. } => {
                    state.plans[request.plan].request == Some(request.id)
                }
            },
        };
        hold!(asked, "no request is without need", "{}", request.id);
    }
}

fn check_plans(world: &World, state: &State) {
    for plan in state.plans.iter() {
        let tasks = || plan.tasks.iter().map(|it| &state.tasks[*it]);
        let completed = tasks().filter(|it| it.status == TaskStatus::Completed).count();
        let counted = plan.completed_count;
        hold!(completed == counted, "completed tasks are counted", "{}", plan.id);
        if let Some(merging) = plan.merging {
            let open = state.effects.contains(&merging);
            hold!(open, "work that is verified is under way", "{}", plan.id);
        } else if plan.base_check == BaseCheck::Done {
            let idle = plan.merge_queue.is_empty();
            hold!(idle, "collected work is verified", "{} has work and verifies none", plan.id);
        }
        let is_known = plan.base_check != BaseCheck::Unknown;
        hold!(
            is_known || plan.status != PlanStatus::Active,
            "what was cut short is done again",
            "{}",
            plan.id
        );
        let rests = |it: TaskStatus| it.has_ended() || it == TaskStatus::Blocked;
        if matches!(plan.status, PlanStatus::Completed | PlanStatus::Partial | PlanStatus::Failed) {
            let going = tasks().find(|it| !rests(it.status));
            hold!(
                going.is_none(),
                "a plan ends with its last task",
                "{} is {}",
                plan.id,
                plan.status
            );
        }
        if plan.status == PlanStatus::Completed {
            let all = completed == plan.tasks.len();
            hold!(all, "a completed plan has completed tasks", "{}", plan.id);
        }
        if plan.status == PlanStatus::Cancelled {
            let settled = |it: TaskStatus| it.has_ended() || it == TaskStatus::Integrating;
            let going = tasks().find(|it| !settled(it.status));
            hold!(going.is_none(), "cancelling cancels everything below", "{}", plan.id);
        }
        let removes = world.ledger.open.values().flatten();
        let removals = removes.filter(|it| state.tasks[state.attempts[**it].task].plan == plan.id);
        let counted = plan.removals_count;
        hold!(removals.count() == counted, "removals are counted", "{}", plan.id);
    }
}
