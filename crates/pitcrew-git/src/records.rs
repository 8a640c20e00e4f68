//! Small records beside the vault's objects: what was prepared for a plan or an attempt.
//!
//! They make operations repeatable. Acknowledged results are in the journal. A lost record costs
//! time, but never work.

use crate::{
    AttemptName,
    error::FileError,
    files::{self, failed},
};
use pitcrew_model::{AttemptId, CommitId, PlanId, TaskId};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

/// The folder of the records in the vault.
pub(crate) struct Records {
    root: PathBuf,
}

/// The record of an attempt's checkout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CheckoutRecord {
    pub(crate) state: CheckoutState,
    pub(crate) path: String,
    pub(crate) plan: PlanId,
    pub(crate) task: TaskId,
    pub(crate) number: u32,
    pub(crate) slug: String,
    pub(crate) start: CommitId,
    pub(crate) submodules: Vec<String>,
    pub(crate) notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CheckoutState {
    /// No agent has worked in it, so it may be removed and made again.
    Making,
    /// An agent may have worked in it.
    Ready,
}

/// The last state of a checkout that was kept or collected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptRecord {
    pub(crate) commit: CommitId,
    pub(crate) tree: String,
    /// The commit at the agent's HEAD.
    pub(crate) head: CommitId,
}

/// A checkout that is filled before it is ordered. No agent has used it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AheadRecord {
    pub(crate) path: String,
}

impl CheckoutRecord {
    pub(crate) fn name(&self, attempt: AttemptId) -> AttemptName {
        AttemptName {
            attempt,
            plan: self.plan,
            task: self.task,
            number: self.number,
            slug: self.slug.clone(),
        }
    }
}

impl Records {
    pub(crate) fn new(vault: &Path) -> Self {
        Self { root: vault.join("pitcrew") }
    }

    pub(crate) fn plan(&self, plan: PlanId) -> PathBuf {
        self.root.join("plans").join(format!("{plan}.json"))
    }

    /// The folder for the records of one attempt.
    pub(crate) fn attempt(&self, attempt: AttemptId) -> PathBuf {
        self.root.join("attempts").join(attempt.to_string())
    }

    /// The folder for the records of the checkouts that are lent to an attempt's sub-tasks.
    pub(crate) fn pool(&self, parent: AttemptId) -> PathBuf {
        self.root.join("lent").join(parent.to_string())
    }

    /// The folder for the records of checkouts that are filled before they are ordered.
    pub(crate) fn all_ahead(&self) -> PathBuf {
        self.root.join("ahead")
    }

    /// The record of the checkout that is filled for a sub-task.
    pub(crate) fn ahead(&self, task: TaskId) -> PathBuf {
        self.all_ahead().join(format!("{task}.json"))
    }

    /// The record of work that was pulled into an attempt's checkout.
    pub(crate) fn pull(&self, attempt: AttemptId, work: &CommitId) -> PathBuf {
        self.attempt(attempt).join("pulls").join(format!("{work}.json"))
    }

    /// The folder for the records of changes to the user's repository that are in progress.
    pub(crate) fn underway(&self) -> PathBuf {
        self.root.join("underway")
    }

    /// The folder for the records of the copies that people were given.
    pub(crate) fn copies(&self) -> PathBuf {
        self.root.join("copies")
    }

    pub(crate) fn checkout(&self, attempt: AttemptId) -> Result<Option<CheckoutRecord>, FileError> {
        read(&self.attempt(attempt).join("checkout.json"))
    }

    pub(crate) fn set_checkout(
        &self,
        attempt: AttemptId,
        record: &CheckoutRecord,
    ) -> Result<(), FileError> {
        write(&self.attempt(attempt).join("checkout.json"), record, Durability::Process)
    }

    /// The index that git wrote in the new checkout. It shows which files are unchanged since.
    pub(crate) fn index(&self, attempt: AttemptId) -> PathBuf {
        self.attempt(attempt).join("index")
    }

    /// The record of the last kept state of the checkout.
    pub(crate) fn kept(&self, attempt: AttemptId) -> PathBuf {
        self.attempt(attempt).join("kept.json")
    }

    /// The record of the collected state of the checkout.
    pub(crate) fn collected(&self, attempt: AttemptId) -> PathBuf {
        self.attempt(attempt).join("collected.json")
    }

    /// The index of the last kept state. It shows which files are unchanged since.
    pub(crate) fn kept_index(&self, attempt: AttemptId) -> PathBuf {
        self.attempt(attempt).join("kept-index")
    }

    /// A copy of the checkout's excludes that the agent cannot change.
    pub(crate) fn exclude(&self, attempt: AttemptId) -> PathBuf {
        self.attempt(attempt).join("exclude")
    }
}

/// Which failures a record survives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    Process,
    PowerLoss,
}

/// Reads a record. An incomplete record counts as missing.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, FileError> {
    let bytes = files::read_if_there(path)?;
    Ok(bytes.and_then(|it| serde_json::from_slice(&it).ok()))
}

/// Writes a record atomically.
pub(crate) fn write<T: Serialize>(
    path: &Path,
    value: &T,
    durability: Durability,
) -> Result<(), FileError> {
    let folder = path.parent().expect("a note is in a folder");
    files::create_folder(folder)?;
    let bytes = serde_json::to_vec(value).expect("a note is plain data");
    let temporary = path.with_extension("new");
    let store = || {
        let mut file = fs::File::create(&temporary)?;
        file.write_all(&bytes)?;
        if durability == Durability::PowerLoss {
            file.sync_all()?;
        }
        fs::rename(&temporary, path)?;
        if durability == Durability::PowerLoss {
            fs::File::open(folder)?.sync_all()?;
        }
        Ok(())
    };
    store().map_err(failed("write", path))
}
