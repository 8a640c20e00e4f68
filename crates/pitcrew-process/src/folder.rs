//! Regular files in a folder that other programs may write to at the same time.
//!
//! The folder is held by descriptor, and a file below it is opened without following links and
//! without blocking. Checks apply to the opened file: renaming or replacing part of the path
//! afterwards changes nothing.

use crate::beneath::{BeneathError, NONBLOCK_NOCTTY, exactly, is_file};
use rustix::{
    fs::{
        AtFlags, CWD, Gid, Mode, OFlags, ResolveFlags, Uid, fchmod, fchown, mkdirat, openat,
        openat2, renameat, unlinkat,
    },
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    fs::{File, Metadata},
    io::{self, Read, Write},
    os::{fd::OwnedFd, unix::fs::MetadataExt},
    path::{Component, Path},
};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

/// A folder that stays the same even if it is renamed or replaced.
#[derive(Debug)]
pub struct Folder(OwnedFd);

/// The content of a file and its metadata.
#[derive(Debug)]
pub struct Content {
    pub bytes: Vec<u8>,
    pub metadata: Metadata,
}

impl Folder {
    /// Opens the folder at a path. Links are followed, because the path is the caller's own.
    pub fn open(path: &Path) -> io::Result<Self> {
        let real = path.canonicalize()?;
        // Does not follow a link that replaces part of the path after `canonicalize`.
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        Ok(Self(openat2(CWD, &real, FOLDER | OFlags::CLOEXEC, Mode::empty(), resolve)?))
    }

    /// Opens a subfolder without following links.
    pub fn enter(&self, below: &Path) -> io::Result<Self> {
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        Ok(Self(exactly(&self.0, below, FOLDER)?))
    }

    /// Likewise, but creates missing folders, for this user only.
    pub fn enter_or_make(&self, below: &Path) -> io::Result<Self> {
        let mut folder = self.enter(Path::new(""))?;
        for part in below.components() {
            let Component::Normal(name) = part else { return Err(Errno::INVAL.into()) };
            match mkdirat(&folder.0, name, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => folder = folder.enter(Path::new(name))?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(folder)
    }

    /// Reads a regular file below this folder that has at most `bytes_max` bytes.
    pub fn read(&self, below: &Path, bytes_max: u64) -> io::Result<Content> {
        content(exactly(&self.0, below, OFlags::RDONLY | NONBLOCK_NOCTTY)?, bytes_max)
    }

    /// Opens a regular file below this folder for reading.
    pub fn file(&self, below: &Path) -> io::Result<File> {
        plain(exactly(&self.0, below, OFlags::RDONLY | NONBLOCK_NOCTTY)?)
    }

    /// Writes a new file in this folder. Replaces an existing entry of that name, unless it is a
    /// folder.
    ///
    /// Not safe against crashes: for a moment, the file does not exist.
    pub fn write(&self, name: &OsStr, bytes: &[u8]) -> io::Result<()> {
        match unlinkat(&self.0, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&self.0, name, flags, Mode::from_raw_mode(0o666))?;
        File::from(file).write_all(bytes)
    }

    /// Replaces a file in this folder atomically, for this user only. A link of that name is
    /// replaced.
    pub fn replace(&self, name: &OsStr, bytes: &[u8]) -> io::Result<()> {
        self.put(name, bytes, |_| Ok(()))
    }

    /// Likewise, but keeps the owner and the mode of the previous file.
    pub fn replace_like(&self, name: &OsStr, bytes: &[u8], before: &Metadata) -> io::Result<()> {
        self.put(name, bytes, |new| {
            let own = new.metadata()?;
            if (own.uid(), own.gid()) != (before.uid(), before.gid()) {
                let (uid, gid) = (Uid::from_raw(before.uid()), Gid::from_raw(before.gid()));
                fchown(new, Some(uid), Some(gid))?;
            }
            Ok(fchmod(new, Mode::from_raw_mode(before.mode() & 0o777))?)
        })
    }

    /// Keeps the file complete at any moment, even after a power failure.
    fn put(
        &self,
        name: &OsStr,
        bytes: &[u8],
        dress: impl FnOnce(&File) -> io::Result<()>,
    ) -> io::Result<()> {
        let new = beside(name);
        // A file that a killed process may have left behind.
        unlinkat(&self.0, &new, AtFlags::empty()).ok();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let written = (|| {
            let file = openat(&self.0, &new, flags, Mode::RUSR | Mode::WUSR)?;
            let mut file = File::from(file);
            file.write_all(bytes)?;
            dress(&file)?;
            file.sync_all()?;
            renameat(&self.0, &new, &self.0, name)?;
            // Only this makes the new file survive a power failure.
            Ok(rustix::fs::fsync(&self.0)?)
        })();
        written.inspect_err(|_| {
            unlinkat(&self.0, &new, AtFlags::empty()).ok();
        })
    }
}

/// Reads a regular file by its path, without following a final link and without blocking.
pub fn read_plain(path: &Path, bytes_max: u64) -> io::Result<Content> {
    content(open_at(path)?, bytes_max)
}

/// Opens a regular file by its path for reading, without following a final link and without
/// blocking.
pub fn open_plain(path: &Path) -> io::Result<File> {
    plain(open_at(path)?)
}

fn open_at(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | NONBLOCK_NOCTTY;
    Ok(openat(CWD, path, flags, Mode::empty())?)
}

fn plain(file: OwnedFd) -> io::Result<File> {
    is_file(&file).map_err(|error| {
        if let BeneathError::Io(error) = error {
            return error;
        }
        io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")
    })?;
    Ok(File::from(file))
}

fn content(file: OwnedFd, bytes_max: u64) -> io::Result<Content> {
    let file = plain(file)?;
    let metadata = file.metadata()?;
    let mut bytes = Vec::new();
    (&file).take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        let reason = format!("it is longer than {bytes_max} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(Content { bytes, metadata })
}

/// One temporary name is enough: a file is never replaced twice at the same time.
fn beside(name: &OsStr) -> OsString {
    let mut new = OsString::from(".");
    new.push(name);
    new.push(".pitcrew-new");
    new
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        fs,
        io::ErrorKind,
        os::unix::fs::{PermissionsExt, symlink},
    };

    const BYTES_MAX: u64 = 16;

    fn make_fifo(path: &Path) {
        rustix::fs::mknodat(CWD, path, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .expect("a pipe");
    }

    #[test]
    fn only_regular_files_of_a_bounded_size_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("real")).unwrap();
        fs::write(at("real/file"), "content").unwrap();
        fs::write(at("long"), "x".repeat(17)).unwrap();
        symlink("real", at("linked")).unwrap();
        symlink("real/file", at("link")).unwrap();
        make_fifo(&at("pipe"));
        let folder = Folder::open(dir.path()).unwrap();
        let read = |name: &str| folder.read(Path::new(name), BYTES_MAX);
        assert_eq!(read("real/file").unwrap().bytes, b"content");
        for name in ["linked/file", "link", "pipe", "real", "long", "../x", "none"] {
            assert!(read(name).is_err(), "{name}");
        }
        assert_eq!(read("none").unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(read_plain(&at("real/file"), BYTES_MAX).unwrap().bytes, b"content");
        for name in ["link", "pipe", "real", "long"] {
            assert!(read_plain(&at(name), BYTES_MAX).is_err(), "{name}");
        }
        assert!(open_plain(&at("long")).is_ok());
        for name in ["link", "pipe", "real", "none"] {
            assert!(open_plain(&at(name)).is_err(), "{name}");
        }
    }

    #[test]
    fn new_file_replaces_a_link_or_a_pipe() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("outside"), "kept").unwrap();
        symlink("outside", at("link")).unwrap();
        make_fifo(&at("pipe"));
        fs::write(at("file"), "a longer text").unwrap();
        fs::create_dir(at("folder")).unwrap();
        let folder = Folder::open(dir.path()).unwrap();
        for name in ["link", "pipe", "file", "new"] {
            folder.write(OsStr::new(name), b"new").unwrap();
            assert!(fs::symlink_metadata(at(name)).unwrap().is_file(), "{name}");
            assert_eq!(fs::read(at(name)).unwrap(), b"new", "{name}");
        }
        assert_eq!(fs::read(at("outside")).unwrap(), b"kept");
        assert!(folder.write(OsStr::new("folder"), b"new").is_err());
    }

