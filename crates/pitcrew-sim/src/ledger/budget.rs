//! Usage, counted naively: every turn once, with the highest report.

use super::{Budget, Ledger, place};
use crate::broken::hold;
use pitcrew_model::{
    BudgetScope, EffectId, Measure, RequestStatus, Spending, TaskId, Usage, WorkerId,
};

impl Ledger {
    pub fn budget(&self, scope: BudgetScope) -> &Budget {
        match scope {
            BudgetScope::Task(task) => &self.tasks[place(task.0)].budget,
            BudgetScope::Plan(plan) => &self.plans[place(plan.0)].budget,
        }
    }

    fn budget_mut(&mut self, scope: BudgetScope) -> &mut Budget {
        match scope {
            BudgetScope::Task(task) => &mut self.task(task).budget,
            BudgetScope::Plan(plan) => &mut self.plan(plan).budget,
        }
    }

    /// Returns whether the task or its plan has reached a cap.
    pub fn is_over(&self, task: TaskId) -> bool {
        let row = &self.tasks[place(task.0)];
        let plan = &self.plans[place(row.plan.0)];
        let mut chain = self.chain(task).into_iter();
        let over = chain.any(|it| self.tasks[place(it.0)].budget.is_over());
        row.vendor.is_some() && (over || plan.budget.is_over())
    }

    pub(super) fn usage_noted(&mut self, worker: WorkerId, usage: Usage) {
        let row = self.worker(worker);
        let before = row.reported;
        row.reported = usage;
        hold!(row.turns_count > 0, "only turns use anything", "{worker}");
        let grows = before != usage && before.at_least(usage) == usage;
        hold!(grows, "usage only grows", "{worker}: {before:?}, then {usage:?}");
        self.count(worker, before, usage);
    }

    /// Counts a turn, however it ended.
    pub(super) fn turn_used(&mut self, id: EffectId, worker: WorkerId, usage: Usage) {
        let row = self.worker(worker);
        let mut reported = Usage::NONE;
        let mut now = usage;
        if row.turn == Some(id) {
            reported = row.reported;
            now = reported.at_least(usage);
            row.reported = now;
        }
        self.count(worker, reported, now);
    }

    fn count(&mut self, worker: WorkerId, before: Usage, now: Usage) {
        let task = self.attempt_of(worker).task;
        let plan = self.task(task).plan;
        let tasks = self.chain(task).into_iter().map(BudgetScope::Task);
        for scope in tasks.chain([BudgetScope::Plan(plan)]) {
            let usage = &mut self.budget_mut(scope).usage;
            *usage = usage.grown(before, now);
        }
    }

    /// Checks the numbers of a cap.
    fn check_spending(&self, spending: &Spending) {
        let budget = self.budget(spending.scope);
        let used = match spending.measure {
            Measure::Tokens => budget.usage.tokens_in.saturating_add(budget.usage.tokens_out),
            Measure::Cost => budget.usage.cost_micros,
        };
        let cap = budget.caps.of(spending.measure);
        let is_true = spending.used == used && Some(spending.cap) == cap;
        hold!(is_true, "what is used is counted", "{spending:?}, not {used} of {cap:?}");
    }

    pub(super) fn budget_warned(&mut self, spending: &Spending) {
        self.check_spending(spending);
        let given = self.budget(spending.scope).given.of(spending.measure).unwrap_or_default();
        let left = u128::from(spending.cap) - u128::from(spending.used.min(spending.cap));
        let near = !spending.is_over() && left * 5 <= u128::from(given);
        hold!(near, "a warning comes at the last fifth of what was given", "{spending:?}");
        let mark = (spending.measure, spending.cap);
        let warned = &mut self.budget_mut(spending.scope).warned;
        hold!(!warned.contains(&mark), "a warning comes once", "{spending:?}");
        warned.push(mark);
        self.caps_warned += 1;
    }

    pub(super) fn budget_asked(&mut self, spending: &Spending) {
        self.check_spending(spending);
        hold!(spending.is_over(), "a cap is asked about when it is reached", "{spending:?}");
        let same = |it: &&super::Request| it.budget.is_some_and(|it| it.scope == spending.scope);
        let mut open = self.requests.iter().filter(|it| it.status == RequestStatus::AtUser);
        hold!(!open.any(|it| same(&it)), "a cap is asked about once", "{spending:?}");
        self.caps_reached += 1;
    }

    pub(super) fn budget_decided(&mut self, spending: &Spending, to: RequestStatus) {
        let Spending { scope, measure, .. } = *spending;
        let budget = self.budget_mut(scope);
        budget.denied |= to == RequestStatus::Denied;
        if to == RequestStatus::Approved {
            let given = budget.given.of(measure).unwrap_or_default();
            let used = budget.usage.of(measure);
            let cap = budget.caps.of(measure).unwrap_or_default();
            let wanted = used.max(cap).saturating_add(given);
            match measure {
                Measure::Tokens => budget.caps.tokens = Some(wanted),
                Measure::Cost => budget.caps.cost_micros = Some(wanted),
            }
            self.caps_raised += 1;
        }
    }
}
