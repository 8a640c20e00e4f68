//! Copies files that git does not track from the user's tree to a new checkout: agent
//! configuration, and the ignored files that `.worktreeinclude` names. Never overwrites existing
//! files.

use crate::{
    Vault,
    error::{FileError, GitError, VaultError},
    files::{self, failed},
    git_dir::exclude_line,
};
use pitcrew_process::Cancel;
use std::{
    ffi::OsStr,
    fs, io,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::{Component, Path, PathBuf},
};

/// Without these files, an agent lacks the commands and tools that its prompt refers to.
const AGENT_CONFIG: [&str; 6] =
    [".claude", ".mcp.json", ".codex", ".gemini", ".goosehints", ".opencode"];
/// The file that names ignored files to copy, one pattern per line, as in `.gitignore`.
const INCLUDE: &str = ".worktreeinclude";
/// If more files than this were copied from a requested folder, the excludes name the folder.
const EXCLUDE_LINES_MAX: usize = 1_000;
/// Stops at cycles of links.
const DEPTH_MAX: usize = 64;

impl Vault {
    /// Copies missing files and returns lines for the checkout's excludes.
    pub(crate) fn bootstrap(
        &self,
        checkout: &Path,
        cancel: &Cancel,
    ) -> Result<Vec<u8>, VaultError> {
        let root = self.user.root();
        let mut wanted: Vec<PathBuf> = AGENT_CONFIG.iter().map(PathBuf::from).collect();
        wanted.retain(|it| files::is_there(&root.join(it)));
        if files::is_there(&root.join(INCLUDE)) {
            wanted.extend(self.included(cancel)?);
        }
        let mut exclude = Vec::new();
        for path in wanted {
            let copied = copy_missing(root, checkout, &path)?;
            if copied.len() > EXCLUDE_LINES_MAX {
                exclude.extend(exclude_line(path.as_os_str().as_bytes()));
            } else {
                for file in copied {
                    exclude.extend(exclude_line(file.as_os_str().as_bytes()));
                }
            }
        }
        Ok(exclude)
    }

    /// The files and folders that git ignores and `.worktreeinclude` names.
    fn included(&self, cancel: &Cancel) -> Result<Vec<PathBuf>, GitError> {
        let named = self
            .user
            .call("ls-files")
            .args(["-z", "--others", "--ignored", "--directory", "--exclude-from"])
            .arg(self.user.root().join(INCLUDE))
            .output(cancel)?;
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let answer =
            self.user.call("check-ignore").args(["-z", "--stdin"]).stdin(named).finish(cancel)?;
        match answer.finished.code {
            Some(0 | 1) => Ok(answer
                .finished
                .stdout
                .split(|it| *it == 0)
                .filter(|it| !it.is_empty())
                .map(|it| Path::new(OsStr::from_bytes(it)).components().collect())
                .collect()),
            _ => Err(answer.error()),
        }
    }
}

/// Copies a file or folder of the user's tree, skipping what the checkout already has.
pub(crate) fn copy_missing(
    root: &Path,
    checkout: &Path,
    path: &Path,
) -> Result<Vec<PathBuf>, FileError> {
    let mut copied = Vec::new();
    let mut open = vec![(root.join(path), path.to_owned())];
    while let Some((from, path)) = open.pop() {
        let to = checkout.join(&path);
        let Some(kind) = kind_of(root, &from) else { continue };
        if !has_plain_parents(checkout, &path) || path.components().count() > DEPTH_MAX {
            continue;
        }
        match kind {
            Kind::Folder => {
                if files::is_there(&to) && !files::is_folder(&to) {
                    continue;
                }
                let entries = fs::read_dir(&from).map_err(failed("read the folder", &from))?;
                for entry in entries.flatten().filter(|it| it.file_name() != ".git") {
                    open.push((entry.path(), path.join(entry.file_name())));
                }
            }
            Kind::File | Kind::Link(_) if files::is_there(&to) => {}
            Kind::File => {
                copy_file(&from, &to)?;
                copied.push(path);
            }
            Kind::Link(target) => {
                make_parent(&to)?;
                symlink(&target, &to).map_err(failed("link", &to))?;
                copied.push(path);
            }
        }
    }
    copied.sort();
    Ok(copied)
}

enum Kind {
    File,
    Folder,
    Link(PathBuf),
}

/// The kind of file at `path`. A link that leaves the repository counts as its target, because an
/// agent must not write through it.
fn kind_of(root: &Path, path: &Path) -> Option<Kind> {
    let metadata = fs::symlink_metadata(path).ok()?;
    if metadata.is_symlink() {
        let target = fs::read_link(path).ok()?;
        let end = path.canonicalize().ok()?;
        if target.is_relative() && end.starts_with(root) {
            return Some(Kind::Link(target));
        }
    }
    let metadata = fs::metadata(path).ok()?;
    if metadata.is_dir() {
        Some(Kind::Folder)
    } else if metadata.is_file() {
        Some(Kind::File)
    } else {
        None
    }
}

/// Whether every folder above `path` is a real folder. The tree may have a link in its place.
fn has_plain_parents(checkout: &Path, path: &Path) -> bool {
    let mut folder = checkout.to_owned();
    for part in path.parent().into_iter().flat_map(Path::components) {
        let Component::Normal(part) = part else { return false };
        folder.push(part);
        if files::is_there(&folder) && !files::is_folder(&folder) {
            return false;
        }
    }
    true
}

fn make_parent(path: &Path) -> Result<(), FileError> {
    files::create_folder(path.parent().expect("it is below the checkout"))
}

/// Copies a file with its mode and times, sharing its blocks if the file system supports it.
fn copy_file(from: &Path, to: &Path) -> Result<(), FileError> {
    make_parent(to)?;
    let copy = || -> io::Result<()> {
        let mut source = fs::File::open(from)?;
        let mut target = fs::File::create_new(to)?;
        if rustix::fs::ioctl_ficlone(&target, &source).is_err() {
            io::copy(&mut source, &mut target)?;
        }
        let metadata = source.metadata()?;
        // No program in a checkout runs as the file's owner or group.
        let mode = metadata.permissions().mode() & 0o777;
        target.set_permissions(fs::Permissions::from_mode(mode))?;
        let times = fs::FileTimes::new().set_modified(metadata.modified()?);
        target.set_times(times)
    };
    copy().map_err(failed("copy", from))
}
