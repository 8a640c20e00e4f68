//! The usage of turns, attempts, tasks and plans, and of their caps.

use super::facts::{Board, Plan, Task};
use pitcrew_model::{
    BudgetScope, Caps, EffectId, EffectResult, PlanId, RequestStatus, Spending, TaskId, Usage,
    WorkerId,
};
use std::collections::BTreeMap;

impl Board {
    pub(super) fn limit(&mut self, scope: BudgetScope, caps: Caps) {
        if !caps.is_none() {
            self.caps.insert(scope, caps);
        }
    }

    /// Records the usage of the current or the last turn.
    pub(super) fn note_usage(&mut self, worker: WorkerId, usage: Usage) {
        let Some((_, told)) = self.turns.get_mut(&worker) else { return };
        let before = *told;
        *told = before.at_least(usage);
        let now = *told;
        self.edit_attempt_of(worker, |it| it.usage = it.usage.grown(before, now));
    }

    /// Records the end of a turn. Its usage never shrinks.
    pub(super) fn end_turn(&mut self, effect: EffectId, result: &EffectResult) {
        let (worker, usage) = if let EffectResult::TurnEnded { worker, usage, .. } = result {
            (*worker, *usage)
        } else if let EffectResult::AttemptFailed { attempt, .. } = result {
            let Some(attempt) = self.attempts.get(attempt) else { return };
            (attempt.worker, Usage::NONE)
        } else {
            return;
        };
        if self.turns.get(&worker).is_some_and(|it| it.0 == effect) {
            self.note_usage(worker, usage);
        } else {
            self.edit_attempt_of(worker, |it| it.usage = it.usage.plus(usage));
        }
    }

    pub(super) fn decide_cap(&mut self, spending: &Spending, to: RequestStatus) {
        let Spending { scope, measure, .. } = *spending;
        self.caps_asked.remove(&scope);
        let used = self.usage_in(scope).of(measure);
        let given = self.caps_given(scope).and_then(|it| it.of(measure)).unwrap_or_default();
        if let Some(caps) = self.caps.get_mut(&scope)
            && to == RequestStatus::Approved
        {
            caps.raise(measure, used, given);
        }
    }

    fn caps_given(&self, scope: BudgetScope) -> Option<Caps> {
        match scope {
            BudgetScope::Task(task) => self.tasks.get(&task).map(|it| it.spec.caps),
            BudgetScope::Plan(plan) => self.plans.get(&plan).map(|it| it.head.caps),
        }
    }

    fn usage_in(&self, scope: BudgetScope) -> Usage {
        match scope {
            BudgetScope::Task(task) => self.tasks.get(&task).map(|it| self.usage_below(it)),
            BudgetScope::Plan(plan) => self.plans.get(&plan).map(|it| self.usage_of_plan(it)),
        }
        .unwrap_or(Usage::NONE)
    }

    pub(super) fn usage_of(&self, task: &Task) -> Usage {
        let attempts = task.attempts.iter().filter_map(|it| self.attempts.get(it));
        attempts.fold(Usage::NONE, |total, it| total.plus(it.usage))
    }

    fn usage_of_plan(&self, plan: &Plan) -> Usage {
        let tasks = plan.tasks.iter().filter_map(|it| self.tasks.get(it));
        tasks.fold(Usage::NONE, |total, it| total.plus(self.usage_below(it)))
    }

    /// Returns the usage of a task, including its sub-tasks.
    pub(super) fn usage_below(&self, task: &Task) -> Usage {
        let parts = task.subtasks.iter().filter_map(|it| self.tasks.get(it));
        parts.fold(self.usage_of(task), |total, it| total.plus(self.usage_below(it)))
    }

    /// Returns the usage by backend, without those that used nothing.
    pub(super) fn usage_by_vendor(&self, plan: &Plan) -> BTreeMap<String, Usage> {
        let mut vendors: BTreeMap<String, Usage> = BTreeMap::new();
        for task in self.units(&plan.tasks) {
            let usage = self.usage_of(task);
            let Some(backend) = task.spec.agent.backend.as_ref() else { continue };
            if usage != Usage::NONE {
                let sum = vendors.entry(backend.clone()).or_default();
                *sum = sum.plus(usage);
            }
        }
        vendors
    }

    /// Returns tasks with their descendants, parents first.
    pub(super) fn units<'a>(&'a self, tasks: &'a [TaskId]) -> Vec<&'a Task> {
        let mut units = Vec::new();
        for task in tasks.iter().filter_map(|it| self.tasks.get(it)) {
            units.push(task);
            units.extend(self.units(&task.subtasks));
        }
        units
    }

    /// Returns the usage of each cap.
    pub(super) fn spendings(&self, scope: BudgetScope) -> Vec<Spending> {
        let Some(caps) = self.caps.get(&scope) else { return Vec::new() };
        let usage = self.usage_in(scope);
        let spending = |measure| {
            Some(Spending { scope, measure, used: usage.of(measure), cap: caps.of(measure)? })
        };
        Spending::MEASURES.into_iter().filter_map(spending).collect()
    }

    /// Describes the cap that a person is asked about.
    pub(super) fn cap_reached(&self, task: TaskId, plan: PlanId) -> Option<String> {
        let scopes = [BudgetScope::Task(task), BudgetScope::Plan(plan)];
        let asked = scopes.iter().find_map(|it| self.caps_asked.get(it))?;
        let spending = self.asked(*asked)?.budget?;
        Some(format!("{spending}; may it use more? {asked}"))
    }
}
