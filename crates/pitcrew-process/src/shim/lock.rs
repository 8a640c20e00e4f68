//! The lock on an attempt's folder. It is held from before its shim starts until the shim has
//! ended.
//!
//! The process that starts a shim takes the lock and passes it as the shim's standard input. So the
//! folder never looks free while a shim is starting.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    os::{
        fd::AsFd,
        unix::fs::{MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

pub(crate) fn path(dir: &Path) -> PathBuf {
    dir.join("lock")
}

/// Takes the lock. Returns nothing if it is already held.
pub(crate) fn take(dir: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    locked(options.open(path(dir))?)
}

/// Returns the lock that was passed to us, or takes it: a shim may be started by hand.
pub(super) fn inherit(dir: &Path) -> io::Result<Option<File>> {
    let given = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let is_lock = match (given.metadata(), path(dir).metadata()) {
        (Ok(given), Ok(lock)) => (given.dev(), given.ino()) == (lock.dev(), lock.ino()),
        (Err(_), _) | (_, Err(_)) => false,
    };
    if is_lock { locked(given) } else { take(dir) }
}

/// Whether the lock is held, or may be. To find out, it is taken for a moment.
pub(crate) fn is_held(dir: &Path) -> bool {
    match File::open(path(dir)) {
        Ok(lock) => lock.try_lock_shared().is_err(),
        // A lock that cannot be inspected may be held. An error here must not hide a shim.
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

fn locked(lock: File) -> io::Result<Option<File>> {
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_a_missing_or_available_lock_is_free() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!is_held(dir.path()), "it is not there");
        let lock = take(dir.path()).unwrap().unwrap();
        assert!(is_held(dir.path()));
        drop(lock);
        assert!(!is_held(dir.path()));
        std::fs::remove_file(dir.path().join("lock")).unwrap();
        symlink("lock", dir.path().join("lock")).unwrap();
        assert!(is_held(dir.path()), "it cannot be opened");
    }
}
