//! Creates a working tree of a commit of the vault, with as few git processes as possible, because
//! a worker waits for it.

use crate::{
    Vault,
    base_store::Store,
    error::{GitError, VaultError},
    files,
    fill::{self, Fill},
    git_dir::GitDir,
    submodules::Submodules,
};
use pitcrew_model::CommitId;
use pitcrew_process::{Cancel, Policy};
use std::path::Path;

/// A new tree, ready for setup.
pub(crate) struct WorkingTree {
    pub(crate) exclude: Vec<u8>,
    pub(crate) submodules: Submodules,
}

impl Vault {
    /// Fills the new folder `path` with the tree of `commit`, its submodules and the user's
    /// untracked files that agents need. The policy allows to read the store.
    pub(crate) fn make_tree(
        &self,
        path: &Path,
        branch: &str,
        commit: &CommitId,
        store: &Store,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<WorkingTree, VaultError> {
        let exclude = self.write_git_dir(path, branch, commit, store, cancel)?;
        self.fill_tree(path, commit, policy, cancel)?;
        self.complete_tree(path, exclude, store, policy, cancel)
    }

    /// Fills a folder that already has a git folder with only the tree of `commit`.
    pub(crate) fn fill_tree(
        &self,
        path: &Path,
        commit: &CommitId,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<(), GitError> {
        let call = |command| self.git.fresh(policy, path, command);
        let fill = Fill { call: &call, place: path, index: path.join(".git/index"), commit };
        fill.done(self.parts(), cancel)
    }

    /// How many git processes fill a new folder.
    pub(crate) fn parts(&self) -> usize {
        let is_allowed = self.settings.allows_parts();
        if is_allowed { fill::parts(&self.user.git_dir().join("index")) } else { 1 }
    }

    /// Creates the git folder and returns the excludes of the tree.
    pub(crate) fn write_git_dir(
        &self,
        path: &Path,
        branch: &str,
        commit: &CommitId,
        store: &Store,
        cancel: &Cancel,
    ) -> Result<Vec<u8>, VaultError> {
        let exclude = self.settings.excludes(&self.user)?;
        let objects = [store.objects()];
        let settings = &self.settings;
        GitDir { branch, commit, objects: &objects, settings, exclude: &exclude }
            .write(&path.join(".git"))?;
        self.supply(store, &path.join(".git/objects"), &commit.0, cancel)?;
        Ok(exclude)
    }

    /// Adds everything to a tree that is not part of its commit.
    pub(crate) fn complete_tree(
        &self,
        path: &Path,
        mut exclude: Vec<u8>,
        store: &Store,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<WorkingTree, VaultError> {
        let submodules = self.fill_submodules(path, store, policy, cancel)?;
        let bootstrapped = self.bootstrap(path, cancel)?;
        if !bootstrapped.is_empty() {
            exclude.extend(bootstrapped);
            files::write(&path.join(".git/info/exclude"), &exclude)?;
        }
        Ok(WorkingTree { exclude, submodules })
    }
}
