//! What an agent wants and does while nobody asks it.

use crate::session::Inner;
use pitcrew_model::{Exit, PermissionOption, ToolUse, limits};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The agent waits for `Session::answer_permission` with this `call`.
    Permission { call: String, tool: ToolUse, options: Vec<PermissionOption> },
    /// What it just did, in a few words. At most one in `limits::ACTIVITY_MS_MIN`; the newest is never lost.
    Activity { note: String },
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
    pub(crate) inner: Arc<Inner>,
    pub(crate) permissions: mpsc::Receiver<Permission>,
    /// When the next note may be told.
    pub(crate) next_note_at: Instant,
    pub(crate) over: bool,
}

impl SessionEvents {
    /// The next event; nothing after `Exited`. May be dropped while it waits.
    pub async fn next(&mut self) -> Option<Event> {
        if self.over {
            return None;
        }
        let connection = &self.inner.connection;
        let noted = async {
            while !connection.has_note() {
                connection.activity.notified().await;
            }
            sleep_until(self.next_note_at).await;
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
                self.over = true;
                Some(Event::Exited(connection.exited().await))
            }
            () = noted => {
                self.next_note_at = Instant::now() + Duration::from_millis(limits::ACTIVITY_MS_MIN);
                connection.take_note().map(|note| Event::Activity { note })
            }
        }
    }
}
