//! Saves the state of a checkout in the vault. Judges nothing and loses nothing.

use crate::{
    AttemptName, Vault,
    error::VaultError,
    files,
    import::{Checking, ImportError},
    names,
    records::{self, KeptRecord},
    snapshot::{Agent, Nested, Snapshot, Source},
};
use pitcrew_model::{AttemptId, CommitId, Failure};
use pitcrew_process::{Cancel, Policy};
use std::path::{Path, PathBuf};

/// How many times to try a save if its git is killed.
const TRIES_MAX: usize = 3;

#[derive(Clone, Debug)]
pub struct SaveWork {
    pub name: AttemptName,
    /// `None` if the checkout was never made.
    pub path: Option<PathBuf>,
}

impl Vault {
    /// Snapshots the whole tree, including uncommitted work, without ignored files.
    ///
    /// Returns `None` if the checkout was never made, and the last saved state if it is gone.
    pub fn save(
        &self,
        order: &SaveWork,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<Option<CommitId>, Failure> {
        let attempt = order.name.attempt;
        let saved = names::saved_ref(attempt);
        let Some(path) = &order.path else { return Ok(None) };
        if !files::is_folder(path) {
            return Ok(self.resolve(&saved, cancel)?);
        }
        let start = match self.records().checkout(attempt)? {
            Some(record) => Some(record.start),
            // The record was lost in a power failure, but the tree was not.
            None => self.resolve(&names::start_ref(order.name.plan), cancel)?,
        };
        let Some(start) = start else { return Ok(None) };
        Ok(Some(self.save_tree(attempt, path, &start, Agent::Gone, policy, cancel)?))
    }

    pub(crate) fn save_tree(
        &self,
        attempt: AttemptId,
        path: &Path,
        start: &CommitId,
        agent: Agent,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<CommitId, VaultError> {
        until_not_killed(|| {
            let message = "Saved state of a Pitcrew worker";
            let nested = Nested::Flattened;
            let source = Source { attempt, path, start, message, nested, agent };
            let mut snapshot = self.look_at(source, policy, cancel)?;
            snapshot.begin_with(&self.records().index(attempt))?;
            snapshot.look(&[])?;
            // Objects that are already in the vault are not imported again.
            let now = snapshot.record();
            let is_same = |it: &KeptRecord| (&it.tree, &it.head) == (&now.tree, &now.head);
            for note in [self.records().collected(attempt), self.records().kept(attempt)] {
                if let Some(kept) = records::read::<KeptRecord>(&note)?.filter(is_same)
                    && self.resolve(&kept.commit.0, cancel)?.is_some()
                {
                    self.set_ref(&names::saved_ref(attempt), &kept.commit)?;
                    if agent == Agent::Gone {
                        snapshot.require_all_read()?;
                    }
                    return Ok(kept.commit);
                }
            }
            snapshot.keep()?;
            snapshot.import_anyhow(&names::saved_ref(attempt))?;
            if agent == Agent::Gone {
                // The rest is saved. Files that could not be read are still in the tree.
                snapshot.require_all_read()?;
            }
            Ok(snapshot.commit)
        })
    }
}

/// Retries a save if its git is killed, as the kernel does when memory runs out. No later order
/// would retry it, and unsaved work is never removed.
fn until_not_killed<T>(mut save: impl FnMut() -> Result<T, VaultError>) -> Result<T, VaultError> {
    for _ in 1..TRIES_MAX {
        match save() {
            Err(VaultError::Git(error)) if error.is_kill() => {}
            saved => return saved,
        }
    }
    save()
}

impl Snapshot<'_> {
    /// Imports the snapshot into the vault, under the ref `to`.
    pub(crate) fn import_anyhow(&mut self, to: &str) -> Result<(), VaultError> {
        self.deliver_anyhow()?;
        Ok(self.vault.set_ref(to, &self.commit)?)
    }

    /// Imports the objects into the vault: with the agent's commits if they are valid, otherwise
    /// without them, otherwise unchecked.
    pub(crate) fn deliver_anyhow(&mut self) -> Result<(), VaultError> {
        if let Ok(()) = self.deliver(Checking::Strict) {
            return Ok(());
        }
        self.squash()?;
        if let Ok(()) = self.deliver(Checking::Strict) {
            return Ok(());
        }
        match self.deliver(Checking::Off) {
            Ok(()) => Ok(()),
            Err(ImportError::Broken(error) | ImportError::Git(error)) => Err(error.into()),
            Err(ImportError::Refused(_)) => unreachable!("objects were not checked"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{GitError, GitErrorKind};

    fn ended(code: Option<i32>, signal: Option<i32>) -> VaultError {
        let kind = GitErrorKind::Exit { code, signal, stderr: String::new() };
        GitError { command: "add", place: "/".into(), kind }.into()
    }

    /// Whether the save succeeds, and how many times it was tried.
    fn saved(ends: &[Option<(Option<i32>, Option<i32>)>]) -> (bool, usize) {
        let (mut ends, mut tries) = (ends.iter(), 0);
        let saved = until_not_killed(|| {
            tries += 1;
            let end = ends.next().copied().flatten();
            end.map_or(Ok(()), |(code, signal)| Err(ended(code, signal)))
        });
        (saved.is_ok(), tries)
    }

    #[test]
    fn save_is_retried_if_its_git_is_killed() {
        let (killed, refused) = (Some((None, Some(9))), Some((Some(128), None)));
        assert_eq!(saved(&[None]), (true, 1));
        assert_eq!(saved(&[killed, killed, None]), (true, 3));
        assert_eq!(saved(&[killed, killed, killed, None]), (false, 3), "it is not to be");
        assert_eq!(saved(&[refused, None]), (false, 1), "git has said why it cannot");
    }
}
