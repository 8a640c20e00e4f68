//! Judges content that a merge creates and that neither side has. The sides were already judged, or
//! belong to the user, but git may combine them into something new, such as a file in another
//! folder.

use super::{
    Verdict,
    rules::{self, Rules},
};
use crate::{
    Vault,
    changes::{Change, MODE_NONE, PLAIN_DIFF},
    error::GitError,
};
use pitcrew_model::{CommitId, Failure, Zone};
use pitcrew_process::Cancel;
use std::collections::BTreeMap;

impl Vault {
    /// Judges the parts of `tree` that differ from both merged commits.
    ///
    /// With the zone of the work, a change that git moves out of the zone is a conflict. Without a
    /// zone, only new paths are judged, and they must not make other programs execute code.
    pub(crate) fn judge_merge(
        &self,
        sides: [&CommitId; 2],
        tree: &str,
        zone: Option<&Zone>,
        cancel: &Cancel,
    ) -> Result<(), Failure> {
        let (ours, theirs) = std::thread::scope(|scope| {
            let theirs = scope.spawn(|| self.changes_between(sides[1], tree, cancel));
            let ours = self.changes_between(sides[0], tree, cancel);
            (ours, theirs.join().expect("git is started without a panic"))
        });
        let theirs = theirs?;
        let theirs: BTreeMap<&[u8], &Change> =
            theirs.iter().map(|it| (it.path.as_slice(), it)).collect();
        let (mut made, mut outside) = (Vec::new(), Vec::new());
        let mut verdict = Verdict::default();
        let everything = Zone::default();
        let rules = Rules { zone: zone.unwrap_or(&everything), config: &self.config_files };
        for change in ours? {
            let Some(other) = theirs.get(change.path.as_slice()) else { continue };
            let is_new = [&change, other].iter().all(|it| it.mode_before == MODE_NONE);
            if let Some(path) = rules::judge_form(&change, &mut verdict) {
                if zone.is_some_and(|it| !it.allows(&path)) {
                    outside.push(path.into_owned());
                } else if zone.is_some() || is_new {
                    rules.judge_special(&path, &mut verdict);
                }
            }
            made.push(change);
        }
        self.judge_blobs(&made, BTreeMap::new(), &mut verdict, cancel)?;
        verdict.into_result()?;
        if outside.is_empty() {
            Ok(())
        } else {
            Err(Failure::Conflict { paths: outside, with: Vec::new() })
        }
    }

    fn changes_between(
        &self,
        from: &CommitId,
        tree: &str,
        cancel: &Cancel,
    ) -> Result<Vec<Change>, GitError> {
        self.foreign("diff-tree").args(PLAIN_DIFF).args(["--raw", &from.0, tree]).changes(cancel)
    }
}
