//! Limits the plans that workers save, because a person has to read them.

use super::authority;
use crate::State;
use alloc::vec::Vec;
use pitcrew_model::{Actor, Rejection, limits};

/// What a worker is about to save.
#[derive(Clone, Copy)]
pub enum Saving {
    Plan { tasks_count: usize },
    Task,
}

/// Checks the limits of the worker's task. All attempts of a task share them, and a plan still counts
/// after it has ended, so that a worker cannot fill the board and the journal.
pub fn has_room(state: &State, actor: Actor, saving: Saving) -> Result<(), Rejection> {
    let Actor::Worker(worker) = actor else { return Ok(()) };
    let saved = state.plans.iter().filter(|it| authority::has_saved(state, worker, it));
    let saved: Vec<usize> = saved.map(|it| it.tasks.len()).collect();
    let task = state.task_of(worker).and_then(|it| state.tasks.get(it));
    let count = saved.iter().sum::<usize>() + task.map_or(0, |it| it.added_count);
    let (is_plan, more) = match saving {
        Saving::Plan { tasks_count } => (true, tasks_count),
        Saving::Task => (false, 1),
    };
    let plans = saved.len();
    let is_full = is_plan && plans >= limits::PLANS_SAVED_PER_TASK_MAX
        || count + more > limits::TASKS_SAVED_PER_TASK_MAX;
    if is_full { Err(Rejection::TooManyPlans { worker, plans, count }) } else { Ok(()) }
}
