//! The folders that Pitcrew uses.

use crate::Repository;
use std::path::{Path, PathBuf};

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
}
