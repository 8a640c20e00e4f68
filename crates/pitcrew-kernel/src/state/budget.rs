//! Usage and caps of tasks and plans.

use super::{Attempt, State, Task, Worker};
use alloc::collections::BTreeSet;
use pitcrew_model::{
    BudgetScope, Caps, Measure, PlanId, PlanStatus, RequestId, Spending, TaskId, TaskStatus, Usage,
    WorkerStatus,
};

/// The state of the caps of a task or a plan.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// Little is left, without a warning so far.
    pub near: bool,
    pub over: bool,
    pub asking: CapRequest,
}

/// Whether a person is asked only when a worker would use more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapRequest {
    Fits,
    Due,
    Needless,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The usage of every turn; of open ones the reported part.
    pub usage: Usage,
    /// The current caps: the initial ones, and what a person granted since.
    pub caps: Caps,
    /// The caps with a warning.
    pub warned: BTreeSet<Measure>,
    /// The open request for more.
    pub request: Option<RequestId>,
}

impl Budget {
    pub fn new(caps: Caps) -> Self {
        Self { usage: Usage::NONE, caps, warned: BTreeSet::new(), request: None }
    }

    fn spendings(&self, scope: BudgetScope) -> impl Iterator<Item = Spending> {
        Spending::MEASURES.into_iter().filter_map(move |measure| {
            let cap = self.caps.of(measure)?;
            Some(Spending { scope, measure, used: self.usage.of(measure), cap })
        })
    }

    /// Returns the cap that is reached.
    pub fn over(&self, scope: BudgetScope) -> Option<Spending> {
        self.spendings(scope).find(Spending::is_over)
    }

    /// Returns the cap of which little is left, without a warning so far. A grant is as large as
    /// the initial cap.
    pub fn near(&self, scope: BudgetScope, given: &Caps) -> Option<Spending> {
        let is_near = |it: &Spending| given.of(it.measure).is_some_and(|given| it.is_near(given));
        let news = |it: &Spending| !it.is_over() && !self.warned.contains(&it.measure);
        self.spendings(scope).find(|it| news(it) && is_near(it))
    }
}

impl State {
    pub fn budget(&self, scope: BudgetScope) -> &Budget {
        match scope {
            BudgetScope::Task(task) => &self.tasks[task].budget,
            BudgetScope::Plan(plan) => &self.plans[plan].budget,
        }
    }

    pub fn budget_mut(&mut self, scope: BudgetScope) -> &mut Budget {
        match scope {
            BudgetScope::Task(task) => &mut self.tasks.row(task).budget,
            BudgetScope::Plan(plan) => &mut self.plans.row(plan).budget,
        }
    }

    /// Returns the initial caps of the scope.
    pub fn caps_given(&self, scope: BudgetScope) -> Caps {
        match scope {
            BudgetScope::Task(task) => self.tasks[task].spec.caps,
            BudgetScope::Plan(plan) => self.plans[plan].head.caps,
        }
    }

    /// Returns whether the task may not use more without a grant. A task without a model uses
    /// nothing.
    pub fn is_over_budget(&self, task: &Task) -> bool {
        let tasks = self.chain(task.id).map(|it| BudgetScope::Task(it.id));
        let mut scopes = tasks.chain([BudgetScope::Plan(task.plan)]);
        task.spec.vendor().is_some() && scopes.any(|it| self.budget(it).over(it).is_some())
    }

    /// Returns whether a worker would use more: a cap that stops no worker causes no request.
    pub fn wants_more(&self, scope: BudgetScope) -> bool {
        match scope {
            BudgetScope::Task(task) => {
                self.parts(task).into_iter().any(|it| self.task_wants_more(&self.tasks[it]))
            }
            BudgetScope::Plan(plan) => self.plan_runs(plan) && self.agenda.has_unfinished(plan),
        }
    }

    pub fn is_part_of(&self, task: TaskId, whole: TaskId) -> bool {
        self.chain(task).any(|it| it.id == whole)
    }

    pub fn task_wants_more(&self, task: &Task) -> bool {
        self.plan_runs(task.plan) && self.is_unfinished(task)
    }

    fn plan_runs(&self, plan: PlanId) -> bool {
        matches!(self.plans[plan].status, PlanStatus::Active | PlanStatus::Paused)
    }

    /// Returns whether it has a model and has not ended.
    pub(super) fn is_unfinished(&self, task: &Task) -> bool {
        let waits = matches!(task.status, TaskStatus::Pending | TaskStatus::Queued);
        let works = matches!(task.status, TaskStatus::Starting | TaskStatus::Running);
        let is_done = || {
            let attempt = task.last_attempt().map(|it| &self.attempts[it]);
            attempt.is_some_and(|it| it.claim.is_some())
        };
        task.spec.vendor().is_some() && (waits || works && !is_done())
    }

    /// Returns the workers that a cap stops.
    pub fn workers_in(&self, scope: BudgetScope) -> impl Iterator<Item = &Worker> {
        self.live_workers().filter(move |it| {
            let attempt: &Attempt = &self.attempts[it.attempt];
            let task = &self.tasks[attempt.task];
            let within = match scope {
                BudgetScope::Task(id) => self.is_part_of(task.id, id),
                BudgetScope::Plan(id) => task.plan == id,
            };
            within
                && attempt.is_open()
                && attempt.claim.is_none()
                && task.spec.vendor().is_some()
                && it.status == WorkerStatus::Running
        })
    }

    /// Updates who may continue after usage or caps have changed.
    pub(crate) fn refresh_budget(&mut self, scope: BudgetScope) {
        if self.refresh_caps(scope) {
            match scope {
                BudgetScope::Task(task) => {
                    for part in self.parts(task) {
                        self.refresh_task_wholly(part);
                    }
                }
                BudgetScope::Plan(plan) => self.refresh_plan_wholly(plan),
            }
        }
    }

    /// Returns whether the change affects who may continue.
    pub(crate) fn refresh_caps(&mut self, scope: BudgetScope) -> bool {
        let plan = match scope {
            BudgetScope::Task(task) => self.tasks[task].plan,
            BudgetScope::Plan(plan) => plan,
        };
        let runs = self.plan_runs(plan);
        let budget = self.budget(scope);
        let near = runs && budget.near(scope, &self.caps_given(scope)).is_some();
        let over = runs && budget.over(scope).is_some();
        let asking = match (budget.request.is_some(), self.wants_more(scope)) {
            (false, true) if over => CapRequest::Due,
            (true, false) => CapRequest::Needless,
            (true | false, true) | (false, false) => CapRequest::Fits,
        };
        self.agenda.set_caps(scope, Standing { near, over, asking })
    }
}
