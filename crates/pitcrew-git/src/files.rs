//! File operations whose errors name the operation and the path.

use crate::error::FileError;
use pitcrew_model::{Failure, limits};
use pitcrew_process::{Folder, remove_tree};
use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
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

/// Creates a folder and its parents, accessible only by this user. Access to an existing folder is
/// restricted too, because files in it may have any mode.
pub(crate) fn create_private_folder(path: &Path) -> Result<(), FileError> {
    let create = || {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let mode = fs::metadata(path)?.permissions().mode();
        let is_open = mode & 0o077 != 0;
        if is_open { fs::set_permissions(path, fs::Permissions::from_mode(0o700)) } else { Ok(()) }
    };
    create().map_err(failed("make private the folder", path))
}

/// Writes a new file at a path below a folder that an agent's programs may have written to.
/// Replaces an existing file. A link among the parent folders is an error.
pub(crate) fn write_below(
    folder: &Path,
    below: impl AsRef<Path>,
    bytes: impl AsRef<[u8]>,
) -> Result<(), FileError> {
    let below = below.as_ref();
    let parent = below.parent().expect("it is below the folder");
    let name = below.file_name().expect("a file has a name");
    let write = || Folder::open(folder)?.enter(parent)?.write(name, bytes.as_ref());
    write().map_err(failed("write", &folder.join(below)))
}

/// Whether there is a real folder at a path below another folder, with no link on the way.
pub(crate) fn is_folder_below(folder: &Path, below: impl AsRef<Path>) -> bool {
    Folder::open(folder).and_then(|it| it.enter(below.as_ref())).is_ok()
}

pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), FileError> {
    fs::write(path, bytes).map_err(failed("write", path))
}

pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), FileError> {
    fs::rename(from, to).map_err(failed("rename", from))
}

pub(crate) fn remove_if_there(path: &Path) -> Result<(), FileError> {
    remove_existing(path).map_err(failed("remove", path))
}

fn remove_existing(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Reads a file. `None` if it does not exist.
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

/// Whether the path is a real folder, not a link to one.
pub(crate) fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| it.is_dir())
}

pub(crate) fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Copies a file with its times, which git and build tools compare.
pub(crate) fn copy_with_times(from: &Path, to: &Path) -> Result<(), FileError> {
    fs::File::open(from).and_then(|it| copy_open(it, to)).map_err(failed("copy", from))
}

/// Like `copy_with_times`, but from a path below a folder that an agent's programs may have written
/// to.
pub(crate) fn copy_from_below(
    folder: &Path,
    below: impl AsRef<Path>,
    to: &Path,
) -> Result<(), FileError> {
    let copy = || copy_open(Folder::open(folder)?.file(below.as_ref())?, to);
    copy().map_err(failed("copy", &folder.join(below.as_ref())))
}

fn copy_open(mut from: fs::File, to: &Path) -> io::Result<()> {
    let metadata = from.metadata()?;
    remove_existing(to)?;
    let mut to = fs::File::create_new(to)?;
    io::copy(&mut from, &mut to)?;
    let times =
        fs::FileTimes::new().set_accessed(metadata.accessed()?).set_modified(metadata.modified()?);
    to.set_times(times)
}

/// Removes a folder and everything in it, including read-only folders.
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
        // If this fails, the folder is removed the next time the vault is opened.
        remove_folder(&self.0).ok();
    }
}

pub(crate) fn free_bytes(path: &Path) -> Result<u64, FileError> {
    let free = rustix::fs::statvfs(path)
        .map_err(|error| failed("measure the free space of", path)(error.into()))?;
    Ok(free.f_bavail.saturating_mul(free.f_frsize))
}

/// Fails if the disk is nearly full.
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
    fn full_disk_is_reported_with_its_path() {
        // Nothing can be stored in `/proc`, and it reports no free space.
        let failure = require_free_space(Path::new("/proc")).expect_err("no room");
        assert_eq!(failure, Failure::DiskLow { path: "/proc".into(), free_bytes: 0 });
        assert!(!failure.is_retryable());
    }
}
