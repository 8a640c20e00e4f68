//! Caps: a warning when little is left, and a request to a person at the cap. Everything that would
//! use more waits.

use super::ACTOR;
use crate::State;
use alloc::{vec, vec::Vec};
use pitcrew_model::{BudgetScope, Event, RequestKind, RequestStatus, WorkerStatus};

pub fn warn(state: &State) -> Option<Vec<Event>> {
    let scope = *state.agenda.near_caps.first()?;
    let near = state
        .budget(scope)
        .near(scope, &state.caps_given(scope))
        .expect("little is left of a cap that is near");
    Some(vec![Event::BudgetWarned(near)])
}

/// Interrupts the running turns, and asks a person once for all of them.
pub fn stop(state: &State) -> Option<Vec<Event>> {
    let scope = *state.agenda.caps_to_ask.first()?;
    let spending = state.budget(scope).over(scope).expect("a cap that is over is reached");
    let mut events = Vec::new();
    for worker in state.workers_in(scope) {
        let (from, to) = (worker.status, WorkerStatus::WaitingPermission);
        let reason = alloc::format!("{spending}");
        events.push(Event::WorkerMoved { worker: worker.id, from, to, reason });
        if worker.turn.is_some() {
            events.push(Event::InterruptAsked { worker: worker.id });
        }
    }
    let (plan, task) = match scope {
        BudgetScope::Task(task) => (state.tasks[task].plan, Some(task)),
        BudgetScope::Plan(plan) => (plan, None),
    };
    let (request, kind) = (state.requests.next_id(), RequestKind::Budget(spending));
    events.push(Event::RequestOpened { request, plan, task, worker: None, kind });
    Some(events)
}

/// Withdraws a request that no longer stops anything.
pub fn withdraw(state: &State) -> Option<Vec<Event>> {
    let scope = *state.agenda.caps_to_withdraw.first()?;
    let request = state.budget(scope).request.expect("a cap that is asked about has a request");
    let (from, to) = (state.requests[request].status, RequestStatus::Withdrawn);
    Some(vec![Event::RequestMoved { request, from, to, text: None, actor: ACTOR }])
}
