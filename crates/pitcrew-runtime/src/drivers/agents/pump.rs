//! Passes on what an agent wants and does, until it is gone.

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
    mut told: Option<String>,
) {
    while let Some(event) = events.next().await {
        let signal = match event {
            Event::Permission { call, tool, options } => {
                Signal::PermissionAsked { worker, call, tool, options }
            }
            Event::Activity { note } => {
                // Whoever comes back is told the newest note, which may be no news.
                if told.take().is_some_and(|it| it == plain::line(&note)) {
                    continue;
                }
                handle.published.show_activity(worker, &note, clock::now());
                Signal::Activity { worker, note }
            }
            Event::Blocked { place, access, path, bytes_saved } => {
                let noted = Signal::AccessBlocked { worker, place, access, path, bytes_saved };
                // What was refused is on record before the agent hears of it.
                handle.signal_and_wait(noted).await;
                events.answer_blocked(place).await;
                continue;
            }
            Event::Usage(usage) => Signal::UsageReported { worker, usage },
            Event::Exited(exit) => {
                // What it said last counts, also when it said it while nobody was there.
                turn_told(&agents, worker).await;
                if is_stopping(&agents, worker) {
                    break;
                }
                Signal::AgentExited { worker, exit }
            }
        };
        handle.signal(signal).await;
    }
    // Only after its end was told: whoever does not find it may say that it is gone. A stop that is
    // under way has its own hold of it.
    if let Some(agents) = agents.upgrade() {
        agents.forget(worker);
    }
}

/// Waits until the end of the turn that was under way is told.
async fn turn_told(agents: &Weak<Agents>, worker: WorkerId) {
    let turn = agents.upgrade().and_then(|it| it.find(worker)).map(|it| it.turn.subscribe());
    if let Some(mut turn) = turn {
        // The sender is gone when nobody is interested any more.
        turn.wait_for(Option::is_none).await.ok();
    }
}

fn is_stopping(agents: &Weak<Agents>, worker: WorkerId) -> bool {
    let live = agents.upgrade().and_then(|it| it.find(worker));
    live.is_none_or(|it| it.stopping.load(Ordering::SeqCst))
}
