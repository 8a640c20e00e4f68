//! Usage, caps and grants of more.

use crate::State;
use alloc::vec::Vec;
use pitcrew_model::{BudgetScope, RequestId, RequestStatus, Spending, Usage, WorkerId};

/// Records the usage of the current or the last turn.
pub fn noted(state: &mut State, worker: WorkerId, usage: Usage) {
    let row = state.workers.row(worker);
    let reported = row.reported.at_least(usage);
    let before = core::mem::replace(&mut row.reported, reported);
    count(state, worker, before, reported);
}

/// Records the usage at the end of a turn. It is never less than what was reported before.
pub fn turn_ended(state: &mut State, worker: WorkerId, is_current: bool, usage: Usage) {
    if is_current {
        noted(state, worker, usage);
    } else {
        count(state, worker, Usage::NONE, usage);
    }
}

/// Replaces the counted usage `before` by `now`.
fn count(state: &mut State, worker: WorkerId, before: Usage, now: Usage) {
    if before == now {
        return;
    }
    let task = state.attempts[state.workers[worker].attempt].task;
    let plan = state.tasks[task].plan;
    // Usage of sub-tasks counts for all of their ancestors.
    let mut scopes: Vec<_> = state.chain(task).map(|it| BudgetScope::Task(it.id)).collect();
    scopes.push(BudgetScope::Plan(plan));
    for scope in scopes {
        let usage = &mut state.budget_mut(scope).usage;
        *usage = usage.grown(before, now);
        state.refresh_budget(scope);
    }
}

pub fn warned(state: &mut State, spending: &Spending) {
    state.budget_mut(spending.scope).warned.insert(spending.measure);
    state.refresh_budget(spending.scope);
}

pub fn asked(state: &mut State, request: RequestId, scope: BudgetScope) {
    state.budget_mut(scope).request = Some(request);
    state.refresh_budget(scope);
}

/// A grant is as large as the initial cap, counted from the current usage.
pub fn decided(state: &mut State, spending: &Spending, to: RequestStatus) {
    let Spending { scope, measure, .. } = *spending;
    let given = state.caps_given(scope).of(measure).unwrap_or_default();
    let budget = state.budget_mut(scope);
    budget.request = None;
    if to == RequestStatus::Approved {
        let used = budget.usage.of(measure);
        budget.caps.raise(measure, used, given);
        budget.warned.remove(&measure);
    }
    state.refresh_budget(scope);
}
