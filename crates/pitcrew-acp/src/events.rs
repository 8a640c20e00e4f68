//! What an agent wants and does while nobody asks it.

use crate::{connection::News, session::Inner};
use pitcrew_model::{Access, Exit, PermissionOption, ToolUse, Usage, limits};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

const NOTES_APART: Duration = Duration::from_millis(limits::ACTIVITY_MS_MIN);
const USAGES_APART: Duration = Duration::from_millis(limits::HEARTBEAT_MS_MIN);
/// An agent that works on a turn and says nothing for so long is told as such, and again as often.
const SILENCE_MIN: Duration = Duration::from_mins(1);
const SILENCES_APART: Duration = Duration::from_mins(5);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The agent waits for `Session::answer_permission` with this `call`.
    Permission { call: String, tool: ToolUse, options: Vec<PermissionOption> },
    /// It wanted to reach a file outside its zone, and waits for `SessionEvents::answer_blocked` with
    /// this `place`.
    Blocked { place: u64, access: Access, path: String, bytes_saved: u64 },
    /// What it just did, in a few words. At most one in `limits::ACTIVITY_MS_MIN`; the newest is never lost.
    Activity { note: String },
    /// What the turn that is going on has used so far. At most one in `limits::HEARTBEAT_MS_MIN`;
    /// the turn's end tells the whole.
    Usage(Usage),
    /// The whole process tree is gone. Always the last one.
    Exited(Exit),
}

/// What the agent waits for, on its way to whoever has to know.
#[derive(Debug)]
pub(crate) enum Asked {
    Permission(Permission),
    Blocked { place: u64, access: Access, path: String, bytes_saved: u64 },
}

/// A request for permission on its way to whoever decides.
#[derive(Debug)]
pub(crate) struct Permission {
    pub call: String,
    pub tool: ToolUse,
    pub options: Vec<PermissionOption>,
}

/// The events of a session. Must be read: an agent whose requests nobody takes is not read on.
pub struct SessionEvents {
    inner: Arc<Inner>,
    asked: mpsc::Receiver<Asked>,
    /// When the next of each may be told.
    next: Next,
    over: bool,
}

#[derive(Clone, Copy)]
struct Next {
    note: Instant,
    usage: Instant,
    silence: Instant,
}

#[derive(Clone, Copy)]
enum Due {
    Note,
    Usage,
    Silence { since: Instant },
}

impl Next {
    /// What is to be told first, and when.
    fn due(self, news: &News) -> Option<(Instant, Due)> {
        let note = news.has_note.then_some((self.note, Due::Note));
        let usage = news.has_usage.then_some((self.usage, Due::Usage));
        let silence = news
            .silent_since
            .map(|since| (self.silence.max(since + SILENCE_MIN), Due::Silence { since }));
        [note, usage, silence].into_iter().flatten().min_by_key(|it| it.0)
    }
}

impl From<Asked> for Event {
    fn from(asked: Asked) -> Self {
        match asked {
            Asked::Permission(Permission { call, tool, options }) => {
                Self::Permission { call, tool, options }
            }
            Asked::Blocked { place, access, path, bytes_saved } => {
                Self::Blocked { place, access, path, bytes_saved }
            }
        }
    }
}

impl SessionEvents {
    pub(crate) fn new(inner: Arc<Inner>, asked: mpsc::Receiver<Asked>) -> Self {
        let now = Instant::now();
        let next = Next { note: now, usage: now, silence: now };
        Self { inner, asked, next, over: false }
    }

    /// The next event; nothing after `Exited`. May be dropped while it waits.
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
                    if let Some(event) = due.and_then(|it| self.tell(it.1)) {
                        return Some(event);
                    }
                }
                () = connection.activity.notified() => {}
            }
        }
    }

    /// Answers the agent that was kept from a file. Answering twice is harmless.
    pub async fn answer_blocked(&self, place: u64) {
        self.inner.connection.answer_blocked(place).await;
    }

    fn tell(&mut self, due: Due) -> Option<Event> {
        let connection = &self.inner.connection;
        let now = Instant::now();
        match due {
            Due::Note => {
                self.next.note = now + NOTES_APART;
                connection.take_note().map(|note| Event::Activity { note })
            }
            Due::Usage => {
                self.next.usage = now + USAGES_APART;
                connection.take_usage().map(Event::Usage)
            }
            Due::Silence { since } => {
                // It may have said something at the last moment.
                if connection.news().silent_since != Some(since) {
                    return None;
                }
                self.next.silence = now + SILENCES_APART;
                Some(Event::Activity { note: silence(now - since) })
            }
        }
    }
}

fn silence(lasting: Duration) -> String {
    match lasting.as_secs() {
        seconds @ ..120 => format!("no word for {seconds} s"),
        seconds => format!("no word for {} min", seconds / 60),
    }
}
