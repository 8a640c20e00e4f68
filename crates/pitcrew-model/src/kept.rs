//! The saved states of a task's work in the vault: what can be restored, by number.

use crate::{AttemptId, CommitId, EffectResult, Timestamp};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// One saved state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// 1 for the first state of a task.
    pub number: u32,
    pub attempt: AttemptId,
    pub at: Timestamp,
    pub kind: KeptKind,
    pub commit: CommitId,
    /// Changed files, insertions and deletions against the base of its attempt, if counted.
    pub size: Option<(u64, u64, u64)>,
    /// The vault may no longer contain it.
    pub dropped: bool,
}

/// Why a state was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptKind {
    /// A snapshot during the attempt.
    Snapshot,
    /// The end of a failed attempt.
    Saved,
    /// The work that the attempt submitted.
    Collected,
}

/// All saved states of one task, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptStates(Vec<Kept>);

impl KeptStates {
    /// Adds a state that a driver saved. A state equal to the attempt's start, or to a saved one,
    /// gets no number.
    pub fn take(&mut self, result: &EffectResult, start: &CommitId, at: Timestamp) {
        let Some((attempt, kind, commit, size)) = kept_by(result) else { return };
        let is_known =
            commit == start || self.last_of(attempt).is_some_and(|it| it.commit == *commit);
        if !is_known {
            let (number, commit) = (self.next_number(), commit.clone());
            self.0.push(Kept { number, attempt, at, kind, commit, size, dropped: false });
        }
    }

    pub fn next_number(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX).saturating_add(1)
    }

    pub fn get(&self, number: u32) -> Option<&Kept> {
        self.0.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    pub fn last(&self) -> Option<&Kept> {
        self.0.last()
    }

    pub fn last_of(&self, attempt: AttemptId) -> Option<&Kept> {
        self.0.iter().rev().find(|it| it.attempt == attempt)
    }

    /// Drops all snapshots of an attempt except the last one. Its final state stays.
    pub fn drop_snapshots(&mut self, attempt: AttemptId) {
        let of = |it: &&mut Kept| it.attempt == attempt && it.kind == KeptKind::Snapshot;
        for it in self.0.iter_mut().filter(of).rev().skip(1) {
            it.dropped = true;
        }
    }

    /// Returns how many snapshots of the attempt can be dropped.
    pub fn droppable_count(&self, attempt: AttemptId) -> u32 {
        let of = |it: &&Kept| it.attempt == attempt && it.kind == KeptKind::Snapshot && !it.dropped;
        u32::try_from(self.0.iter().filter(of).skip(1).count()).unwrap_or(u32::MAX)
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Kept> {
        self.0.iter()
    }
}

impl EffectResult {
    /// Returns the attempt whose work this effect saves in the vault.
    pub fn keeps_work_of(&self) -> Option<AttemptId> {
        kept_by(self).map(|it| it.0)
    }
}

type Keeping<'a> = (AttemptId, KeptKind, &'a CommitId, Option<(u64, u64, u64)>);

fn kept_by(result: &EffectResult) -> Option<Keeping<'_>> {
    if let EffectResult::SnapshotTaken { attempt, snapshot: it } = result {
        let size = (it.files_count, it.insertions, it.deletions);
        Some((*attempt, KeptKind::Snapshot, &it.commit, Some(size)))
    } else if let EffectResult::WorkCollected { attempt, work: it } = result {
        let size = (it.files_count, it.insertions, it.deletions);
        Some((*attempt, KeptKind::Collected, &it.commit, Some(size)))
    } else if let EffectResult::WorkSaved { attempt, commit: Some(commit) } = result {
        Some((*attempt, KeptKind::Saved, commit, None))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Snapshot;
    use alloc::string::String;

    fn commit(name: &str) -> CommitId {
        CommitId(String::from(name))
    }

    fn taken(attempt: u64, name: &str) -> EffectResult {
        let snapshot =
            Snapshot { commit: commit(name), files_count: 1, insertions: 2, deletions: 3 };
        EffectResult::SnapshotTaken { attempt: AttemptId(attempt), snapshot }
    }

    #[test]
    fn a_state_that_is_already_saved_gets_no_number() {
        let mut states = KeptStates::default();
        let saved =
            |name| EffectResult::WorkSaved { attempt: AttemptId(1), commit: Some(commit(name)) };
        for result in [taken(1, "start"), taken(1, "a"), saved("a"), taken(2, "a"), saved("b")] {
            states.take(&result, &commit("start"), Timestamp(5));
        }
        let shown: Vec<_> =
            states.iter().map(|it| (it.number, it.attempt.0, &*it.commit.0)).collect();
        assert_eq!(shown, [(1, 1, "a"), (2, 2, "a"), (3, 1, "b")]);
        assert_eq!(states.get(3).map(|it| it.kind), Some(KeptKind::Saved));
        assert_eq!(states.get(0), None);
        assert_eq!(states.get(4), None);
        assert_eq!(states.next_number(), 4);
    }

    #[test]
    fn the_last_snapshot_of_an_attempt_is_never_dropped() {
        let mut states = KeptStates::default();
        for result in [taken(1, "a"), taken(1, "b"), taken(2, "c"), taken(1, "d")] {
            states.take(&result, &commit("start"), Timestamp(5));
        }
        assert_eq!(
            (states.droppable_count(AttemptId(1)), states.droppable_count(AttemptId(2))),
            (2, 0)
        );
        states.drop_snapshots(AttemptId(1));
        let dropped: Vec<_> = states.iter().map(|it| it.dropped).collect();
        assert_eq!(dropped, [true, true, false, false]);
        assert_eq!(states.droppable_count(AttemptId(1)), 0);
    }
}
