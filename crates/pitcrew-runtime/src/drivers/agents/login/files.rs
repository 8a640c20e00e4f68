//! Files that are replaced whole or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown},
    path::{Path, PathBuf},
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

/// Removes a folder with all that is in it, also where an agent has locked a folder against changes.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    let remove = || match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    };
    remove().or_else(|_| {
        unlock(path);
        remove()
    })
}

/// What cannot be unlocked is found by whoever tries to remove it.
fn unlock(folder: &Path) {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).ok();
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        // A link to a folder is none: it may lead out of here.
        let inner = entries.filter(|it| it.file_type().is_ok_and(|it| it.is_dir()));
        folders.extend(inner.map(|it| it.path()));
    }
}

/// Writes a file that only this user can read.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    path.parent().map_or(Ok(()), private_folder)?;
    put(path, bytes, |_| Ok(()))
}

/// Replaces a file of the user's, which stays readable for the same people. A link stays a link.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = path.canonicalize()?;
    let before = path.metadata()?;
    put(&path, bytes, |new| {
        let own = fs::symlink_metadata(new)?;
        if (own.uid(), own.gid()) != (before.uid(), before.gid()) {
            chown(new, Some(before.uid()), Some(before.gid()))?;
        }
        fs::set_permissions(new, fs::Permissions::from_mode(before.mode() & 0o777))
    })
}

/// What is there is whole at any moment, also when the power fails.
fn put(path: &Path, bytes: &[u8], dress: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let new = beside(path);
    // One of a process that was killed.
    fs::remove_file(&new).ok();
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(bytes)?;
        dress(&new)?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        // Only now it is the new one that is there when the power fails.
        path.parent().map_or(Ok(()), |it| File::open(it)?.sync_all())
    })();
    written.inspect_err(|_| {
        fs::remove_file(&new).ok();
    })
}

/// Whoever writes here holds the lock of the login, so one name is enough.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.pitcrew-new"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_replaced_file_keeps_its_mode_and_its_link() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("real", &link).unwrap();
        replace(&link, b"new").unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(real.metadata().unwrap().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left beside it");
    }

    #[test]
    fn a_private_file_is_readable_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/file");
        // A half of an earlier try.
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(beside(&path), "half").unwrap();
        write_private(&path, b"x").unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        write_private(&dir.path().join("c/d"), b"x").unwrap();
        assert_eq!(dir.path().join("c").metadata().unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_folder_that_was_locked_can_be_removed() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, other) = (dir.path().join("folder"), dir.path().join("other"));
        fs::create_dir_all(folder.join("a/b")).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(folder.join("a/b/file"), "x").unwrap();
        symlink(&other, folder.join("link")).unwrap();
        let locked = || fs::Permissions::from_mode(0o500);
        for path in [&folder.join("a/b"), &folder.join("a"), &folder, &other] {
            fs::set_permissions(path, locked()).unwrap();
        }
        remove_folder(&folder).unwrap();
        assert!(!folder.exists());
        assert_eq!(other.metadata().unwrap().permissions().mode() & 0o777, 0o500);
        remove_folder(&folder).unwrap();
        assert!(remove_folder(&dir.path().join("a\0b")).is_err());
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
