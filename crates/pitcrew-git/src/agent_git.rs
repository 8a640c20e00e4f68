//! Reads the git folder of an agent's checkout without starting git.
//!
//! An agent may leave anything in it. Git opens every file it finds, blocks on pipes, and follows
//! links and settings. So only regular files of a bounded size are read here, and git gets access
//! to the objects only if they consist of folders and regular files.

use pitcrew_model::CommitId;
use pitcrew_process::Folder;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};
use std::{
    fs, io,
    os::fd::OwnedFd,
    path::{Component, Path},
};

const REF_BYTES_MAX: u64 = 1_024;
const PACKED_REFS_BYTES_MAX: u64 = 16 * 1_024 * 1_024;
const ALTERNATES_BYTES_MAX: u64 = 64 * 1_024;

/// More entries than an agent's git folder needs, because it borrows the objects of its start.
const ENTRIES_MAX: usize = 200_000;
/// Deeper than git ever nests files.
const DEPTH_MAX: usize = 32;

/// The files and folders that git opens when it is started on the folder. Hooks are not run.
const OPENED: [&str; 10] = [
    "HEAD",
    "config",
    "config.worktree",
    "commondir",
    "packed-refs",
    "shallow",
    "refs",
    "objects",
    "info",
    "worktrees",
];

/// The commit at the HEAD of a checkout. `None` if it is unknown, or if it is a commit of the agent
/// and its objects are not plain folders and files.
pub(crate) fn head(checkout: &Path, start: &CommitId) -> Option<CommitId> {
    let git = open(checkout).ok()?;
    let commit = CommitId(named(&git, start)?);
    let may_be_read = || is_tree(&checkout.join(".git/objects")) && borrows_plainly(checkout, &git);
    (commit == *start || may_be_read()).then_some(commit)
}

/// Whether git may be started on the folder itself. A missing folder is harmless.
pub(crate) fn is_plain(checkout: &Path) -> bool {
    let git_dir = checkout.join(".git");
    match fs::symlink_metadata(&git_dir) {
        Ok(found) if found.is_dir() => {}
        // In this case, git does not read it.
        _ => return true,
    }
    let opened = OPENED.iter().map(|it| git_dir.join(it)).all(|it| is_tree(&it));
    opened && open(checkout).is_ok_and(|git| borrows_plainly(checkout, &git))
}

fn open(checkout: &Path) -> io::Result<Folder> {
    Folder::open(checkout)?.enter(Path::new(".git"))
}

fn named(git: &Folder, start: &CommitId) -> Option<String> {
    let head = text(git, Path::new("HEAD"), REF_BYTES_MAX)?;
    let Some(name) = head.trim_end().strip_prefix("ref: ") else { return object(&head, start) };
    let path = Path::new(name);
    let is_plain = path.components().all(|it| matches!(it, Component::Normal(_)));
    if !name.starts_with("refs/") || !is_plain {
        return None;
    }
    if let Some(text) = text(git, path, REF_BYTES_MAX) {
        return object(&text, start);
    }
    let packed = text(git, Path::new("packed-refs"), PACKED_REFS_BYTES_MAX)?;
    let is_it = |line: &&str| line.split_once(' ').is_some_and(|it| it.1 == name);
    packed.lines().find(is_it).and_then(|line| object(line.split(' ').next()?, start))
}

fn text(git: &Folder, path: &Path, bytes_max: u64) -> Option<String> {
    String::from_utf8(git.read(path, bytes_max).ok()?.bytes).ok()
}

fn object(text: &str, start: &CommitId) -> Option<String> {
    let name = text.trim_end();
    let is_name = name.len() == start.0.len() && name.bytes().all(|it| it.is_ascii_hexdigit());
    is_name.then(|| name.to_owned())
}

/// Whether the alternates are real paths without links and all are outside the agent's checkout.
fn borrows_plainly(checkout: &Path, git: &Folder) -> bool {
    let path = Path::new("objects/info/alternates");
    let lines = match git.read(path, ALTERNATES_BYTES_MAX) {
        Ok(content) => String::from_utf8(content.bytes).unwrap_or_else(|_| "?".to_owned()),
        Err(error) => return error.kind() == io::ErrorKind::NotFound,
    };
    let Ok(checkout) = checkout.canonicalize() else { return false };
    let is_others = |line: &str| {
        let path = Path::new(line);
        let is_own = path.starts_with(&checkout) || path.starts_with("/proc");
        !is_own && path.canonicalize().is_ok_and(|it| it == path)
    };
    lines.lines().filter(|it| !it.is_empty()).all(is_others)
}

/// Whether the path is missing, a regular file, or a folder of regular files and folders.
fn is_tree(path: &Path) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else { return true };
    let mut left = ENTRIES_MAX;
    found.is_file()
        || found.is_dir() && {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let folder = openat(CWD, path, flags, Mode::empty());
            folder.is_ok_and(|it| has_only_files(&it, DEPTH_MAX, &mut left).unwrap_or(false))
        }
}

fn has_only_files(folder: &OwnedFd, depth: usize, left: &mut usize) -> io::Result<bool> {
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if [&b"."[..], b".."].contains(&name.to_bytes()) {
            continue;
        }
        if *left == 0 || depth == 0 {
            return Ok(false);
        }
        *left -= 1;
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
            kind = FileType::from_raw_mode(found.st_mode);
        }
        let is_plain = match kind {
            FileType::RegularFile => true,
            FileType::Directory => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                has_only_files(&openat(folder, name, flags, Mode::empty())?, depth - 1, left)?
            }
            FileType::Symlink
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => false,
        };
        if !is_plain {
            return Ok(false);
        }
    }
    Ok(true)
}
