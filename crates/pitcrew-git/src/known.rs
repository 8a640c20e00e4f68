//! A cache of commits of the vault. A commit never changes, and asking git again takes longer than
//! most uses of the answer.

use pitcrew_model::CommitId;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// More than are ever worked on at the same time.
const COMMITS_MAX: usize = 1_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) tree: String,
    /// None where only its tree was asked for.
    pub(crate) parents: Vec<CommitId>,
}

/// The commits of which it is known what they are. One that is missing is asked for.
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

    /// The tree of `newer`, where that is a commit on top of `older` and of nothing else. Merged with
    /// each other they are this tree.
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
    fn only_a_commit_on_top_of_another_alone_is_what_both_are() {
        let commits = KnownCommits::default();
        commits.learn(&commit(2), known("b", &[1]));
        commits.learn(&commit(3), known("c", &[2, 1]));
        assert_eq!(commits.tree_on_top(&commit(1), &commit(2)), Some("b".into()));
        assert_eq!(commits.tree_on_top(&commit(2), &commit(1)), None);
        assert_eq!(commits.tree_on_top(&commit(2), &commit(3)), None);
        assert_eq!((commits.tree(&commit(3)), commits.tree(&commit(1))), (Some("c".into()), None));
    }

    #[test]
    fn what_is_known_has_a_limit() {
        let commits = KnownCommits::default();
        for number in 0..3 * COMMITS_MAX {
            commits.learn(&commit(number), known("a", &[]));
        }
        assert!(commits.commits.lock().expect("no holder of the lock panics").len() <= COMMITS_MAX);
        assert_eq!(commits.tree(&commit(3 * COMMITS_MAX - 1)), Some("a".into()));
    }
}
