//! The folders that Pitcrew uses.

use crate::Repository;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use std::path::{Component, Path, PathBuf};

/// The locations of the vault, the checkouts and temporary files.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Pitcrew's bare repository. No other program writes to it.
    pub vault: PathBuf,
    /// The folder of the agents' checkouts.
    pub checkouts: PathBuf,
    /// Temporary files of a single operation. Emptied when the vault is opened.
    pub scratch: PathBuf,
}

impl Layout {
    /// The git settings for boxes, beside the vault.
    pub(crate) fn git_settings(&self) -> PathBuf {
        self.vault.with_file_name("gitconfig")
    }

    /// The stores that checkouts borrow objects from, beside the vault.
    pub fn bases(&self) -> PathBuf {
        self.vault.with_file_name("bases")
    }

    /// The default locations: checkouts beside the repository, everything else in the workspace's
    /// state folder.
    pub fn beside(user: &Repository, state: &Path) -> Self {
        let checkouts = match (user.root().parent(), user.root().file_name()) {
            (Some(parent), Some(name)) => parent.join(".worktrees").join(name),
            _ => state.join("checkouts"),
        };
        Self { vault: state.join("vault.git"), checkouts, scratch: state.join("scratch") }
    }

    /// The same with checkouts in a folder of the user's choice.
    #[must_use]
    pub fn with_checkouts(self, folder: Option<&Path>) -> Self {
        Self { checkouts: folder.map_or(self.checkouts, Path::to_owned), ..self }
    }

    /// Why no checkout can be created: what is in the way of its folder.
    pub fn obstacle(&self) -> Option<String> {
        let there = self.checkouts.ancestors().find(|it| it.symlink_metadata().is_ok())?;
        let shown = there.display();
        if !there.is_dir() {
            return Some(format!("`{shown}` is not a folder"));
        }
        let rights = Access::WRITE_OK | Access::EXEC_OK;
        let error = accessat(CWD, there, rights, AtFlags::EACCESS).err()?;
        Some(format!("`{shown}` is not writable: {error}"))
    }

    /// Where a path is or would be, with all symbolic links resolved.
    pub fn resolved(path: &Path) -> PathBuf {
        let found = path.ancestors().find_map(|it| Some((it, it.canonicalize().ok()?)));
        let Some((found, mut resolved)) = found else { return path.to_owned() };
        for part in path.strip_prefix(found).into_iter().flat_map(Path::components) {
            if part == Component::ParentDir {
                resolved.pop();
            } else {
                resolved.push(part);
            }
        }
        resolved
    }
}
