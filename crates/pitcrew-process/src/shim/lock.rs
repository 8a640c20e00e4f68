//! The lock on an attempt's folder: held from before its shim is started until the shim is gone.
//!
//! Whoever starts a shim takes the lock and gives it along as the shim's standard input. So there
//! is no moment at which a shim is on its way and its folder looks free.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    os::{
        fd::AsFd,
        unix::fs::{MetadataExt, OpenOptionsExt},
    },
    path::Path,
};

/// Takes the lock; nothing when somebody has it.
pub(crate) fn take(dir: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    locked(options.open(dir.join("lock"))?)
}

/// The lock that was given to us, or else one that we take: a shim may be started by hand.
pub(super) fn inherit(dir: &Path) -> io::Result<Option<File>> {
    let given = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let is_lock = match (given.metadata(), dir.join("lock").metadata()) {
        (Ok(given), Ok(lock)) => (given.dev(), given.ino()) == (lock.dev(), lock.ino()),
        (Err(_), _) | (_, Err(_)) => false,
    };
    if is_lock { locked(given) } else { take(dir) }
}

/// Whether somebody has the lock. To be able to tell, it is taken for a moment.
pub(crate) fn is_held(dir: &Path) -> bool {
    let lock = File::open(dir.join("lock"));
    lock.is_ok_and(|it| matches!(it.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn locked(lock: File) -> io::Result<Option<File>> {
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
