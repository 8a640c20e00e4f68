//! Classifies errors of `SQLite` and of the operating system.

use crate::{AppendErrorKind, OpenErrorKind};
use rusqlite::{ErrorCode, ffi};
use std::{
    fs,
    io::{self, ErrorKind},
    path::Path,
};

/// More than `SQLite` needs in one step, so that a nearly full disk counts as full.
const PROBE_BYTES: usize = 64 * 1_024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Full,
    ReadOnly,
    Busy,
    Corrupt,
    Io,
}

impl Fault {
    /// Classifies an error of the database in folder `dir`.
    pub fn of(error: &rusqlite::Error, dir: &Path) -> Self {
        let Some(code) = error.sqlite_error_code() else { return Self::Io };
        if code == ErrorCode::DiskFull {
            Self::Full
        } else if matches!(code, ErrorCode::ReadOnly | ErrorCode::PermissionDenied) {
            Self::ReadOnly
        } else if matches!(code, ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) {
            Self::Busy
        } else if is_damage(code) {
            Self::Corrupt
        } else if matches!(code, ErrorCode::SystemIoFailure | ErrorCode::CannotOpen)
            && !is_sync(error)
        {
            Self::probed(dir)
        } else {
            Self::Io
        }
    }

    /// Writes a probe to the folder. `SQLite` reports "full" for only one kind of full disk, and
    /// "I/O error" for a quota, for its index file and for a file system that went read-only. Its
    /// errno is behind an unsafe call.
    fn probed(dir: &Path) -> Self {
        let path = dir.join("journal.probe");
        let written = fs::write(&path, vec![0; PROBE_BYTES]);
        let _ = fs::remove_file(&path);
        written.err().map_or(Self::Io, |it| Self::of_io(&it))
    }

    fn of_io(error: &io::Error) -> Self {
        let kind = error.kind();
        if matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
            Self::Full
        } else if matches!(kind, ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied) {
            Self::ReadOnly
        } else {
            Self::Io
        }
    }

    pub fn on_append(self, error: rusqlite::Error) -> AppendErrorKind {
        let cause = error.into();
        match self {
            Self::Full => AppendErrorKind::Full(cause),
            Self::ReadOnly => AppendErrorKind::ReadOnly(cause),
            Self::Busy => AppendErrorKind::Busy(cause),
            Self::Corrupt => AppendErrorKind::Corrupt(cause),
            Self::Io => AppendErrorKind::Io(cause),
        }
    }

    fn on_open(self, cause: Box<dyn std::error::Error + Send + Sync>) -> OpenErrorKind {
        match self {
            Self::Full => OpenErrorKind::Full(cause),
            Self::ReadOnly => OpenErrorKind::ReadOnly(cause),
            Self::Busy => OpenErrorKind::Busy(cause),
            Self::Corrupt => OpenErrorKind::Corrupt(cause),
            Self::Io => OpenErrorKind::Io(cause),
        }
    }
}

/// An unexpected row counts as damage.
fn is_damage(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::ConstraintViolation
    )
}

/// A failed sync is never retried: the kernel may have dropped the lost pages.
fn is_sync(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|it| {
        matches!(it.extended_code, ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC)
    })
}

/// Classifies an error of opening the database in folder `dir`.
pub fn on_open(error: rusqlite::Error, dir: &Path) -> OpenErrorKind {
    if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) {
        return OpenErrorKind::Garbage(error.into());
    }
    Fault::of(&error, dir).on_open(error.into())
}

impl From<io::Error> for OpenErrorKind {
    fn from(error: io::Error) -> Self {
        Fault::of_io(&error).on_open(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Classifies an error in a folder that has no space for the probe.
    fn on_full_disk(extended_code: i32) -> Fault {
        let dir = tempfile::tempdir().expect("a folder");
        symlink("/dev/full", dir.path().join("journal.probe")).expect("a link");
        Fault::of(&error(extended_code), dir.path())
    }

    fn on_sound_disk(extended_code: i32) -> Fault {
        let dir = tempfile::tempdir().expect("a folder");
        Fault::of(&error(extended_code), dir.path())
    }

    fn error(extended_code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(ffi::Error::new(extended_code), None)
    }

    #[test]
    fn a_failed_write_on_a_full_disk_is_not_a_broken_disk() {
        for code in [ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_SHMSIZE, ffi::SQLITE_CANTOPEN] {
            assert_eq!(on_full_disk(code), Fault::Full);
            assert_eq!(on_sound_disk(code), Fault::Io);
        }
    }

    #[test]
    fn a_failed_sync_is_a_broken_disk_even_when_it_is_full() {
        for code in [ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_DIR_FSYNC] {
            assert_eq!(on_full_disk(code), Fault::Io);
        }
    }
}
