//! Watches the credentials in the private homes, and removes homes that are not needed.

use super::{
    files::{self, Stamp},
    record::Record,
    refresh_queue::{Lock, Shared},
    sync::{self, Entry},
};
use crate::{clock, log::Log};
use pitcrew_config::WorkspaceDirs;
use pitcrew_model::AttemptId;
use pitcrew_process::remove_tree;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};
use tokio::{sync::Notify, task::JoinHandle, time::sleep};

/// How often copies are checked. Until then, a refreshed credential exists in one home only.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The distance between the expiry times that two agents see: the first to refresh is done long
/// before the next one tries.
const APART_MS: u64 = 3 * 60 * 1_000;
/// The delay after a failure.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// The logins of all agents of this orchestrator.
pub struct Logins {
    pub(super) dirs: WorkspaceDirs,
    /// The user's environment, which determines the paths of the user's files.
    pub(super) user: BTreeMap<String, String>,
    /// The user's git settings, without secrets.
    pub(super) git_settings: PathBuf,
    log: Arc<Log>,
    watched: Mutex<BTreeMap<AttemptId, Watched>>,
    /// Notified when there is something to watch, or something has ended.
    wake: Arc<Notify>,
    /// Two concurrent rounds would undo each other.
    round: tokio::sync::Mutex<()>,
    keeper: Mutex<Option<JoinHandle<()>>>,
}

struct Watched {
    record: Record,
    has_ended: bool,
    /// The stamps of its files when they were last synchronized.
    seen: Vec<Stamps>,
    not_before: Option<Instant>,
    /// The problem of the last round; each is reported once.
    complaints: BTreeSet<String>,
}

/// The user's file and the copy.
type Stamps = (Option<Stamp>, Option<Stamp>);

fn stamps(record: &Record) -> Vec<Stamps> {
    let stamp = |it: &super::record::Copied| (files::stamp(&it.user), files::stamp(&it.copy));
    record.copies.iter().map(stamp).collect()
}

impl Watched {
    fn is_due(&self) -> bool {
        let may_be = self.not_before.is_none_or(|it| it <= Instant::now());
        may_be && (self.has_ended || stamps(&self.record) != self.seen)
    }
}

impl Logins {
    pub fn new(
        dirs: WorkspaceDirs,
        user: BTreeMap<String, String>,
        git_settings: PathBuf,
        log: Arc<Log>,
    ) -> Self {
        Self {
            dirs,
            user,
            git_settings,
            log,
            watched: Mutex::default(),
            wake: Arc::default(),
            round: tokio::sync::Mutex::default(),
            keeper: Mutex::default(),
        }
    }

    /// Continues the work of an earlier orchestrator; only the agents in `live` can still run.
    pub fn adopt(self: &Arc<Self>, live: &BTreeSet<AttemptId>) {
        let entries = fs::read_dir(self.dirs.logins()).into_iter().flatten().flatten();
        for path in entries.map(|it| it.path()) {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let Ok(attempt) = name.parse::<AttemptId>() else { continue };
            let Some(record) = Record::load(&path) else { continue };
            self.watch(attempt, record);
            if !live.contains(&attempt) {
                self.end(attempt);
            }
        }
    }

    /// Starts watching the copies of an attempt.
    pub(super) fn watch(self: &Arc<Self>, attempt: AttemptId, record: Record) {
        let watched = Watched {
            record,
            has_ended: false,
            seen: Vec::new(),
            not_before: None,
            complaints: BTreeSet::new(),
        };
        self.watched().insert(attempt, watched);
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        keeper.get_or_insert_with(|| tokio::spawn(keep(Arc::downgrade(self), self.wake.clone())));
        self.wake.notify_one();
    }

    /// Whether the agent of an attempt has a private home.
    pub fn is_watched(&self, attempt: AttemptId) -> bool {
        self.watched().contains_key(&attempt)
    }

    /// The agent has ended: copies back what it refreshed, and removes its home.
    pub fn end(&self, attempt: AttemptId) {
        if let Some(watched) = self.watched().get_mut(&attempt) {
            watched.has_ended = true;
            self.wake.notify_one();
        }
    }

    /// How much earlier a token expires for the next agent of this backend than for the user.
    ///
    /// Other workspaces of the user share the login, so each uses its own offset within the step.
    pub(super) fn free_time(&self, backend: &str) -> u64 {
        let id = u64::from_str_radix(self.dirs.id.as_str(), 16).unwrap_or(0);
        let watched = self.watched();
        let of_backend = watched.values().filter(|it| it.record.backend == backend);
        let taken: BTreeSet<u64> = of_backend.map(|it| it.record.sooner_ms).collect();
        let time = |number: u64| number * APART_MS + id % APART_MS;
        let count = taken.len() as u64;
        let free = (1..=count).map(time).find(|it| !taken.contains(it));
        free.unwrap_or_else(|| time(count + 1))
    }

