//! File operations whose errors say what was attempted on which path.

use crate::error::FileError;
use pitcrew_model::{Failure, limits};
use pitcrew_process::remove_tree;
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

pub(crate) fn failed(
    attempted: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> FileError + use<> {
    let path = path.to_owned();
    move |source| FileError { attempted, path, source }
}

pub(crate) fn create_folder(path: &Path) -> Result<(), FileError> {
    fs::create_dir_all(path).map_err(failed("create the folder", path))
}

pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), FileError> {
    fs::write(path, bytes).map_err(failed("write", path))
}

pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), FileError> {
    fs::rename(from, to).map_err(failed("rename", from))
}

pub(crate) fn remove_if_there(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", path)(error)),
        _ => Ok(()),
    }
}

/// The bytes of a file; nothing where there is none.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(failed("read", path)(error)),
    }
}

/// Whether there is a real folder, not a link to one.
pub(crate) fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| it.is_dir())
}

pub(crate) fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Copies a file with its times, which git and build tools compare.
pub(crate) fn copy_with_times(from: &Path, to: &Path) -> Result<(), FileError> {
    let copy = || {
        fs::copy(from, to)?;
        let metadata = fs::metadata(from)?;
        let times = fs::FileTimes::new()
            .set_accessed(metadata.accessed()?)
            .set_modified(metadata.modified()?);
        // Setting times needs ownership only, so a read-only copy may be opened for reading.
        fs::File::open(to)?.set_times(times)
    };
    copy().map_err(failed("copy", from))
}

/// Removes a folder and everything in it, read-only folders too.
pub(crate) fn remove_folder(path: &Path) -> Result<(), FileError> {
    remove_tree(path).map_err(failed("remove", path))
}

/// A folder that is removed when it goes out of scope.
pub(crate) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    pub(crate) fn new(parent: &Path, name: &str) -> Result<Self, FileError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("{name}-{}-{number}", std::process::id()));
        remove_folder(&path)?;
        create_folder(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // What is left is removed when the vault is opened the next time.
        remove_folder(&self.0).ok();
    }
}

pub(crate) fn free_bytes(path: &Path) -> Result<u64, FileError> {
    let free = rustix::fs::statvfs(path)
        .map_err(|error| failed("measure the free space of", path)(error.into()))?;
    Ok(free.f_bavail.saturating_mul(free.f_frsize))
}

/// Refuses to go on when the disk is nearly full.
pub(crate) fn require_free_space(path: &Path) -> Result<(), Failure> {
    let free_bytes = free_bytes(path)?;
    if free_bytes < limits::FREE_BYTES_MIN {
        return Err(Failure::DiskLow { path: path.display().to_string(), free_bytes });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_reported_with_its_path() {
        // Nothing can be stored there, and it says so.
        let failure = require_free_space(Path::new("/proc")).expect_err("no room");
        assert_eq!(failure, Failure::DiskLow { path: "/proc".into(), free_bytes: 0 });
        assert!(!failure.is_retryable());
    }
}
