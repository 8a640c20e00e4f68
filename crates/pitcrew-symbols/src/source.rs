//! Opens files of a checkout and nothing outside it.
//!
//! Agents can create links, pipes and endless files there. The kernel resolves a path beneath the
//! root without following links, and only regular files are read.

use crate::FILE_BYTES_MAX;
use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, Stat, openat, openat2},
    io::Errno,
};
use std::{
    fs::{File, Metadata},
    io::Read as _,
    os::{fd::OwnedFd, unix::fs::MetadataExt as _},
    path::{Component, Path},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Changes whenever the content of a file changes. The writer of a file cannot choose its change
/// time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    pub size: u64,
    pub modified_ns: i64,
    pub changed_ns: i64,
    pub inode: u64,
}

/// A second change in the same clock tick would not alter the stamp.
const TICK: Duration = Duration::from_millis(100);

impl Stamp {
    pub fn of(metadata: &Metadata) -> Self {
        let ns = |seconds: i64, ns: i64| seconds.wrapping_mul(1_000_000_000).wrapping_add(ns);
        Self {
            size: metadata.size(),
            modified_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
            changed_ns: ns(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
        }
    }

    pub fn of_stat(stat: &Stat) -> Self {
        let ns = |seconds: i64, ns: u64| {
            seconds.wrapping_mul(1_000_000_000).wrapping_add(i64::try_from(ns).unwrap_or_default())
        };
        Self {
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            modified_ns: ns(stat.st_mtime, stat.st_mtime_nsec),
            changed_ns: ns(stat.st_ctime, stat.st_ctime_nsec),
            inode: stat.st_ino,
        }
    }

    /// Whether any later change would alter the stamp.
    pub fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Duration::from_nanos(self.changed_ns.unsigned_abs()) + TICK < now
    }
}

/// The folder of a checkout.
pub struct Root(OwnedFd);

/// A file that was read.
pub struct Read<'a> {
    pub stamp: Stamp,
    /// `None` if the file is too large.
    pub content: Option<&'a [u8]>,
}

impl Root {
    pub fn open(path: &Path) -> Option<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(CWD, path, flags, Mode::empty()).ok().map(Self)
    }

    /// Opens a folder to list its entries, or the root if the path is empty.
    pub fn folder(&self, path: &str) -> Option<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if path.is_empty() {
            return openat(&self.0, ".", flags, Mode::empty()).ok();
        }
        self.beneath(Path::new(path), flags)
    }

    pub fn stamp(&self, path: &str) -> Option<Stamp> {
        self.file(path, OFlags::PATH).map(|it| it.1)
    }

    /// Reads a file. The buffer can be reused for many files.
    pub fn read<'a>(&self, path: &str, buffer: &'a mut Vec<u8>) -> Option<Read<'a>> {
        let (file, stamp) = self.file(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        let limit = FILE_BYTES_MAX as u64 + 1;
        buffer.clear();
        if stamp.size < limit {
            // One more byte, to detect the end of the file.
            buffer.reserve(usize::try_from(stamp.size).ok()? + 1);
            file.take(limit).read_to_end(buffer).ok()?;
        }
        let fits = stamp.size < limit && buffer.len() <= FILE_BYTES_MAX;
        Some(Read { stamp, content: fits.then_some(buffer) })
    }

    fn file(&self, path: &str, flags: OFlags) -> Option<(File, Stamp)> {
        let file = File::from(self.beneath(Path::new(path), flags | OFlags::CLOEXEC)?);
        let metadata = file.metadata().ok()?;
        metadata.is_file().then(|| (file, Stamp::of(&metadata)))
    }

    fn beneath(&self, path: &Path, flags: OFlags) -> Option<OwnedFd> {
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(&self.0, path, flags | OFlags::NOFOLLOW, Mode::empty(), resolve) {
            Ok(file) => Some(file),
            // Some containers block this system call.
            Err(Errno::NOSYS | Errno::PERM) => self.step_by_step(path, flags),
            Err(_) => None,
        }
    }

    fn step_by_step(&self, path: &Path, flags: OFlags) -> Option<OwnedFd> {
        let mut parts = Vec::new();
        for part in path.components() {
            match part {
                Component::Normal(name) => parts.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
            }
        }
        let (name, folders) = parts.split_last()?;
        let mut folder = self.0.try_clone().ok()?;
        for part in folders {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            folder = openat(&folder, *part, flags, Mode::empty()).ok()?;
        }
        openat(&folder, *name, flags | OFlags::NOFOLLOW, Mode::empty()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn no_path_leads_outside_the_root() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("in"), dir.path().join("out"));
        fs::create_dir_all(inside.join("a")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("secret.rs"), "fn secret() {}").unwrap();
        fs::write(inside.join("a/b.rs"), "fn b() {}").unwrap();
        symlink("../out/secret.rs", inside.join("link.rs")).unwrap();
        symlink("../out", inside.join("folder")).unwrap();
        symlink("a/b.rs", inside.join("harmless.rs")).unwrap();
        rustix::fs::mkfifoat(CWD, inside.join("pipe.rs"), Mode::RUSR).unwrap();
        let root = Root::open(&inside).unwrap();
        let read = |path: &str| {
            let mut buffer = b"something else".to_vec();
            root.read(path, &mut buffer).and_then(|it| it.content.map(<[u8]>::to_vec))
        };
        assert_eq!(read("a/b.rs").unwrap(), b"fn b() {}");
        let outside = outside.join("secret.rs").display().to_string();
        for path in
            ["link.rs", "folder/secret.rs", "harmless.rs", "../out/secret.rs", "a", "pipe.rs"]
        {
            assert!(read(path).is_none(), "{path}");
            assert!(root.stamp(path).is_none(), "{path}");
            let flags = OFlags::RDONLY | OFlags::NONBLOCK;
            let opened = root.step_by_step(Path::new(path), flags).map(File::from);
            assert!(!opened.is_some_and(|it| it.metadata().unwrap().is_file()), "{path}");
        }
        assert!(read(&outside).is_none());
        assert!(root.step_by_step(Path::new("a/b.rs"), OFlags::RDONLY).is_some());
    }

    #[test]
    fn a_file_that_is_too_large_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = File::create(dir.path().join("a.rs")).unwrap();
        file.set_len(FILE_BYTES_MAX as u64 + 1).unwrap();
        let root = Root::open(dir.path()).unwrap();
        let mut buffer = Vec::new();
        let read = root.read("a.rs", &mut buffer).unwrap();
        assert!(read.content.is_none());
        assert_eq!(read.stamp.size, FILE_BYTES_MAX as u64 + 1);
    }
}
