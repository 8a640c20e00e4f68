//! Passes on what an agent wants and does, until it is gone.

use super::Agents;
use crate::{Handle, clock};
use pitcrew_acp::{Event, SessionEvents};
use pitcrew_model::{Signal, WorkerId};
use std::sync::{Weak, atomic::Ordering};

pub async fn run(
    handle: Handle,
    agents: Weak<Agents>,
    worker: WorkerId,
    mut events: SessionEvents,
) {
    while let Some(event) = events.next().await {
        let signal = match event {
            Event::Permission { call, tool, options } => {
                Signal::PermissionAsked { worker, call, tool, options }
            }
            Event::Activity { note } => {
                handle.published.show_activity(worker, &note, clock::now());
                Signal::Activity { worker, note }
            }
            Event::Exited(_) if is_stopping(&agents, worker) => break,
            Event::Exited(exit) => Signal::AgentExited { worker, exit },
        };
        handle.signal(signal).await;
    }
    // Only after its end was told: whoever does not find it may say that it is gone. A stop that is
    // under way has its own hold of it.
    if let Some(agents) = agents.upgrade() {
        agents.forget(worker);
    }
}

fn is_stopping(agents: &Weak<Agents>, worker: WorkerId) -> bool {
    let live = agents.upgrade().and_then(|it| it.find(worker));
    live.is_none_or(|it| it.stopping.load(Ordering::SeqCst))
}
