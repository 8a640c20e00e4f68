//! Reads the traffic in both directions, and answers the simple requests.

use super::{
    Connection, HeldRefusal,
    incoming::{AgentRequest, ask_name},
    lost,
    rate_limit::RateLimit,
};
use crate::{
    events::QueuedRequest,
    files::{BlockedFile, FileCall, FileOutcome},
    frame::{self, number},
};
use pitcrew_model::{Access, Timestamp, limits};
use pitcrew_process::{ShimEvent, ShimEvents};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

/// A shim that owes us data and is silent this long is broken.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// Earlier traffic is replayed much faster than this, even on a busy machine.
const SLOWEST_BYTES_PER_SECOND: u64 = 256 * 1_024;

const INTERNAL: i64 = -32603;

/// The agent's open requests after all earlier traffic was read, by the number of the answer.
#[derive(Default)]
pub(crate) struct CaughtUp(BTreeMap<u64, AgentRequest>);

/// Reads the earlier traffic, up to `until` in the spool or to the agent's exit. Sends nothing to
/// the agent: most of its requests here were answered long ago.
///
/// Terminates regardless of the shim: one that is silent or far too slow is killed with its agent,
/// and then the rest is read.
pub(crate) async fn catch_up(
    connection: &Connection,
    events: &mut ShimEvents,
    until: u64,
) -> CaughtUp {
    let mut wanted = BTreeMap::new();
    let in_time = SILENCE_MAX * 2 + Duration::from_secs(until / SLOWEST_BYTES_PER_SECOND);
    let deadline = Instant::now().checked_add(in_time);
    while events.position() < until || events.was_silent() {
        let left = deadline.map_or(SILENCE_MAX, |it| it.saturating_duration_since(Instant::now()));
        match events.next_within(left.min(SILENCE_MAX)).await {
            Some(ShimEvent::Frame { offset, time_ms, line }) => {
                let asked = connection.take_line(offset, Timestamp(time_ms), &line);
                wanted.extend(asked.map(|it| (number::answer(offset), it)));
            }
            Some(ShimEvent::Sent { id, line, .. }) => {
                connection.take_sent(id, &line);
                wanted.remove(&id);
            }
            Some(ShimEvent::Garbage { reason, .. }) => connection.take_garbage(&reason),
            Some(ShimEvent::Halted(exit)) => connection.end(exit),
            Some(ShimEvent::Exited(exit)) => {
                connection.end(exit);
                break;
            }
            None => break,
        }
    }
    let mut state = connection.state();
    // A permission request of a finished turn is no longer open.
    wanted.retain(|_, it| match it {
        AgentRequest::Permission(permission) => state.asks.contains_key(&permission.call),
        AgentRequest::Refusal(_)
        | AgentRequest::File { .. }
        | AgentRequest::RefusedWrites { .. } => true,
    });
    if state.turn.is_none() {
        // The earlier process reported the activity, or it was not worth reporting.
        state.note = None;
    }
    drop(state);
    CaughtUp(wanted)
}

/// Reads the agent's frames until its process tree is gone.
pub(crate) async fn read(
    connection: Arc<Connection>,
    mut events: ShimEvents,
    before: CaughtUp,
    asked: mpsc::Sender<QueuedRequest>,
) {
    for (number, wanted) in before.0 {
        connection.give(number, wanted, &asked).await;
    }
    connection.end_if_broken().await;
    let mut pace = Some(RateLimit::new(Instant::now()));
    loop {
        match events.next().await {
            Some(ShimEvent::Frame { offset, time_ms, line }) => {
                if let Some(wanted) = connection.take_line(offset, Timestamp(time_ms), &line) {
                    connection.give(number::answer(offset), wanted, &asked).await;
                }
                connection.keep(&mut pace, line.len()).await;
            }
            Some(ShimEvent::Sent { id, line, .. }) => {
                connection.take_sent(id, &line);
                continue;
            }
            Some(ShimEvent::Garbage { reason, .. }) => connection.take_garbage(&reason),
            Some(ShimEvent::Halted(exit)) => {
                connection.end(exit);
                continue;
            }
            Some(ShimEvent::Exited(exit)) => return connection.end(exit),
            // The exit was read before.
            None => return connection.end_unless_over(),
        }
        connection.end_if_broken().await;
    }
}

