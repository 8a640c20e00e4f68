//! Makes a working tree of a commit of the vault: as few git processes as possible, because a
//! worker waits for it.

use crate::{Vault, error::VaultError, files, git_dir::GitDir, submodules::Submodules};
use pitcrew_model::CommitId;
use pitcrew_process::{Cancel, Policy};
use std::path::Path;

/// A fresh tree, ready for setup.
pub(crate) struct WorkingTree {
    pub(crate) exclude: Vec<u8>,
    pub(crate) submodules: Submodules,
}

impl Vault {
    /// Fills the new folder `path` with the tree of `commit`, its submodules and what the user
    /// has beside git.
    pub(crate) fn make_tree(
        &self,
        path: &Path,
        branch: &str,
        commit: &CommitId,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<WorkingTree, VaultError> {
        let git_dir = path.join(".git");
        let mut exclude = self.settings.excludes(&self.user)?;
        let objects = [self.objects()];
        let settings = &self.settings;
        GitDir { branch, commit, objects: &objects, settings, exclude: &exclude }
            .write(&git_dir)?;
        self.git
            .fresh(policy, path, "read-tree")
            .args(["-u", "--reset", &commit.0])
            .done(cancel)?;
        let submodules = self.fill_submodules(path, policy, cancel)?;
        let bootstrapped = self.bootstrap(path, cancel)?;
        if !bootstrapped.is_empty() {
            exclude.extend(bootstrapped);
            files::write(&git_dir.join("info/exclude"), &exclude)?;
        }
        Ok(WorkingTree { exclude, submodules })
    }
}
