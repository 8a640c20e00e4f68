//! Forwards an agent's requests and activity until it has exited.

use super::Agents;
use crate::{Handle, clock};
use pitcrew_acp::{Event, SessionEvents};
use pitcrew_model::{Signal, WorkerId};
use pitcrew_views::plain;
use std::sync::{Weak, atomic::Ordering};

pub async fn run(
    handle: Handle,
    agents: Weak<Agents>,
    worker: WorkerId,
    mut events: SessionEvents,
    mut last_note: Option<String>,
) {
    while let Some(event) = events.next().await {
        let signal = match event {
            Event::Permission { call, tool, options } => {
                Signal::PermissionAsked { worker, call, tool, options }
            }
            Event::Activity { note } => {
                // After a reattach the newest note is repeated.
                if last_note.take().is_some_and(|it| it == plain::line(&note)) {
                    continue;
                }
                handle.published.show_activity(worker, &note, clock::now());
                Signal::Activity { worker, note }
            }
            Event::Blocked { place, access, path, bytes_saved } => {
                let noted = Signal::AccessBlocked { worker, place, access, path, bytes_saved };
                // A refusal is recorded before the agent gets it.
                handle.signal_and_wait(noted).await;
                events.answer_blocked(place).await;
                continue;
            }
            Event::Usage(usage) => Signal::UsageReported { worker, usage },
            Event::Exited(exit) => {
                // The agent's last output is reported first, even if it arrived while no client was
                // attached.
                turn_reported(&agents, worker).await;
                if is_stopping(&agents, worker) {
                    break;
                }
                Signal::AgentExited { worker, exit }
            }
        };
        handle.signal(signal).await;
    }
    // Removed only after the exit was reported, because a missing worker counts as gone. A stop in
    // progress has a separate reference.
    if let Some(agents) = agents.upgrade() {
        agents.forget(worker);
    }
}

/// Waits until the end of the open turn was reported.
async fn turn_reported(agents: &Weak<Agents>, worker: WorkerId) {
    let turn = agents.upgrade().and_then(|it| it.find(worker)).map(|it| it.turn.subscribe());
    if let Some(mut turn) = turn {
        // The sender is dropped if the result is no longer needed.
        turn.wait_for(Option::is_none).await.ok();
    }
}

fn is_stopping(agents: &Weak<Agents>, worker: WorkerId) -> bool {
    let live = agents.upgrade().and_then(|it| it.find(worker));
    live.is_none_or(|it| it.stopping.load(Ordering::SeqCst))
}
