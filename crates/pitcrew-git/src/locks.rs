//! Locks that a killed git of Pitcrew left in the user's repository.
//!
//! Before any change there, a note records which locks the change may create and which process
//! makes it. A lock is removed only if such a note names it, the process that wrote the note has
//! ended, and no running process could hold it. A lock of the user's own git is never removed: the
//! operation waits a little and then fails with an error.

use crate::{
    Vault,
    error::{FileError, GitError},
    files,
    holders::{self, Holder},
    records::{self, Durability},
};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

/// How long to wait for a git of the user.
const WAIT_MAX: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A change of the user's repository that is in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Underway {
    /// The process that makes the change: its pid, its start time, and the boot of the machine.
    pid: u32,
    started: u64,
    boot: String,
    root: PathBuf,
    git_dir: PathBuf,
    /// The locks that the change may create. None of them existed before.
    locks: Vec<PathBuf>,
}

/// The parts of the user's repository that a change affects.
pub(crate) struct Touched<'a> {
    /// The working tree that is changed, and its git folder.
    pub(crate) root: &'a Path,
    pub(crate) git_dir: &'a Path,
    /// Files of the git folder, such as the index.
    pub(crate) files: &'a [&'a str],
    pub(crate) refs: &'a [&'a str],
}

impl Vault {
    /// Changes the user's repository. A note of the change exists until it is done.
    pub(crate) fn change_user<T>(
        &self,
        touched: &Touched<'_>,
        change: impl FnOnce() -> Result<T, GitError>,
    ) -> Result<T, GitError> {
        let locks = self.locks_of(touched);
        wait_for(&locks);
        let note = self.note_underway(touched, locks);
        let result = change();
        if let Ok((path, underway)) = note {
            // This git has ended. If it was killed, its locks remain.
            underway.remove_locks();
            // If this fails, the note is processed the next time the vault is opened.
            fs::remove_file(path).ok();
        }
        result
    }

    /// Changes only refs, in the repository itself.
    pub(crate) fn change_user_refs<T>(
        &self,
        refs: &[&str],
        change: impl FnOnce() -> Result<T, GitError>,
    ) -> Result<T, GitError> {
        let (root, git_dir) = (self.user.root(), self.user.git_dir());
        // A change of the current branch is also logged for HEAD.
        self.change_user(&Touched { root, git_dir, files: &["HEAD"], refs }, change)
    }

    fn locks_of(&self, touched: &Touched<'_>) -> Vec<PathBuf> {
        let own = touched.files.iter().map(|it| touched.git_dir.join(it));
        let shared = ["packed-refs", "shallow"].map(|it| self.user.common_dir().join(it));
        let refs = touched.refs.iter().map(|it| self.user.common_dir().join(it));
        let with_lock = |mut path: PathBuf| {
            path.as_mut_os_string().push(".lock");
            path
        };
        own.chain(shared).chain(refs).map(with_lock).collect()
    }

    /// If no note can be written, that is no reason to fail: a lock that is left would stay, and
    /// git's error message explains what to do.
    fn note_underway(
        &self,
        touched: &Touched<'_>,
        locks: Vec<PathBuf>,
    ) -> Result<(PathBuf, Underway), FileError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let pid = std::process::id();
        let underway = Underway {
            pid,
            started: holders::start_of(pid).unwrap_or_default(),
            boot: holders::boot(),
            root: touched.root.to_owned(),
            git_dir: touched.git_dir.to_owned(),
            locks: locks.into_iter().filter(|it| !files::is_there(it)).collect(),
        };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = self.records().underway().join(format!("{pid}-{number}.json"));
        records::write(&path, &underway, Durability::PowerLoss)?;
        Ok((path, underway))
    }

    /// Removes the locks of changes whose process ended before they were done.
    pub(crate) fn remove_user_locks(&self) {
        let notes = fs::read_dir(self.records().underway()).into_iter().flatten().flatten();
        for path in notes.map(|it| it.path()) {
            let Ok(note) = records::read::<Underway>(&path) else { continue };
            if note.as_ref().is_some_and(Underway::is_alive) {
                continue;
            }
            if let Some(underway) = note {
                underway.remove_locks();
            }
            // Any lock that remains belongs to another program.
            fs::remove_file(path).ok();
        }
    }
}

impl Underway {
    fn is_alive(&self) -> bool {
        self.boot == holders::boot() && holders::start_of(self.pid) == Some(self.started)
    }

    fn remove_locks(&self) {
        for lock in self.locks.iter().filter(|it| files::is_there(it)) {
            let folders = [self.root.as_path(), self.git_dir.as_path()];
            if holders::who_has_open(lock).or_else(|| holders::git_in(&folders)).is_none() {
                // If this fails, the next change that the lock blocks reports it.
                fs::remove_file(lock).ok();
            }
        }
    }
}

/// Waits briefly until other programs release their locks.
#[expect(clippy::disallowed_methods, reason = "there is no event to wait for")]
fn wait_for(locks: &[PathBuf]) {
    let until = Instant::now() + WAIT_MAX;
    while Instant::now() < until && locks.iter().any(|it| files::is_there(it)) {
        thread::sleep(LOOK_AGAIN);
    }
}

/// The lock that blocked git, according to its error message.
pub(crate) fn named_by(stderr: &str) -> Option<PathBuf> {
    let (_, rest) = stderr.split_once("Unable to create '")?;
    let (path, _) = rest.split_once("': File exists")?;
    Some(PathBuf::from(path))
}

/// Describes a lock for the person whom it blocks.
pub(crate) fn describe(lock: &Path) -> String {
    let shown = lock.display();
    match holder(lock) {
        Some(Holder { pid, command }) => {
            format!("`{shown}` is held by process {pid} (`{command}`): let it end, then try again")
        }
        None => format!(
            "`{shown}` is there, and no git that could hold it was found: if none is at work, \
             remove it, then try again"
        ),
    }
}

fn holder(lock: &Path) -> Option<Holder> {
    let git_dir = lock.ancestors().find(|it| files::is_there(&it.join("HEAD")));
    // The folder that contains `.git`. The git folder of a linked worktree is elsewhere; then only
    // a process that has the lock open is found.
    let root = git_dir.filter(|it| it.ends_with(".git")).and_then(Path::parent);
    let folders: Vec<&Path> = git_dir.into_iter().chain(root).collect();
    holders::who_has_open(lock).or_else(|| holders::git_in(&folders))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{Lab, write};

    #[test]
    fn killed_git_leaves_no_lock_in_the_users_repository() {
        let lab = Lab::new();
        let vault = lab.vault();
        let lock = vault.user.common_dir().join("refs/heads/topic.lock");
        let left = vault.change_user_refs(&["refs/heads/topic"], || {
            write(&lock, "");
            Ok(files::is_there(&lock))
        });
        assert!(left.expect("it is changed"), "the lock was there");
        assert!(!files::is_there(&lock), "it is removed");
    }

    #[test]
    fn blocking_lock_is_parsed_from_gits_message() {
        let words = "error: cannot lock ref 'refs/heads/a': Unable to create \
                     '/r/.git/refs/heads/a.lock': File exists.\n\nAnother git process seems\n";
        assert_eq!(named_by(words), Some("/r/.git/refs/heads/a.lock".into()));
        assert_eq!(named_by("fatal: bad revision"), None);
    }
}
