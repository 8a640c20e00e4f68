//! Finds the owners of code: the longest region that contains a path, by whole components.

use crate::{
    State,
    decide::send_message,
    state::{Query, Worker},
};
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::cmp::Reverse;
use pitcrew_model::{
    Party, PlanStatus, QueryOwner, RepoPath, TaskStatus, WorkerId, WorkerStatus, WorkspaceMode,
};

/// A task whose region contains the path.
pub struct Owner {
    pub who: QueryOwner,
    /// Why it cannot be asked now.
    trouble: Option<String>,
}

impl Owner {
    pub fn to_be_asked(&self) -> Option<WorkerId> {
        match (self.who, &self.trouble) {
            (QueryOwner::Worker(worker), None) => Some(worker),
            (QueryOwner::Worker(_) | QueryOwner::Task(_), _) => None,
        }
    }

    /// Returns why it cannot be asked, without a full stop.
    pub fn why(&self) -> &str {
        self.trouble.as_deref().unwrap_or_default()
    }
}

/// Returns all owners of a path except the asker: the longest region first, then those of the
/// asker's plan, the least busy, the oldest.
pub fn of(state: &State, it: &Query, path: &str) -> Vec<Owner> {
    let asker = &state.attempts[state.workers[it.worker].attempt];
    let plan = state.tasks[asker.task].plan;
    let mut owners: Vec<_> = state
        .live_workers()
        .filter(|worker| worker.id != it.worker)
        .filter_map(|worker| {
            let task = &state.tasks[state.attempts[worker.attempt].task];
            let writes = task.workspace() != Some(WorkspaceMode::ReadOnly);
            let depth = depth(&task.spec.region, path).filter(|_| writes)?;
            let is_other = task.plan != plan;
            let place = (Reverse(depth), is_other, busy(state, worker), worker.id);
            let trouble = trouble(state, it, worker);
            Some((place, Owner { who: QueryOwner::Worker(worker.id), trouble }))
        })
        .collect();
    owners.sort_by_key(|it| it.0);
    let mut owners: Vec<Owner> = owners.into_iter().map(|it| it.1).collect();
    if owners.is_empty() {
        let gone = it.owners.last().map(|it| Owner {
            who: QueryOwner::Worker(*it),
            trouble: Some("It has ended without an answer".into()),
        });
        owners.extend(gone.or_else(|| not_working(state, it, path)));
    }
    owners
}

/// Returns how many components of the path the longest matching prefix of the region has.
fn depth(region: &[RepoPath], path: &str) -> Option<usize> {
    let holds = region.iter().filter(|it| it.contains(path));
    let components = |it: &RepoPath| it.as_str().split('/').filter(|it| !it.is_empty()).count();
    holds.map(components).max()
}

/// Returns whether it is in a turn, and how much it has to read.
fn busy(state: &State, worker: &Worker) -> (bool, usize) {
    let mailbox = state.mailbox(worker.id);
    let letters = mailbox.map_or(0, |it| it.unread_count() + it.delivered.len());
    (worker.turn.is_some(), letters)
}

fn trouble(state: &State, it: &Query, worker: &Worker) -> Option<String> {
    let attempt = &state.attempts[worker.attempt];
    let to = Party::Worker(worker.id);
    let sleeps = match worker.status {
        WorkerStatus::Paused => Some("It is paused"),
        WorkerStatus::WaitingQuota => Some("It waits for a provider limit"),
        WorkerStatus::Created
        | WorkerStatus::Starting
        | WorkerStatus::Running
        | WorkerStatus::WaitingInput
        | WorkerStatus::WaitingPermission
        | WorkerStatus::WaitingSubtasks
        | WorkerStatus::Completed
        | WorkerStatus::Failed
        | WorkerStatus::Killed => None,
    };
    if it.owners.contains(&worker.id) {
        Some("It was asked, and gave no answer".into())
    } else if send_message::can_read(state, to).is_err() {
        Some("It is done".into())
    } else if send_message::has_room(state, to).is_err() {
        Some("Its mailbox is full".into())
    } else if state.plan_of(attempt).status != PlanStatus::Active {
        Some("Its plan is paused".into())
    } else if state.is_over_budget(&state.tasks[attempt.task]) {
        Some("Its budget is used up".into())
    } else if state.is_waiting_for(worker.id, it.worker) {
        Some("It waits for you".into())
    } else {
        sleeps.map(ToString::to_string)
    }
}

/// Returns a task of a live plan whose region contains the path, but which has no worker now.
fn not_working(state: &State, it: &Query, path: &str) -> Option<Owner> {
    let own = state.attempts[state.workers[it.worker].attempt].task;
    let is_live = |status| matches!(status, PlanStatus::Active | PlanStatus::Paused);
    let plans = state.plans.iter().filter(|it| is_live(it.status));
    let tasks = plans.flat_map(|it| &it.tasks).map(|it| &state.tasks[*it]);
    let waits = |status: TaskStatus| !status.has_ended();
    let owners = tasks.filter(|it| it.id != own && waits(it.status)).filter_map(|it| {
        let depth = depth(&it.spec.region, path)?;
        Some((Reverse(depth), it.id, it.status))
    });
    let (_, task, status) = owners.min_by_key(|it| (it.0, it.1))?;
    let trouble = Some(format!("It has no worker now: it is {status}"));
    Some(Owner { who: QueryOwner::Task(task), trouble })
}
