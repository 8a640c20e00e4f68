//! No message is forgotten, and no worker waits for an answer that will not come.

use super::has_slot;
use crate::{broken::hold, world::World};
use pitcrew_kernel::{Process, State, Worker, next_due};
use pitcrew_model::{MessageStatus, PlanStatus, WorkerId, WorkerStatus};
use std::collections::BTreeSet;

pub fn check(world: &World) {
    let state = world.state();
    for (letter, number) in world.ledger.mail.letters.iter().zip(1_u64..) {
        let id = pitcrew_model::MessageId(number);
        if letter.status.has_ended() && state.mail.posted.is_gone(id) {
            continue;
        }
        let known = &state.mail.posted[id];
        let same = known.status == letter.status && known.reader == letter.reader;
        hold!(same, "the state knows where each message is", "message-{number}");
        if letter.status.has_ended() {
            continue;
        }
        let task = &state.tasks[letter.task.expect("only workers keep a message")];
        let open = !task.status.has_ended();
        hold!(open, "an ended task has no mail", "message-{number} of {}", task.id);
        if letter.status == MessageStatus::Delivered {
            let reader = &state.workers[letter.reader.expect("somebody reads it")];
            let reads = reader.turn.is_some() && !reader.status.has_ended();
            hold!(reads, "what is delivered is being read", "message-{number} by {}", reader.id);
        }
    }
    for asker in state.mail.asking.keys() {
        let worker = &state.workers[*asker];
        hold!(!worker.status.has_ended(), "only the living wait for answers", "{asker}");
        for (question, _) in state.waits_for(*asker) {
            let open = !state.mail.posted[question].status.has_ended();
            hold!(open, "a question that is waited for is answered", "{question} of {asker}");
        }
        hold!(!waits_for_itself(state, *asker), "no wait cycle lasts", "{asker}");
    }
    for asker in state.queries.askers.keys() {
        hold!(!waits_for_itself(state, *asker), "no wait cycle lasts", "{asker}");
    }
    for worker in state.workers.iter() {
        check_worker(world, worker);
    }
}

fn waits_for_itself(state: &State, worker: WorkerId) -> bool {
    let mut seen = BTreeSet::new();
    let mut next: Vec<WorkerId> = state.waits_for(worker).map(|it| it.1).collect();
    while let Some(other) = next.pop() {
        if other == worker {
            return true;
        }
        if seen.insert(other) {
            next.extend(state.waits_for(other).map(|it| it.1));
        }
    }
    false
}

/// A waiting worker is woken by an urgent message.
fn check_worker(world: &World, worker: &Worker) {
    let (state, now) = (world.state(), world.settled_at);
    let attempt = &state.attempts[worker.attempt];
    let is_parked = matches!(
        worker.status,
        WorkerStatus::WaitingInput
            | WorkerStatus::WaitingSubtasks
            | WorkerStatus::WaitingPermission
    );
    let idle = is_parked
        && worker.process == Process::Alive
        && worker.turn.is_none()
        && worker.resumptions.is_empty()
        && attempt.is_open()
        && attempt.claim.is_none()
        && attempt.snapshot.is_none()
        && attempt.snapshot_due.is_none();
    let runs = state.plan_of(attempt).status == PlanStatus::Active
        && !world.ledger.is_held(attempt.task)
        && !world.ledger.is_over(attempt.task);
    let Some(mailbox) = state.mailbox(worker.id).filter(|_| idle && runs) else { return };
    let presses = mailbox.queued().map(|it| state.mail.posted[it].presses_at).min();
    let Some(at) = presses.filter(|_| has_slot(state, state.plan_of(attempt).id)) else { return };
    hold!(at > now, "what presses wakes its reader", "{} at {now}", worker.id);
    hold!(next_due(state) <= Some(at), "what presses later is not forgotten", "{}", worker.id);
}
