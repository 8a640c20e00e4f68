//! Merges work into the integration head and runs the checks on the result.

use crate::{
    Vault,
    git_dir::PITCREW,
    merge::Merge,
    scratch::{ReadyTrial, Trial, require_passed},
};
use pitcrew_model::{AttemptId, CheckResult, CommitId, Failure, RepoPath, Zone};
use pitcrew_process::{Cancel, Policy};

#[derive(Clone, Debug)]
pub struct Verify {
    pub attempt: AttemptId,
    /// The integration head.
    pub onto: CommitId,
    pub work: CommitId,
    pub title: String,
    pub setup: Vec<String>,
    pub checks: Vec<String>,
    /// Files or folders that the work must have changed.
    pub expected_files: Vec<RepoPath>,
    /// The paths that the merge may change.
    pub zone: Zone,
}

/// Work that merges into the integration head and passes its checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The merge commit, or `onto` itself if the work adds nothing to it.
    pub merged: CommitId,
    pub checks: Vec<CheckResult>,
}

impl Vault {
    /// Merges the work onto the integration head and runs the checks on the merged tree.
    pub fn verify(
        &self,
        order: &Verify,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<Verified, Failure> {
        self.verify_ready(order, None, policy, cancel)
    }

    /// Does the same with what `get_trial_ready` has prepared, on the same thread.
    pub fn verify_ready(
        &self,
        order: &Verify,
        ready: Option<ReadyTrial>,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<Verified, Failure> {
        let trial = Trial {
            name: order.attempt.to_string(),
            setup: &order.setup,
            checks: &order.checks,
            near: &order.onto,
            attempt: Some(order.attempt),
        };
        let find = || self.merged(order, cancel);
        let (merged, checks) = self.try_out(&trial, ready, find, policy, cancel)?;
        require_passed(&checks)?;
        Ok(Verified { merged, checks })
    }

    /// The commit that merges the work onto the integration head.
    fn merged(&self, order: &Verify, cancel: &Cancel) -> Result<CommitId, Failure> {
        let (merge, before) = match self.known.tree_on_top(&order.onto, &order.work) {
            // Nothing was integrated since the work started.
            Some(tree) => (Ok(Merge::Clean(tree)), self.tree(&order.onto, cancel)),
            None => std::thread::scope(|scope| {
                let before = scope.spawn(|| self.tree(&order.onto, cancel));
                let zone = Some(&order.zone);
                let merge = self.merge(&order.onto, &order.work, None, zone, cancel);
                (merge, before.join().expect("git is started without a panic"))
            }),
        };
        let tree = match merge? {
            Merge::Clean(tree) => tree,
            Merge::Conflict(paths) => return Err(Failure::Conflict { paths, with: Vec::new() }),
        };
        self.require_touched(order, cancel)?;
        if tree == before? {
            return Ok(order.onto.clone());
        }
        let parents = [&order.onto, &order.work];
        Ok(self.commit_tree(&tree, &parents, &order.title, PITCREW, cancel)?)
    }

    fn require_touched(&self, order: &Verify, cancel: &Cancel) -> Result<(), Failure> {
        if order.expected_files.is_empty() {
            return Ok(());
        }
        let output = self
            .foreign("diff")
            .args(["--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv"])
            .arg(format!("{}...{}", order.onto, order.work))
            .arg("--")
            .output(cancel)?;
        let touched: Vec<String> = output
            .split(|it| *it == 0)
            .map(|it| String::from_utf8_lossy(it).into_owned())
            .collect();
        let missing: Vec<String> = order
            .expected_files
            .iter()
            .filter(|expected| !touched.iter().any(|it| !it.is_empty() && expected.contains(it)))
            .map(ToString::to_string)
            .collect();
        if missing.is_empty() { Ok(()) } else { Err(Failure::ExpectedFiles { missing }) }
    }
}
