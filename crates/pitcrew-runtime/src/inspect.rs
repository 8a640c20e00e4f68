//! Reads journals, transcripts and diffs, without the writer. Everything here blocks.

use crate::Orchestrator;
use pitcrew_acp::{Transcript, TranscriptError};
use pitcrew_git::{CleanCopy, Copied, DiffStat, LiveCheckout, VaultError};
use pitcrew_model::{AttemptId, CommitId, Entry, Kept, PlanId, Seq, TaskId};
use pitcrew_store::ReadError;
use std::{path::Path, sync::PoisonError};

/// The difference between two states.
pub struct Changed {
    pub from: CommitId,
    /// `None`: the current checkout.
    pub to: Option<CommitId>,
    pub stat: DiffStat,
    pub patch: String,
}

/// Either there is nothing to compare yet, or git failed.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    #[error("there is nothing to compare yet")]
    Nothing,
    #[error(transparent)]
    Vault(#[from] VaultError),
}

impl Orchestrator {
    /// The entries after `after`.
    pub fn entries(&self, after: Seq, limit: usize) -> Result<Vec<Entry>, ReadError> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner).read(after, limit)
    }

    /// The conversation of an attempt with its agent, from the start.
    pub fn transcript(&self, attempt: AttemptId) -> Result<Transcript, TranscriptError> {
        Transcript::open(&self.dirs.attempt(attempt).join("spool.ndjson"))
    }

    /// The changes of an attempt: its collected or saved work, or its current checkout.
    pub fn attempt_changes(&self, attempt: AttemptId) -> Result<Changed, InspectError> {
        let (base, now, is_saved) = self.newest_state(attempt)?;
        let changed = self.changes(base, now)?;
        Ok(if is_saved { changed } else { Changed { to: None, ..changed } })
    }

    /// A copy of an attempt's work with a `.git` that no agent has written.
    pub fn clean_copy(
        &self,
        task: TaskId,
        slug: String,
        attempt: AttemptId,
    ) -> Result<Copied, InspectError> {
        let commit = self.newest_state(attempt)?.1;
        let order = CleanCopy { task, slug, commit };
        Ok(self.vault.clean_copy(&order, &self.policy, &self.looks)?)
    }

    /// The start of an attempt, its result so far, and whether that is final. A checkout that may
    /// be in use is saved first.
    fn newest_state(&self, attempt: AttemptId) -> Result<(CommitId, CommitId, bool), InspectError> {
        let (base, start, commit, path) = {
            let views = self.handle().views();
            let it = views.board.attempt(attempt).ok_or(InspectError::Nothing)?;
            (it.base.clone(), it.start.clone(), it.commit.clone(), it.path.clone())
        };
        if let Some(commit) = commit {
            return Ok((base, commit, true));
        }
        let path = path.filter(|it| Path::new(it).is_dir()).ok_or(InspectError::Nothing)?;
        let checkout = LiveCheckout { attempt, path: path.into(), start };
        let now = self.vault.save_live(&checkout, &self.policy, &self.looks)?;
        Ok((base, now, false))
    }

    /// The states of a task that can be restored, with their size.
    pub fn kept_states(&self, task: TaskId) -> Result<Vec<Kept>, InspectError> {
        let mut states: Vec<(Kept, Option<CommitId>)> = {
            let views = self.handle().views();
            let kept = views.board.kept(task).ok_or(InspectError::Nothing)?;
            let base = |it: &Kept| views.board.attempt(it.attempt).map(|it| it.base.clone());
            kept.iter().map(|it| (it.clone(), base(it))).collect()
        };
        // The final state of an attempt has no snapshot number.
        for (kept, base) in &mut states {
            if let (None, Some(base), false) = (&kept.size, base, kept.dropped) {
                let stat = self.vault.diff_stat(base, &kept.commit, &self.looks)?;
                kept.size = Some((stat.files_count, stat.insertions, stat.deletions));
            }
        }
        Ok(states.into_iter().map(|it| it.0).collect())
    }

    /// The changes that a plan has integrated so far.
    pub fn plan_changes(&self, plan: PlanId) -> Result<Changed, InspectError> {
        let view = self.handle().views().board.plan_view(plan).ok_or(InspectError::Nothing)?;
        let (base, head) = view.base.zip(view.head).ok_or(InspectError::Nothing)?;
        self.changes(base.start, head)
    }

    fn changes(&self, from: CommitId, to: CommitId) -> Result<Changed, InspectError> {
        let stat = self.vault.diff_stat(&from, &to, &self.looks)?;
        let patch = self.vault.diff(&from, &to, &[], &self.looks)?;
        Ok(Changed { from, to: Some(to), stat, patch })
    }
}
