//! The cost of a plan is the sum of its turns, and no worker continues over a cap.

use crate::{broken::hold, world::World};
use pitcrew_kernel::{Process, Task};
use pitcrew_model::{BudgetScope, PlanStatus, TaskStatus, Usage, WorkerStatus};

pub fn check(world: &World) {
    let state = world.state();
    for plan in state.plans.iter() {
        let tasks = plan.tasks.iter().map(|it| state.tasks[*it].budget.usage);
        let sum = tasks.fold(Usage::NONE, Usage::plus);
        let used = plan.budget.usage;
        hold!(used == sum, "a plan costs what its tasks do", "{}: {used:?}, not {sum:?}", plan.id);
        check_scope(
            world,
            BudgetScope::Plan(plan.id),
            &state.tasks.iter().filter(|it| it.plan == plan.id).collect::<Vec<_>>(),
        );
    }
    for task in state.tasks.iter() {
        let parts = state.tasks.iter().filter(|it| world.ledger.chain(it.id).contains(&task.id));
        check_scope(world, BudgetScope::Task(task.id), &parts.collect::<Vec<_>>());
    }
    for worker in state.workers.iter().filter(|it| it.status == WorkerStatus::Running) {
        let attempt = &state.attempts[worker.attempt];
        let works =
            attempt.is_open() && attempt.claim.is_none() && worker.process == Process::Alive;
        let over = world.ledger.is_over(attempt.task);
        hold!(!(works && over), "no worker continues over a cap", "{}", worker.id);
    }
}

/// The state has the same counts as the ledger, and a stopped worker has an open request.
fn check_scope(world: &World, scope: BudgetScope, tasks: &[&Task]) {
    let state = world.state();
    let (known, counted) = (state.budget(scope), world.ledger.budget(scope));
    let (used, reported) = (known.usage, counted.usage);
    hold!(used == reported, "usage is counted", "{scope}: {used:?}, not {reported:?}");
    hold!(known.caps == counted.caps, "a cap is what was granted", "{scope}: {:?}", known.caps);
    let waits = |it: &&Task| {
        let plan = state.plans[it.plan].status;
        let runs = matches!(plan, PlanStatus::Active | PlanStatus::Paused);
        let attempt = it.last_attempt().map(|it| &state.attempts[it]);
        let done = it.status.in_attempt() && attempt.is_some_and(|it| it.claim.is_some());
        let goes_on = matches!(
            it.status,
            TaskStatus::Pending | TaskStatus::Queued | TaskStatus::Starting | TaskStatus::Running
        );
        runs && goes_on && !done && it.spec.vendor().is_some()
    };
    let stops = counted.is_over() && tasks.iter().any(waits);
    let asked = known.request.is_some();
    hold!(stops == asked, "a worker at a cap has a request", "{scope}: {asked}");
}
