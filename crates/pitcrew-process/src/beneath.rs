//! Opens files beneath a folder and never outside it, whatever links it contains.
//!
//! A path is located first: links in it are resolved in this module as long as they stay beneath
//! the folder. The result contains no links, so a rule about paths can be applied to it. The file
//! is then opened with links forbidden, so the checked file is the opened file, even if a link is
//! placed there in between. This module does not decide who may open what.

use pitcrew_model::{PathError, RepoPath};
use rustix::{
    fs::{
        FileType, Mode, OFlags, ResolveFlags, fstat, ftruncate, mkdirat, openat, openat2,
        readlinkat,
    },
    io::Errno,
};
use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Component, Path, PathBuf},
};

/// The most links that are followed, the same limit as in the kernel.
const LINKS_MAX: usize = 40;

/// A folder beneath which files are opened.
#[derive(Debug)]
pub struct Beneath {
    root: OwnedFd,
    /// The folder's path as it was given, and its canonical path.
    names: [PathBuf; 2],
}

/// Why a file cannot be opened. Each message completes a sentence that begins with the path.
#[derive(Debug, thiserror::Error)]
pub enum BeneathError {
    #[error("it leads outside")]
    Outside,
    #[error("it leads into `.git`")]
    Git,
    #[error("it is not a usable path: {0}")]
    Path(PathError),
    #[error("there is no such file")]
    Missing,
    #[error("it is not a file")]
    NotAFile,
    #[error("it follows too many links, or changes while it is opened")]
    Links,
    #[error("it has another name elsewhere")]
    OtherName,
    #[error(transparent)]
    Io(io::Error),
}

impl From<Errno> for BeneathError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT => Self::Missing,
            Errno::XDEV => Self::Outside,
            Errno::LOOP => Self::Links,
            // Part of the path is not a folder, or the target is a folder or a pipe without a
            // reader.
            Errno::NOTDIR | Errno::ISDIR | Errno::NXIO => Self::NotAFile,
            error => Self::Io(error.into()),
        }
    }
}

impl From<PathError> for BeneathError {
    fn from(error: PathError) -> Self {
        match error {
            PathError::GitDir => Self::Git,
            PathError::Outside | PathError::Absolute => Self::Outside,
            error @ (PathError::Empty | PathError::Glob | PathError::Character) => {
                Self::Path(error)
            }
        }
    }
}

impl Beneath {
    pub fn open(root: &Path) -> io::Result<Self> {
        let real = root.canonicalize()?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&real, flags, Mode::empty())?;
        Ok(Self { root: folder, names: [root.to_owned(), real] })
    }

    /// Resolves a path to a path without links, relative to the folder. The file need not exist.
    ///
    /// `path` is relative to the folder, or absolute and beneath it.
    pub fn locate(&self, path: &str) -> Result<RepoPath, BeneathError> {
        let mut rest = parts(self.relative(path)?);
        let mut place: Vec<String> = Vec::new();
        let mut links_count = 0;
        while let Some(part) = rest.pop_front() {
            if part == "." || part == ".." {
                self.is_passable(&place.join("/"))?;
                if part == ".." {
                    place.pop().ok_or(BeneathError::Outside)?;
                }
                continue;
            }
            place.push(part);
            let link = match self.link_at(&place.join("/")) {
                Ok(Some(link)) => link,
                Ok(None) => continue,
                // A path below a missing entry contains no links.
                Err(Errno::NOENT) if !rest.iter().any(|it| it == "..") => {
                    place.extend(rest.into_iter().filter(|it| it != "."));
                    break;
                }
                Err(error) => return Err(error.into()),
            };
            links_count += 1;
            if links_count > LINKS_MAX {
                return Err(BeneathError::Links);
            }
            if link.starts_with('/') {
                return Err(BeneathError::Outside);
            }
            place.pop();
            for part in parts(&link).into_iter().rev() {
                rest.push_front(part);
            }
        }
        let place = place.join("/");
        Ok(if place.is_empty() { RepoPath::root() } else { RepoPath::parse(&place)? })
    }

    /// Opens a located file for reading. Never blocks.
    pub fn read(&self, place: &RepoPath) -> Result<File, BeneathError> {
        if place.is_root() {
            return Err(BeneathError::NotAFile);
        }
        let file = exactly(&self.root, place.as_str(), OFlags::RDONLY | NONBLOCK_NOCTTY)?;
        is_file(&file)?;
        Ok(file.into())
    }

    /// Replaces the content of a located file. Creates the file and its parent folders if they are
    /// missing.
    ///
    /// Refuses a file with more than one hard link: the other name may be outside the folder.
    pub fn write(&self, place: &RepoPath, content: &[u8]) -> Result<(), BeneathError> {
        let mut parts = parts(place.as_str());
        let name = parts.pop_back().ok_or(BeneathError::NotAFile)?;
        let mut folder = exactly(&self.root, ".", OFlags::PATH | OFlags::DIRECTORY)?;
        for part in parts {
            folder = enter(&folder, &part)?;
        }
        let file = exactly(&folder, &name, OFlags::WRONLY | OFlags::CREATE | NONBLOCK_NOCTTY)?;
        if is_file(&file)? > 1 {
            return Err(BeneathError::OtherName);
        }
        ftruncate(&file, 0)?;
        File::from(file).write_all(content).map_err(BeneathError::Io)
    }

    fn relative<'path>(&self, path: &'path str) -> Result<&'path str, BeneathError> {
        let below = |it: &PathBuf| Path::new(path).strip_prefix(it).ok()?.to_str();
        let relative = if Path::new(path).is_absolute() {
            self.names.iter().find_map(below).ok_or(BeneathError::Outside)?
        } else {
            path
        };
        let relative = if relative.is_empty() { "." } else { relative };
        RepoPath::parse(relative)?;
        Ok(relative)
    }

    /// Follows the system's rule: `.` and `..` are valid only after a folder.
    fn is_passable(&self, path: &str) -> Result<(), Errno> {
        let path = if path.is_empty() { "." } else { path };
        exactly(&self.root, path, OFlags::PATH | OFlags::DIRECTORY).map(drop)
    }

    /// Returns the target of the link at a path, or nothing if the entry is not a link.
    fn link_at(&self, path: &str) -> Result<Option<String>, Errno> {
        let entry = exactly(&self.root, path, OFlags::PATH)?;
        if FileType::from_raw_mode(fstat(&entry)?.st_mode) != FileType::Symlink {
            return Ok(None);
        }
        let link = readlinkat(&entry, "", Vec::new())?;
        // A target that is not UTF-8 cannot be part of a requested path.
        Ok(Some(link.into_string().unwrap_or_else(|_| "/".to_owned())))
    }
}