    #[test]
    fn folder_replaced_by_a_link_is_not_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("home/inner")).unwrap();
        fs::create_dir(at("outside")).unwrap();
        let home = Folder::open(&at("home")).unwrap();
        let inner = home.enter_or_make(Path::new("inner")).unwrap();
        // The folder is replaced after it was opened and before it is written to.
        fs::rename(at("home/inner"), at("home/moved")).unwrap();
        symlink(at("outside"), at("home/inner")).unwrap();
        inner.replace(OsStr::new("file"), b"x").unwrap();
        assert_eq!(fs::read_dir(at("outside")).unwrap().count(), 0);
        assert_eq!(fs::read(at("home/moved/file")).unwrap(), b"x");
        // The folder was replaced before it is opened.
        assert!(home.enter_or_make(Path::new("inner")).is_err());
        assert!(home.enter_or_make(Path::new("../x")).is_err());
        assert_eq!(fs::read_dir(at("outside")).unwrap().count(), 0);
    }

    #[test]
    fn replaced_file_keeps_its_mode_and_a_link_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let mode = |name: &str| at(name).symlink_metadata().unwrap().permissions().mode() & 0o777;
        fs::write(at("file"), "old").unwrap();
        fs::set_permissions(at("file"), fs::Permissions::from_mode(0o640)).unwrap();
        fs::write(at("outside"), "old").unwrap();
        symlink("outside", at("link")).unwrap();
        let folder = Folder::open(dir.path()).unwrap();
        let before = folder.read(Path::new("file"), BYTES_MAX).unwrap().metadata;
        folder.replace_like(OsStr::new("file"), b"new", &before).unwrap();
        assert_eq!((fs::read(at("file")).unwrap(), mode("file")), (b"new".to_vec(), 0o640));
        folder.replace(OsStr::new("link"), b"new").unwrap();
        assert_eq!((fs::read(at("link")).unwrap(), mode("link")), (b"new".to_vec(), 0o600));
        assert_eq!(fs::read(at("outside")).unwrap(), b"old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3, "nothing is left beside them");
    }
}