    pub(super) fn record_path(&self, attempt: AttemptId) -> PathBuf {
        record_path(&self.dirs.logins(), attempt)
    }

    /// Synchronizes the credentials that have changed.
    pub async fn round(&self) {
        let _alone = self.round.lock().await;
        let due: BTreeSet<String> = {
            let watched = self.watched();
            let due = watched.values().filter(|it| it.is_due());
            due.map(|it| it.record.backend.clone()).collect()
        };
        for backend in due {
            if let Err(error) = self.round_of(&backend).await {
                let what = format!("failed to synchronize the logins of {backend}: {error}");
                self.log.line("Logins", &what);
                self.put_off(|_, it| it.record.backend == backend);
            }
        }
    }

    async fn round_of(&self, backend: &str) -> io::Result<()> {
        let lock = Shared::new(&self.dirs.user_logins(), backend).lock().await?;
        let (entries, seen): (Vec<Entry>, Vec<Vec<Stamps>>) = {
            let watched = self.watched();
            let of_backend = watched.iter().filter(|it| it.1.record.backend == backend);
            let entry = |(attempt, it): (&AttemptId, &Watched)| {
                let (record, has_ended) = (it.record.clone(), it.has_ended);
                // Taken before the files are read: a later change is noticed in the next round.
                let seen = stamps(&record);
                (Entry { attempt: *attempt, record, has_ended }, seen)
            };
            of_backend.map(entry).unzip()
        };
        let logins = self.dirs.logins();
        let round = tokio::task::spawn_blocking(move || settle(entries, &logins, lock));
        let settled = round.await.map_err(io::Error::other)?;
        for note in &settled.done.notes {
            self.log.line("Logins", note);
        }
        for (entry, seen) in settled.entries.into_iter().zip(seen) {
            if settled.removed.contains(&entry.attempt) {
                self.watched().remove(&entry.attempt);
            } else if let Some(it) = self.watched().get_mut(&entry.attempt) {
                (it.record, it.seen, it.not_before) = (entry.record, seen, None);
                let of_entry = settled.done.complaints.iter().filter(|it| it.0 == entry.attempt);
                let complaints: BTreeSet<String> = of_entry.map(|it| it.1.clone()).collect();
                for complaint in complaints.difference(&it.complaints) {
                    self.log.line("Logins", complaint);
                }
                it.complaints = complaints;
            }
        }
        self.put_off(|attempt, it| {
            let is_undone = settled.done.undone.contains(&attempt);
            if is_undone {
                it.seen.clear();
            }
            is_undone
        });
        Ok(())
    }

    /// Schedules a retry of what failed.
    fn put_off(&self, mut is_meant: impl FnMut(AttemptId, &mut Watched) -> bool) {
        for (attempt, watched) in &mut *self.watched() {
            if is_meant(*attempt, watched) {
                watched.not_before = Some(Instant::now() + TRY_AGAIN);
            }
        }
    }

    fn watched(&self) -> MutexGuard<'_, BTreeMap<AttemptId, Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Logins {
    fn drop(&mut self) {
        let keeper = self.keeper.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(keeper) = keeper.take() {
            keeper.abort();
        }
    }
}

/// Runs rounds as long as there is something to watch.
async fn keep(logins: Weak<Logins>, wake: Arc<Notify>) {
    while let Some(logins) = logins.upgrade() {
        logins.round().await;
        let is_idle = logins.watched().is_empty();
        // The waiting task must not keep the logins alive.
        drop(logins);
        if is_idle {
            wake.notified().await;
        } else {
            sleep(LOOK_EVERY).await;
        }
    }
}

fn record_path(logins: &Path, attempt: AttemptId) -> PathBuf {
    logins.join(format!("{attempt}.json"))
}

struct Settled {
    entries: Vec<Entry>,
    removed: Vec<AttemptId>,
    done: sync::Done,
}

fn settle(mut entries: Vec<Entry>, logins: &Path, lock: Lock) -> Settled {
    let before = entries.clone();
    let mut done = sync::in_step(&mut entries, clock::wall_ms());
    let mut removed = Vec::new();
    for (entry, before) in entries.iter().zip(&before) {
        let path = record_path(logins, entry.attempt);
        if entry.has_ended && !done.undone.contains(&entry.attempt) {
            // The record is removed last, because a later process uses it to find the rest of the
            // home.
            let home = &entry.record.home;
            match remove_tree(home).and_then(|()| fs::remove_file(path)) {
                Ok(()) => removed.push(entry.attempt),
                Err(error) => {
                    let what = format!("failed to remove {}: {error}", home.display());
                    done.complaints.push((entry.attempt, what));
                    done.undone.push(entry.attempt);
                }
            }
        } else if entry.record != before.record {
            // If this fails, the files are compared again.
            entry.record.save(&path).ok();
        }
    }
    drop(lock);
    Settled { entries, removed, done }
}
