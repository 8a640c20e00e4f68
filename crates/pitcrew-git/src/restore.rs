//! Restores a commit of the vault as a branch of the user's repository, and deletes old snapshots.

use crate::{Vault, import::Checking, names};
use pitcrew_model::{AttemptId, CommitId, Failure, Snapshot, TaskId};
use pitcrew_process::Cancel;

#[derive(Clone, Debug)]
pub struct RestoreWork {
    pub task: TaskId,
    pub slug: String,
    pub number: u32,
    pub commit: CommitId,
    /// The commit that the size of the work is compared with.
    pub base: CommitId,
}

impl Vault {
    /// Creates a branch at the commit. Returns its name and the size of the work.
    ///
    /// The index, HEAD, the working tree and all existing branches stay unchanged. A repeated order
    /// returns the branch that it created.
    pub fn restore(
        &self,
        order: &RestoreWork,
        cancel: &Cancel,
    ) -> Result<(String, Snapshot), Failure> {
        let RestoreWork { task, slug, number, commit, base } = order;
        if self.resolve(&commit.0, cancel)?.is_none() {
            let message = format!("{} is not in the vault any more", commit.short());
            return Err(Failure::Git { message });
        }
        let counted = self.count_changes(base, commit, cancel)?;
        let _exchange = self.exchange.lock().expect("no holder of the lock panics");
        let exchange = format!("refs/pitcrew/restore/{task}-{number}");
        // The gate has not judged this commit, and malformed objects must not get into the user's
        // repository.
        let given = self.give_to_user(commit, &exchange, Checking::Strict, cancel);
        let wanted = format!("pitcrew/restore/{task}-{slug}-{number}");
        let branch = given.and_then(|()| self.set_side_branch(&wanted, commit, cancel));
        // The temporary ref is removed on success and on failure. Only the branch stays.
        let taken = self.take_from_user(&exchange);
        let branch = branch?;
        taken?;
        let snapshot = Snapshot {
            commit: commit.clone(),
            files_count: counted.changes.len() as u64,
            insertions: counted.insertions,
            deletions: counted.deletions,
        };
        Ok((branch, snapshot))
    }

    /// Deletes all snapshots of an attempt except the last one.
    pub fn drop_snapshots(&self, attempt: AttemptId, cancel: &Cancel) -> Result<(), Failure> {
        let refs = names::snapshot_refs(attempt);
        let names = self.call("for-each-ref").args(["--format=%(refname)", &refs]).line(cancel)?;
        let number = |name: &&str| name.rsplit('/').next().and_then(|it| it.parse::<u32>().ok());
        let mut names: Vec<&str> = names.lines().filter(|it| number(it).is_some()).collect();
        names.sort_by_key(number);
        names.pop();
        if names.is_empty() {
            return Ok(());
        }
        let orders: String = names.iter().flat_map(|it| ["delete ", it, "\n"]).collect();
        self.change_refs(|| self.call("update-ref").arg("--stdin").stdin(orders.as_str()))?;
        Ok(())
    }
}
