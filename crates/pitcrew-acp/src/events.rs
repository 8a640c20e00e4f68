//! What an agent wants and does while nobody asks it.

use crate::{connection::News, session::Inner};
use pitcrew_model::{Exit, PermissionOption, ToolUse, Usage, limits};
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
    /// What it just did, in a few words. At most one in `limits::ACTIVITY_MS_MIN`; the newest is never lost.
    Activity { note: String },
    /// What the turn that is going on has used so far. At most one in `limits::HEARTBEAT_MS_MIN`;
    /// the turn's end tells the whole.
    Usage(Usage),
    /// The whole process tree is gone. Always the last one.
    Exited(Exit),
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
    permissions: mpsc::Receiver<Permission>,
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

impl SessionEvents {
    pub(crate) fn new(inner: Arc<Inner>, permissions: mpsc::Receiver<Permission>) -> Self {
        let now = Instant::now();
        let next = Next { note: now, usage: now, silence: now };
        Self { inner, permissions, next, over: false }
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
                permission = self.permissions.recv() => {
                    if let Some(Permission { call, tool, options }) = permission {
                        return Some(Event::Permission { call, tool, options });
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
