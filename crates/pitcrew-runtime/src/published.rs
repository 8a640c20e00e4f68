//! The public read models: the views as of the last durable entry.

use pitcrew_model::{Entry, Seq, Timestamp, WorkerId};
use pitcrew_views::{Board, Granted, Inbox, Messages};
use std::sync::{
    PoisonError, RwLock, RwLockReadGuard,
    atomic::{AtomicBool, Ordering},
};
use tokio::sync::watch;

/// The read models of the workspace.
#[derive(Default)]
pub struct Views {
    pub board: Board,
    pub inbox: Inbox,
    pub messages: Messages,
    pub granted: Granted,
}

impl Views {
    pub fn fold(&mut self, entry: &Entry) {
        self.inbox.fold(entry);
        self.messages.fold(entry);
        self.granted.fold(entry);
        self.board.fold(entry);
    }
}

/// The views and their change notifications.
pub struct Published {
    views: RwLock<Views>,
    last: watch::Sender<Seq>,
    busy: AtomicBool,
}

impl Published {
    pub fn new(views: Views, last: Seq) -> Self {
        Self {
            views: RwLock::new(views),
            last: watch::Sender::new(last),
            busy: AtomicBool::new(false),
        }
    }

    /// Called only by the writer, after the entries are durable.
    pub fn publish(&self, entries: &[Entry]) {
        let Some(last) = entries.last() else { return };
        {
            let mut views = self.views.write().unwrap_or_else(PoisonError::into_inner);
            for entry in entries {
                views.fold(entry);
            }
        }
        self.last.send_replace(last.seq);
    }

    /// Shows what a worker is doing. The kernel decides whether it is stored.
    pub fn show_activity(&self, worker: WorkerId, note: &str, at: Timestamp) {
        let mut views = self.views.write().unwrap_or_else(PoisonError::into_inner);
        views.board.show_activity(worker, note, at);
    }

    /// Whether an effect is open or something is due.
    pub fn set_busy(&self, busy: bool) {
        self.busy.store(busy, Ordering::SeqCst);
    }

    pub fn is_busy(&self) -> bool {
        self.busy.load(Ordering::SeqCst)
    }

    pub fn views(&self) -> RwLockReadGuard<'_, Views> {
        self.views.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn changes(&self) -> watch::Receiver<Seq> {
        self.last.subscribe()
    }
}
