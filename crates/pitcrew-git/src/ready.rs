//! Prepares a snapshot while its worker is still ending: a temporary folder, and a box in which the
//! steps wait. They read nothing of the tree before they are started.

use crate::{
    Vault,
    error::VaultError,
    files::{self, TemporaryFolder},
    git::Waiting,
    records::CheckoutState,
    snapshot::{Agent, KEEPING, Nested, Snapshot, Source},
    steps::Step,
};
use pitcrew_model::{AttemptId, CommitId};
use pitcrew_process::{Cancel, Policy, Tier};
use std::{ffi::OsString, path::PathBuf};

/// A prepared snapshot. It has to be taken on the thread that prepared it.
pub struct Ready {
    attempt: AttemptId,
    path: PathBuf,
    start: CommitId,
    // Dropped before the folder.
    waiting: (Vec<OsString>, Waiting),
    folder: TemporaryFolder,
}

impl Ready {
    pub(crate) fn is_for(&self, source: &Source<'_>) -> bool {
        let Source { attempt, path, start, message: _, nested, agent } = *source;
        self.attempt == attempt
            && self.path == path
            && self.start == *start
            && nested == Nested::Listed
            && agent == Agent::Gone
    }
}

impl Vault {
    /// Prepares to collect the work of an attempt. `None` if there is no box or if anything is
    /// unusual. Everything is then done when the work is collected.
    pub fn get_ready(&self, attempt: AttemptId, policy: &Policy) -> Option<Ready> {
        if policy.tier != Tier::T3 {
            return None;
        }
        let record = self.records().checkout(attempt).ok().flatten()?;
        let (path, index) = (PathBuf::from(&record.path), self.records().index(attempt));
        let is_usual = record.state == CheckoutState::Ready
            && files::is_folder(&path)
            && files::is_there(&index);
        if !is_usual {
            return None;
        }
        let (message, nested, cancel) = ("", Nested::Listed, Cancel::default());
        // The agent will have ended when the steps start.
        let agent = Agent::Gone;
        let source = Source { attempt, path: &path, start: &record.start, message, nested, agent };
        let snapshot = self.look_at(source, policy, &cancel).ok()?;
        snapshot.begin_with(&index).ok()?;
        let waiting = snapshot.wait_with(&[&[Step::Add], &KEEPING[..]].concat())?;
        let folder = snapshot.folder;
        Some(Ready { attempt, path, start: record.start, waiting, folder })
    }

    pub(crate) fn begin<'a>(
        &'a self,
        source: Source<'a>,
        ready: Ready,
        policy: &'a Policy,
        cancel: &'a Cancel,
    ) -> Result<Snapshot<'a>, VaultError> {
        let snapshot = self.snapshot_in(ready.folder, source, policy, cancel)?;
        Ok(Snapshot { waiting: Some(ready.waiting), ..snapshot })
    }
}
