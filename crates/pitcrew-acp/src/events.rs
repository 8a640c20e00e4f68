//! Requests and activity that an agent initiates.

use crate::{connection::News, session::Inner};
use pitcrew_model::{Access, Exit, PermissionOption, ToolUse, Usage, limits};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

const NOTES_APART: Duration = Duration::from_millis(limits::ACTIVITY_MS_MIN);
const USAGES_APART: Duration = Duration::from_millis(limits::HEARTBEAT_MS_MIN);
/// An agent that is silent this long in a turn is reported, and again after each such period.
const SILENCE_MIN: Duration = Duration::from_mins(1);
const SILENCES_APART: Duration = Duration::from_mins(5);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The agent waits for `Session::answer_permission` with this `call`.
    Permission { call: String, tool: ToolUse, options: Vec<PermissionOption> },
    /// It requested a file outside its zone, and waits for `SessionEvents::answer_blocked` with
    /// this `place`. Or the sandbox refused to write it, and nothing waits.
    Blocked { place: u64, access: Access, path: String, bytes_saved: u64 },
    /// A short note of what it just did. At most one per `limits::ACTIVITY_MS_MIN`; the newest is
    /// never lost.
    Activity { note: String },
    /// The usage of the open turn so far. At most one per `limits::HEARTBEAT_MS_MIN`; the end of
    /// the turn has the total.
    Usage(Usage),
    /// The whole process tree is gone. Always the last event.
    Exited(Exit),
}

/// A request of the agent on its way to the consumer of the events.
#[derive(Debug)]
pub(crate) enum QueuedRequest {
    Permission(Permission),
    Blocked { place: u64, access: Access, path: String, bytes_saved: u64 },
}

/// A permission request on its way to the consumer of the events.
#[derive(Debug)]
pub(crate) struct Permission {
    pub call: String,
    pub tool: ToolUse,
    pub options: Vec<PermissionOption>,
}

/// The events of a session. They must be read: while the queue is full, the agent's output is not
/// read.
pub struct SessionEvents {
    inner: Arc<Inner>,
    asked: mpsc::Receiver<QueuedRequest>,
    /// When the next report of each kind is allowed.
    next: NextReports,
    over: bool,
}

#[derive(Clone, Copy)]
struct NextReports {
    note: Instant,
    usage: Instant,
    silence: Instant,
}

#[derive(Clone, Copy)]
enum Report {
    Note,
    Usage,
    Silence { since: Instant },
}

impl NextReports {
    /// The first report that is due, and when.
    fn due(self, news: &News) -> Option<(Instant, Report)> {
        let note = news.has_note.then_some((self.note, Report::Note));
        let usage = news.has_usage.then_some((self.usage, Report::Usage));
        let silence = news
            .silent_since
            .map(|since| (self.silence.max(since + SILENCE_MIN), Report::Silence { since }));
        [note, usage, silence].into_iter().flatten().min_by_key(|it| it.0)
    }
}

impl From<QueuedRequest> for Event {
    fn from(asked: QueuedRequest) -> Self {
        match asked {
            QueuedRequest::Permission(Permission { call, tool, options }) => {
                Self::Permission { call, tool, options }
            }
            QueuedRequest::Blocked { place, access, path, bytes_saved } => {
                Self::Blocked { place, access, path, bytes_saved }
            }
        }
    }
}

impl SessionEvents {
    pub(crate) fn new(inner: Arc<Inner>, asked: mpsc::Receiver<QueuedRequest>) -> Self {
        let now = Instant::now();
        let next = NextReports { note: now, usage: now, silence: now };
        Self { inner, asked, next, over: false }
    }

    /// The next event, or `None` after `Exited`. Cancel safe.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if self.over {
                return None;
            }
            let connection = &self.inner.connection;
            let due = self.next.due(&connection.news());
            let wait = async {
                match due {
                    Some((at, _)) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                asked = self.asked.recv() => {
                    if let Some(asked) = asked {
                        return Some(asked.into());
                    }
                    // The reader has ended, and with it the agent.
                    if let Some(note) = connection.take_note() {
                        return Some(Event::Activity { note });
                    }
                    if let Some(usage) = connection.take_usage() {
                        return Some(Event::Usage(usage));
                    }
                    self.over = true;
                    return Some(Event::Exited(connection.exited().await));
                }
                () = wait => {
                    if let Some(event) = due.and_then(|it| self.report(it.1)) {
                        return Some(event);
                    }
                }
                () = connection.activity.notified() => {}
            }
        }
    }

    /// Sends the refusal for a file outside the zone. Repeating it is harmless.
    pub async fn answer_blocked(&self, place: u64) {
        self.inner.connection.answer_blocked(place).await;
    }

    fn report(&mut self, due: Report) -> Option<Event> {
        let connection = &self.inner.connection;
        let now = Instant::now();
        match due {
            Report::Note => {
                self.next.note = now + NOTES_APART;
                connection.take_note().map(|note| Event::Activity { note })
            }
            Report::Usage => {
                self.next.usage = now + USAGES_APART;
                connection.take_usage().map(Event::Usage)
            }
            Report::Silence { since } => {
                // Reports the output of the last moment.
                if connection.news().silent_since != Some(since) {
                    return None;
                }
                self.next.silence = now + SILENCES_APART;
                Some(Event::Activity { note: silence(now - since) })
            }
        }
    }
}

fn silence(elapsed: Duration) -> String {
    match elapsed.as_secs() {
        seconds @ ..120 => format!("no output for {seconds} s"),
        seconds => format!("no output for {} min", seconds / 60),
    }
}
