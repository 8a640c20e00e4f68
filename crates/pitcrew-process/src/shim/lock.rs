//! The lock on an attempt's folder: held from before its shim is started until the shim is gone.
//!
//! The process that starts a shim takes the lock and passes it as the shim's standard input. So there
//! is no moment at which a shim is on its way and its folder looks free.

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

/// Takes the lock; nothing when somebody has it.
pub(crate) fn take(dir: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    locked(options.open(path(dir))?)
}

/// The lock that was given to us, or else one that we take: a shim may be started by hand.
pub(super) fn inherit(dir: &Path) -> io::Result<Option<File>> {
    let given = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let is_lock = match (given.metadata(), path(dir).metadata()) {
        (Ok(given), Ok(lock)) => (given.dev(), given.ino()) == (lock.dev(), lock.ino()),
        (Err(_), _) | (_, Err(_)) => false,
    };
    if is_lock { locked(given) } else { take(dir) }
}

/// Whether somebody has the lock, or may have it. To be able to tell, it is taken for a moment.
pub(crate) fn is_held(dir: &Path) -> bool {
    match File::open(path(dir)) {
        Ok(lock) => lock.try_lock_shared().is_err(),
        // A lock that cannot be inspected may be held: our own error must not make a shim look gone.
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
    fn only_a_lock_that_is_not_there_or_that_we_could_take_is_free() {
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
