//! Notifies the person when something waits, and when a plan ends or fails.
//!
//! An observer: it reads the journal from where the orchestrator started, so a restart repeats
//! nothing, and it decides nothing. What happens within a few seconds is one notification.

mod facts;
mod channel;

pub use channel::{Delivered, deliver};
pub use facts::{Notification, NotifyItem};

use crate::{Handle, Redactor, log::Log};
use facts::News;
use pitcrew_config::{NotifyChannel, NotifySettings};
use pitcrew_model::{Entry, Seq};
use pitcrew_store::JournalReader;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{task::JoinHandle, time::sleep};

/// What happens within this time after the first news is told together.
const GATHER: Duration = Duration::from_secs(3);
/// How often the journal is read while it grows.
const LOOK_EVERY: Duration = Duration::from_millis(250);
const ENTRIES_AT_A_TIME: usize = 1_000;

/// What the observer needs.
pub struct Notifier {
    pub reader: JournalReader,
    pub settings: NotifySettings,
    /// The name of the repository.
    pub workspace: String,
    pub redactor: Redactor,
    pub log: Arc<Log>,
}

impl Notifier {
    /// Whether any channel is set up that an orchestrator can use.
    pub fn is_needed(settings: &NotifySettings) -> bool {
        let channels = NotifyChannel::ALL.into_iter().filter(|it| *it != NotifyChannel::Bell);
        channels.into_iter().any(|it| settings.is_set_up(it))
    }

    /// Notifies of everything from now on, until aborted.
    pub fn start(self, handle: &Handle) -> JoinHandle<()> {
        let seen = *handle.published.changes().borrow();
        tokio::spawn(self.watch(handle.clone(), seen))
    }

    async fn watch(self, handle: Handle, mut seen: Seq) {
        let Self { reader, settings, workspace, redactor, log } = self;
        let reader = Arc::new(Mutex::new(reader));
        let mut changes = handle.published.changes();
        let mut news = News::default();
        loop {
            while news.is_empty() {
                if changes.wait_for(|it| *it > seen).await.is_err() {
                    return;
                }
                sleep(LOOK_EVERY).await;
                news.add(&read(&reader, &mut seen).await);
            }
            sleep(GATHER).await;
            news.add(&read(&reader, &mut seen).await);
            let items = std::mem::take(&mut news).items(&handle.views(), &redactor);
            for channel in NotifyChannel::ALL {
                let wanted = items.iter().filter(|it| settings.wants(it.kind, channel)).cloned();
                let Some(notification) = Notification::of(&workspace, wanted.collect()) else {
                    continue;
                };
                if channel == NotifyChannel::Bell {
                    continue;
                }
                let line = match deliver(&settings, channel, &notification).await {
                    Ok(Delivered(how)) => format!("{channel}: {how}: {}", notification.title()),
                    Err(error) => format!("{channel} failed: {error}"),
                };
                log.line("Notify", &line);
            }
        }
    }
}

/// The entries after `seen`, which moves on. After a failure the next call reads them.
async fn read(reader: &Arc<Mutex<JournalReader>>, seen: &mut Seq) -> Vec<Entry> {
    let (reader, after) = (reader.clone(), *seen);
    let read = move || {
        let reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.read(after, ENTRIES_AT_A_TIME)
    };
    let Ok(Ok(entries)) = tokio::task::spawn_blocking(read).await else { return Vec::new() };
    if let Some(last) = entries.last() {
        *seen = last.seq;
    }
    entries
}
