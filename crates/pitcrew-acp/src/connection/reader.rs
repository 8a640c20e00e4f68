//! Reads what passes between us and the agent, and answers what only needs an answer.

use super::{
    Connection, Refusal,
    incoming::{Wanted, ask_name},
    lost,
    pace::Pace,
};
use crate::{
    events::Asked,
    files::{Blocked, FileCall, Served},
    frame::{self, number},
};
use pitcrew_model::{Timestamp, limits};
use pitcrew_process::{ShimEvent, ShimEvents};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

/// A shim that has something to tell and says nothing for so long says nothing any more.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// What passed before is told much faster than this, also on a busy machine.
const SLOWEST_BYTES_PER_SECOND: u64 = 256 * 1_024;

const INTERNAL: i64 = -32603;

/// What the agent waited for when all that passed before we came was read, by the number of the
/// answer.
#[derive(Default)]
pub(crate) struct CaughtUp(BTreeMap<u64, Wanted>);

/// Reads what passed before we came, up to `until` in the spool or to the agent's end. Says nothing
/// to the agent: most of what it asks for here was answered long ago.
///
/// Comes to an end whatever the shim does: one that is silent, or too slow to be true, is ended with
/// its agent, and then all is read to the end.
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
    // Permission for a call of a turn that is over is wanted no more.
    wanted.retain(|_, it| match it {
        Wanted::Permission(permission) => state.asks.contains_key(&permission.call),
        Wanted::Refusal(_) | Wanted::File { .. } => true,
    });
    if state.turn.is_none() {
        // Whoever was here told what it did, or it was not worth telling.
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
    asked: mpsc::Sender<Asked>,
) {
    for (number, wanted) in before.0 {
        connection.give(number, wanted, &asked).await;
    }
    connection.end_if_broken().await;
    let mut pace = Some(Pace::new(Instant::now()));
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
            // The end was read before.
            None => return connection.end_unless_over(),
        }
        connection.end_if_broken().await;
    }
}

impl Connection {
    async fn give(self: &Arc<Self>, number: u64, wanted: Wanted, asked: &mpsc::Sender<Asked>) {
        match wanted {
            // Whoever reads the events decides; while nobody does, nothing more is read.
            Wanted::Permission(permission) => {
                asked.send(Asked::Permission(permission)).await.ok();
            }
            Wanted::Refusal(frame) => self.send_small(number, &frame).await,
            Wanted::File { id, call } => self.give_file(number, &id, call, asked).await,
        }
    }

    /// One after the other, so that what was written is read; on a thread that may wait.
    async fn give_file(
        self: &Arc<Self>,
        number: u64,
        id: &Value,
        call: FileCall,
        asked: &mpsc::Sender<Asked>,
    ) {
        let connection = self.clone();
        let served = tokio::task::spawn_blocking(move || {
            connection.reach.as_ref().map(|it| it.serve(&connection.root, &call))
        });
        let frame = match served.await {
            Ok(Some(Served::Done(result))) => frame::answer(id, &result),
            Ok(Some(Served::Failed(error))) => error.frame(id),
            Ok(Some(Served::Blocked(blocked))) => {
                return self.block(number, id, blocked, asked).await;
            }
            // Nobody is left to do it, or it broke: the agent is told so, and works on.
            Ok(None) | Err(_) => frame::refusal(id, INTERNAL, "the file could not be reached"),
        };
        self.send_small(number, &frame).await;
    }

    /// The agent is answered when what it wanted is noted. Whoever comes back finds it unanswered,
    /// and notes it again.
    async fn block(&self, number: u64, id: &Value, blocked: Blocked, asked: &mpsc::Sender<Asked>) {
        let Some(reach) = &self.reach else { return };
        let (error, bytes_saved) = blocked.told(&reach.outline).await;
        let place = number::asked_at(number);
        let refusal = Refusal { number, frame: error.frame(id) };
        self.state().refusals.insert(ask_name(place), refusal);
        let Blocked { access, path, .. } = blocked;
        let event = Asked::Blocked { place, access, path, bytes_saved };
        if asked.send(event).await.is_err() {
            self.answer_blocked(place).await;
        }
    }

    /// Waits until more may be heard, or until all is to be heard at once.
    async fn keep(&self, pace: &mut Option<Pace>, bytes: usize) {
        let until = pace.as_mut().and_then(|it| it.take(Instant::now(), bytes));
        if let Some(until) = until {
            tokio::select! {
                () = sleep_until(until) => {}
                () = self.hurry.notified() => *pace = None,
            }
        }
    }

    /// Ends the process of an agent of which nothing more is expected.
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