/// Opening never blocks, whatever the kind of file, and never acquires a controlling terminal.
pub(crate) const NONBLOCK_NOCTTY: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY);

/// Opens the entry at a path. Fails if any part of the path, including the last, is a link.
pub(crate) fn exactly(
    folder: impl AsFd,
    path: impl AsRef<Path>,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    let mode =
        if flags.contains(OFlags::CREATE) { Mode::from_raw_mode(0o666) } else { Mode::empty() };
    let (path, flags) = (path.as_ref(), flags | OFlags::NOFOLLOW | OFlags::CLOEXEC);
    match openat2(&folder, path, flags, mode, resolve) {
        // seccomp cannot inspect the mode that this call gives to a new file, so boxes refuse the
        // call.
        Err(Errno::NOSYS | Errno::PERM) => step_by_step(folder.as_fd(), path, flags, mode),
        opened => opened,
    }
}

/// Opens the same file as `openat2` with links forbidden, one path component at a time.
fn step_by_step(
    folder: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    const FOLDER: OFlags =
        OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
    let mut above = openat(folder, ".", FOLDER, Mode::empty())?;
    let mut parts = path.components().filter(|it| *it != Component::CurDir).peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else { return Err(Errno::XDEV) };
        if parts.peek().is_none() {
            return openat(&above, name, flags, mode);
        }
        above = openat(&above, name, FOLDER, Mode::empty())?;
    }
    openat(&above, ".", flags, mode)
}

/// Opens a subfolder, and creates it if it is missing.
fn enter(folder: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY;
    match exactly(folder, name, flags) {
        Err(Errno::NOENT) => {
            match mkdirat(folder, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
            exactly(folder, name, flags)
        }
        entered => entered,
    }
}

/// Returns the number of hard links of a regular file.
pub(crate) fn is_file(file: &OwnedFd) -> Result<u64, BeneathError> {
    let about = fstat(file)?;
    match FileType::from_raw_mode(about.st_mode) {
        FileType::RegularFile => Ok(about.st_nlink),
        FileType::Directory
        | FileType::Symlink
        | FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Err(BeneathError::NotAFile),
    }
}

fn parts(path: &str) -> VecDeque<String> {
    path.split('/').filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        fs::{self, read_to_string},
        os::unix::fs::symlink,
    };

    #[test]
    fn opening_step_by_step_follows_no_link_and_stays_beneath() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("root/a/b")).unwrap();
        fs::write(at("root/a/b/file"), "text").unwrap();
        fs::write(at("outside"), "outside").unwrap();
        symlink("a", at("root/link")).unwrap();
        symlink("../../../outside", at("root/a/b/out")).unwrap();
        let root = Beneath::open(&at("root")).unwrap().root;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let step = |path: &str, flags: OFlags| {
            step_by_step(root.as_fd(), path.as_ref(), flags, Mode::from_raw_mode(0o666))
        };
        for path in ["a/b/file", "./a/b/file", "a/./b/file"] {
            let file = step(path, flags).unwrap();
            let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
            assert_eq!(read_to_string(path).unwrap(), "text");
        }
        for path in ["../outside", "a/../../outside", "/etc/passwd", "link/b/file", "a/b/out"] {
            assert!(step(path, flags).is_err(), "{path}");
        }
        assert!(step(".", flags | OFlags::DIRECTORY).is_ok());
        assert!(step("a/new", flags | OFlags::WRONLY | OFlags::CREATE).is_ok());
        assert!(at("root/a/new").exists());
    }
}