impl Connection {
    async fn give(
        self: &Arc<Self>,
        number: u64,
        wanted: AgentRequest,
        asked: &mpsc::Sender<QueuedRequest>,
    ) {
        match wanted {
            // The consumer of the events decides. While the queue is full, nothing more is read.
            AgentRequest::Permission(permission) => {
                asked.send(QueuedRequest::Permission(permission)).await.ok();
            }
            AgentRequest::Refusal(frame) => self.send_small(number, &frame).await,
            AgentRequest::File { id, call } => self.give_file(number, &id, call, asked).await,
            AgentRequest::RefusedWrites { offset, paths } => {
                for (place, path) in (offset..).zip(paths) {
                    let (access, bytes_saved) = (Access::Write, 0);
                    let event = QueuedRequest::Blocked { place, access, path, bytes_saved };
                    asked.send(event).await.ok();
                }
            }
        }
    }

    /// Requests are served one after the other, so that reads see earlier writes, on a thread that
    /// may block.
    async fn give_file(
        self: &Arc<Self>,
        number: u64,
        id: &Value,
        call: FileCall,
        asked: &mpsc::Sender<QueuedRequest>,
    ) {
        let connection = self.clone();
        let served = tokio::task::spawn_blocking(move || {
            connection.reach.as_ref().map(|it| it.serve(&connection.root, &call))
        });
        let frame = match served.await {
            Ok(Some(FileOutcome::Done(result))) => frame::answer(id, &result),
            Ok(Some(FileOutcome::Failed(error))) => error.frame(id),
            Ok(Some(FileOutcome::Blocked(blocked))) => {
                return self.block(number, id, blocked, asked).await;
            }
            // The task failed: the agent gets an error and continues.
            Ok(None) | Err(_) => frame::refusal(id, INTERNAL, "the file could not be accessed"),
        };
        self.send_small(number, &frame).await;
    }

    /// The agent is answered after its request is recorded. A process that reattaches finds it
    /// unanswered and records it again.
    async fn block(
        &self,
        number: u64,
        id: &Value,
        blocked: BlockedFile,
        asked: &mpsc::Sender<QueuedRequest>,
    ) {
        let Some(reach) = &self.reach else { return };
        let (error, bytes_saved) = blocked.answer(&reach.outline).await;
        let place = number::asked_at(number);
        let refusal = HeldRefusal { number, frame: error.frame(id) };
        self.state().refusals.insert(ask_name(place), refusal);
        let BlockedFile { access, path, .. } = blocked;
        let event = QueuedRequest::Blocked { place, access, path, bytes_saved };
        if asked.send(event).await.is_err() {
            self.answer_blocked(place).await;
        }
    }

    /// Waits until more may be read, or until reading is no longer limited.
    async fn keep(&self, pace: &mut Option<RateLimit>, bytes: usize) {
        let until = pace.as_mut().and_then(|it| it.take(Instant::now(), bytes));
        if let Some(until) = until {
            tokio::select! {
                () = sleep_until(until) => {}
                () = self.hurry.notified() => *pace = None,
            }
        }
    }

    /// Ends the process of an agent that was given up.
    async fn end_if_broken(&self) {
        let is_new = {
            let mut state = self.state();
            state.broken.is_some() && !std::mem::replace(&mut state.ending, true)
        };
        if is_new {
            self.hurry.notify_one();
            self.shim.stop(Duration::from_millis(limits::STOP_GRACE_MS)).await.ok();
        }
    }

    fn end_unless_over(&self) {
        if !self.state().over {
            self.end(lost());
        }
    }
}
