//! A cache of commits of the vault. A commit never changes, and a call of git usually takes longer
//! than the operation that needs the commit.

use pitcrew_model::CommitId;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// More commits than are ever in use at the same time.
const COMMITS_MAX: usize = 1_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) tree: String,
    /// Empty if only the tree was looked up.
    pub(crate) parents: Vec<CommitId>,
}

/// The cached commits. Git is called for commits that are missing here.
#[derive(Debug, Default)]
pub(crate) struct KnownCommits {
    commits: Mutex<HashMap<CommitId, Known>>,
}

impl KnownCommits {
    pub(crate) fn learn(&self, commit: &CommitId, known: Known) {
        let mut commits = self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        if commits.len() >= COMMITS_MAX {
            commits.clear();
        }
        commits.insert(commit.clone(), known);
    }

    pub(crate) fn tree(&self, commit: &CommitId) -> Option<String> {
        let commits = self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        commits.get(commit).map(|it| it.tree.clone())
    }

    /// The tree of `newer`, if `older` is its only parent. This tree is the result of merging the
    /// two.
    pub(crate) fn tree_on_top(&self, older: &CommitId, newer: &CommitId) -> Option<String> {
        let commits = self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        let known = commits.get(newer)?;
        (known.parents == [older.clone()]).then(|| known.tree.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(number: usize) -> CommitId {
        CommitId(format!("{number:040x}"))
    }

    fn known(tree: &str, parents: &[usize]) -> Known {
        Known { tree: tree.into(), parents: parents.iter().map(|it| commit(*it)).collect() }
    }

    #[test]
    fn tree_on_top_requires_a_single_parent() {
        let commits = KnownCommits::default();
        commits.learn(&commit(2), known("b", &[1]));
        commits.learn(&commit(3), known("c", &[2, 1]));
        assert_eq!(commits.tree_on_top(&commit(1), &commit(2)), Some("b".into()));
        assert_eq!(commits.tree_on_top(&commit(2), &commit(1)), None);
        assert_eq!(commits.tree_on_top(&commit(2), &commit(3)), None);
        assert_eq!((commits.tree(&commit(3)), commits.tree(&commit(1))), (Some("c".into()), None));
    }

    #[test]
    fn commit_cache_has_a_limit() {
        let commits = KnownCommits::default();
        for number in 0..3 * COMMITS_MAX {
            commits.learn(&commit(number), known("a", &[]));
        }
        assert!(commits.commits.lock().expect("no holder of the lock panics").len() <= COMMITS_MAX);
        assert_eq!(commits.tree(&commit(3 * COMMITS_MAX - 1)), Some("a".into()));
    }
}
