//! Files and folders of a login: read without being led anywhere else, and replaced whole.

use pitcrew_config::{replace_file, replace_private_file};
use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::Path,
};

/// More than any credential has.
const CREDENTIAL_BYTES_MAX: u64 = 1_024 * 1_024;

/// Tells two states of a file apart without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    inode: u64,
    size: u64,
    written: (i64, i64),
}

pub fn stamp(path: &Path) -> Option<Stamp> {
    let found = fs::metadata(path).ok()?;
    let written = (found.mtime(), found.mtime_nsec());
    Some(Stamp { inode: found.ino(), size: found.size(), written })
}

/// The content of a file, and when it was written, in milliseconds since the epoch.
pub fn read(path: &Path) -> Option<(Vec<u8>, u64)> {
    // Opening something else, such as a pipe, may never end.
    let found = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(CREDENTIAL_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let written_ms = found.mtime() * 1_000 + found.mtime_nsec() / 1_000_000;
    Some((bytes, u64::try_from(written_ms).unwrap_or(0)))
}

/// The same of a file that an agent may have put there: it is not led anywhere else.
pub fn read_own(path: &Path) -> Option<(Vec<u8>, u64)> {
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    read(path)
}

/// Makes a folder, and those above it, that only this user can enter.
pub fn private_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes a file that only this user can read.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    path.parent().map_or(Ok(()), private_folder)?;
    replace_private_file(path, bytes)
}

/// Replaces a file of the user's, which is there.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    path.metadata()?;
    replace_file(path, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_private_file_is_readable_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/file");
        write_private(&path, b"x").unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        write_private(&dir.path().join("c/d"), b"x").unwrap();
        assert_eq!(dir.path().join("c").metadata().unwrap().mode() & 0o777, 0o700);
        assert!(replace(&dir.path().join("none"), b"x").is_err(), "the user has taken it away");
    }

    #[test]
    fn two_states_of_a_file_have_two_stamps() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        assert_eq!(stamp(&path), None);
        write_private(&path, b"one").unwrap();
        let first = stamp(&path);
        assert_eq!(stamp(&path), first);
        write_private(&path, b"two").unwrap();
        assert_ne!(stamp(&path), first);
    }

    #[test]
    fn nothing_is_read_but_a_file() {
        let dir = tempfile::tempdir().unwrap();
        assert!(read(dir.path()).is_none() && read(&dir.path().join("none")).is_none());
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        write_private(&file, b"x").unwrap();
        symlink("file", &link).unwrap();
        assert!(read(&link).is_some() && read_own(&file).is_some());
        assert!(read_own(&link).is_none());
    }
}
