//! Records of the checkouts that are lent to the reading sub-tasks of one attempt.

use crate::{
    Vault,
    error::FileError,
    files,
    records::{self, CheckoutState, Durability},
};
use pitcrew_model::{AttemptId, CommitId};
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

/// The checkouts of one parent attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pool {
    pub(crate) checkouts: Vec<Lent>,
}

/// A checkout that is lent to all readers of the same state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lent {
    pub(crate) number: u32,
    pub(crate) state: CheckoutState,
    pub(crate) path: String,
    pub(crate) commit: CommitId,
    /// The attempts that use it.
    pub(crate) readers: Vec<AttemptId>,
    /// The files beside its commit, in the format of `git status`: those that were copied from the
    /// user.
    pub(crate) beside: Vec<u8>,
    /// Submodules prevent sharing, because changes inside their folders cannot be detected.
    pub(crate) has_submodules: bool,
    /// Whether no reader has used it since it was reset to its commit.
    #[serde(default)]
    pub(crate) is_tidy: bool,
}

impl Lent {
    pub(crate) fn is_ready(&self) -> bool {
        self.state == CheckoutState::Ready && files::is_folder(Path::new(&self.path))
    }

    pub(crate) fn is_free(&self) -> bool {
        self.readers.is_empty() && !self.has_submodules
    }
}

impl Pool {
    pub(crate) fn of(&self, reader: AttemptId) -> Option<usize> {
        self.checkouts.iter().position(|it| it.readers.contains(&reader))
    }
}

impl Vault {
    /// The lock for changes to the checkouts of one parent. Other parents are not blocked.
    pub(crate) fn lock_of_pool(&self, parent: AttemptId) -> Arc<Mutex<()>> {
        let mut pools = self.pools.lock().expect("no holder of the lock panics");
        Arc::clone(pools.entry(parent).or_default())
    }

    /// The parents whose checkouts were lent since this process started.
    pub(crate) fn lenders(&self) -> Vec<AttemptId> {
        let pools = self.pools.lock().expect("no holder of the lock panics");
        pools.keys().copied().collect()
    }

    pub(crate) fn pool(&self, parent: AttemptId) -> Result<Pool, FileError> {
        Ok(records::read(&self.pool_file(parent))?.unwrap_or_default())
    }

    pub(crate) fn set_pool(&self, parent: AttemptId, pool: &Pool) -> Result<(), FileError> {
        records::write(&self.pool_file(parent), pool, Durability::Process)
    }

    /// The index of a lent checkout, which shows the unchanged files. Readers cannot access it.
    pub(crate) fn lent_index(&self, parent: AttemptId, number: u32) -> PathBuf {
        self.records().pool(parent).join(format!("{number}.index"))
    }

    fn pool_file(&self, parent: AttemptId) -> PathBuf {
        self.records().pool(parent).join("pool.json")
    }
}
