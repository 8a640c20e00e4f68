//! The import gate: what an agent did, compared with what it may do.
//!
//! It judges by names and trees only and runs nothing of the work. Every commit counts, not only
//! the last: what was there once is in the history for ever.

mod batch;
mod disguise;
mod executes;
mod link;
mod rules;
mod trees;
#[cfg(test)]
mod foreign;

use crate::{
    Vault,
    changes::{Change, Counted, MODE_LINK, PLAIN_DIFF},
    error::GitError,
};
use pitcrew_model::{CommitId, Failure, Refusal, RefusalKind, Zone, limits};
use pitcrew_process::Cancel;
use std::collections::{BTreeMap, BTreeSet};

/// Commits of one attempt.
const COMMITS_MAX: usize = 10_000;
/// No file system takes a longer target of a link.
const LINK_BYTES_MAX: u64 = 4_096;

/// Collects refusals, each once.
#[derive(Default)]
pub(crate) struct Verdict {
    refusals: BTreeSet<(String, RefusalKind)>,
}

impl Verdict {
    pub(crate) fn refuse(&mut self, path: impl Into<String>, kind: RefusalKind) {
        self.refusals.insert((path.into(), kind));
    }

    pub(crate) fn into_result(self) -> Result<(), Failure> {
        if self.refusals.is_empty() {
            return Ok(());
        }
        let refusals_count = self.refusals.len() as u64;
        let refusals = self
            .refusals
            .into_iter()
            .take(limits::REFUSALS_LISTED_MAX)
            .map(|(path, kind)| Refusal { path, kind })
            .collect();
        Err(Failure::Gate { refusals, refusals_count })
    }
}

impl Vault {
    /// Judges everything between `base` and `work`, and counts what differs in the end.
    pub(crate) fn judge(
        &self,
        base: &CommitId,
        work: &CommitId,
        zone: &Zone,
        verdict: &mut Verdict,
        cancel: &Cancel,
    ) -> Result<Option<Counted>, GitError> {
        let end = self.count_changes(base, work, cancel)?;
        let Some(steps) = self.steps(base, work, cancel)? else {
            verdict.refuse(format!("more than {COMMITS_MAX} commits"), RefusalKind::TooMany);
            return Ok(None);
        };
        let changes: Vec<Change> = end.changes.iter().cloned().chain(steps).collect();
        let files_count = changes.iter().map(|it| &it.path).collect::<BTreeSet<_>>().len();
        if files_count > limits::FILES_PER_ATTEMPT_MAX {
            verdict.refuse(format!("{files_count} files"), RefusalKind::TooMany);
            return Ok(None);
        }
        for change in &changes {
            rules::judge_name(change, zone, verdict);
        }
        self.judge_trees(base, work, verdict, cancel)?;
        self.judge_objects(&changes, verdict, cancel)?;
        Ok(Some(end))
    }

    /// The changes of every commit in between, against each of its parents.
    fn steps(
        &self,
        base: &CommitId,
        work: &CommitId,
        cancel: &Cancel,
    ) -> Result<Option<Vec<Change>>, GitError> {
        let commits = self
            .call("rev-list")
            .arg(format!("--max-count={}", COMMITS_MAX + 1))
            .args([&work.0, &format!("^{base}"), "--"])
            .output(cancel)?;
        if commits.split_inclusive(|it| *it == b'\n').count() > COMMITS_MAX {
            return Ok(None);
        }
        let changes = self
            .call("diff-tree")
            .args(PLAIN_DIFF)
            .args(["--raw", "--stdin", "-m", "--root", "--no-commit-id"])
            .stdin(commits)
            .changes(cancel)?;
        Ok(Some(changes))
    }

    /// Judges the bytes of every tree that is new.
    fn judge_trees(
        &self,
        base: &CommitId,
        work: &CommitId,
        verdict: &mut Verdict,
        cancel: &Cancel,
    ) -> Result<(), GitError> {
        let names = self
            .call("rev-list")
            .args(["--objects", "--no-object-names", "--filter=object:type=tree"])
            .args(["--filter-provided-objects", &work.0, &format!("^{base}"), "--"])
            .output(cancel)?;
        self.read_objects(names, cancel, |object| {
            trees::judge(object.head, object.content, work.0.len() / 2, verdict);
        })
    }

    fn read_objects(
        &self,
        names: Vec<u8>,
        cancel: &Cancel,
        each: impl FnMut(batch::Object<'_>),
    ) -> Result<(), GitError> {
        if names.is_empty() {
            return Ok(());
        }
        let answer =
            self.call("cat-file").args(["--batch", "--buffer"]).stdin(names).finish(cancel)?;
        if !answer.finished.success() {
            return Err(answer.error());
        }
        let objects = batch::read(&answer.finished.stdout)
            .ok_or_else(|| answer.unreadable("an object is missing or broken"))?;
        objects.into_iter().for_each(each);
        Ok(())
    }

    /// Judges sizes and the targets of links.
    fn judge_objects(
        &self,
        changes: &[Change],
        verdict: &mut Verdict,
        cancel: &Cancel,
    ) -> Result<(), GitError> {
        let mut paths: BTreeMap<&str, Vec<&Change>> = BTreeMap::new();
        for change in changes.iter().filter(|it| rules::has_blob(it)) {
            paths.entry(&change.object).or_default().push(change);
        }
        let names: String = paths.keys().flat_map(|it| [*it, "\n"]).collect();
        let sizes = self
            .call("cat-file")
            .args(["--batch-check=%(objectname) %(objectsize)", "--buffer"])
            .stdin(names)
            .output(cancel)?;
        let mut links = Vec::new();
        let mut targets = Vec::new();
        for line in String::from_utf8_lossy(&sizes).lines() {
            let Some((object, size)) = line.split_once(' ') else { continue };
            let size: u64 = size.parse().unwrap_or(u64::MAX);
            for change in paths.get(object).into_iter().flatten() {
                let is_link = change.mode_after == MODE_LINK;
                if is_link && size <= LINK_BYTES_MAX {
                    links.push(*change);
                    targets.extend_from_slice(object.as_bytes());
                    targets.push(b'\n');
                } else if is_link {
                    verdict.refuse(change.path_text(), RefusalKind::SymlinkLeaves);
                } else if size > limits::BLOB_BYTES_MAX {
                    verdict.refuse(change.path_text(), RefusalKind::TooLarge);
                }
            }
        }
        let mut links = links.into_iter();
        self.read_objects(targets, cancel, |object| {
            // Objects come in the order that they were asked for.
            let change = links.next().expect("one object for each link");
            if link::leaves(&change.path, object.content) {
                verdict.refuse(change.path_text(), RefusalKind::SymlinkLeaves);
            }
        })
    }
}
