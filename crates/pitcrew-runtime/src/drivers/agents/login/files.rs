//! Files and folders of a login: opened by descriptor, so that no link and no race redirects them,
//! and replaced atomically.

use pitcrew_config::replace_private_file;
use pitcrew_process::{Content, Folder};
use std::{
    ffi::OsString,
    fs::{self, Metadata},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::Path,
};

/// Larger than any credential.
const CREDENTIAL_BYTES_MAX: u64 = 1_024 * 1_024;

/// Detects a change of a file without reading it.
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

/// A file of the user, in its real folder. Links to it are followed.
pub struct UserFile {
    folder: Folder,
    name: OsString,
    pub content: Content,
}

impl UserFile {
    /// `None` if it is not a regular file, or too long for a credential.
    pub fn open(path: &Path) -> Option<Self> {
        let path = path.canonicalize().ok()?;
        let (folder, name) = (Folder::open(path.parent()?).ok()?, path.file_name()?.to_owned());
        let content = folder.read(Path::new(&name), CREDENTIAL_BYTES_MAX).ok()?;
        Some(Self { folder, name, content })
    }

    /// Replaces it, unless it has changed since it was opened.
    pub fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        let now = self.folder.read(Path::new(&self.name), CREDENTIAL_BYTES_MAX)?;
        if now.bytes != self.content.bytes {
            return Err(io::Error::other("it has changed in the meantime"));
        }
        self.folder.replace_like(&self.name, bytes, &now.metadata)
    }
}

/// The modification time of a file, in milliseconds since the epoch.
pub fn written_ms(metadata: &Metadata) -> u64 {
    u64::try_from(metadata.mtime() * 1_000 + metadata.mtime_nsec() / 1_000_000).unwrap_or(0)
}

/// Reads a file in an agent's home. Links that the agent created are not followed.
pub fn read_copy(home: &Path, copy: &Path) -> io::Result<Content> {
    open_home(home)?.read(below(home, copy)?, CREDENTIAL_BYTES_MAX)
}

/// Writes a file in an agent's home in the same way.
pub fn write_copy(home: &Path, copy: &Path, bytes: &[u8]) -> io::Result<()> {
    let below = below(home, copy)?;
    let name = below.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let folder = open_home(home)?.enter_or_make(below.parent().unwrap_or(Path::new("")))?;
    folder.replace(name, bytes)
}

/// Links above a home are followed, because that folder belongs to us.
fn open_home(home: &Path) -> io::Result<Folder> {
    let name = home.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    Folder::open(home.parent().unwrap_or(Path::new("/")))?.enter(Path::new(name))
}

fn below<'path>(home: &Path, copy: &'path Path) -> io::Result<&'path Path> {
    copy.strip_prefix(home).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Creates a folder, and its parents, that only this user can enter.
pub fn private_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes a file that only this user can read.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    path.parent().map_or(Ok(()), private_folder)?;
    replace_private_file(path, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_the_owner_can_read_a_private_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/file");
        write_private(&path, b"x").unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        write_private(&dir.path().join("c/d"), b"x").unwrap();
        assert_eq!(dir.path().join("c").metadata().unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_changed_file_has_a_different_stamp() {
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
    fn a_user_file_is_replaced_in_place_and_only_if_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("real/file"), dir.path().join("link"));
        write_private(&file, b"one").unwrap();
        symlink("real/file", &link).unwrap();
        let open = || UserFile::open(&link).unwrap();
        let (first, second) = (open(), open());
        first.replace(b"two").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(second.replace(b"three").is_err(), "it has changed since");
        // The folder was replaced after the file was opened.
        let third = open();
        fs::rename(dir.path().join("real"), dir.path().join("moved")).unwrap();
        write_private(&file, b"outside").unwrap();
        third.replace(b"three").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"outside");
        assert_eq!(fs::read(dir.path().join("moved/file")).unwrap(), b"three");
        let last = open();
        fs::remove_file(&file).unwrap();
        assert!(last.replace(b"x").is_err(), "the user has removed it");
        assert!(UserFile::open(dir.path()).is_none() && UserFile::open(&file).is_none());
    }
}
