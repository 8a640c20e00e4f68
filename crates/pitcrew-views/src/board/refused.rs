//! The changes of a task that were refused: by the sandbox, when its agent used our file functions,
//! or at the import gate.

use super::shape::TaskView;
use crate::{plain, words::counted};
use pitcrew_model::{Failure, RefusalKind, RepoPath};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, fmt};

/// Paths that are named in one line.
const NAMED_MAX: usize = 5;

/// Changes that were refused for the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedChanges {
    /// `outside its region (src/api)`
    pub why: String,
    /// The first of the different paths.
    pub paths: Vec<String>,
}

impl TaskView {
    /// The refused changes of all its attempts.
    pub fn refused_changes(&self) -> Vec<RefusedChanges> {
        let mut refused: Vec<RefusedChanges> = Vec::new();
        let mut seen = BTreeSet::new();
        let mut add = |why: String, path: &str| {
            if !seen.insert(path.to_owned()) {
                return;
            }
            match refused.iter_mut().find(|it| it.why == why) {
                Some(group) => group.paths.push(path.to_owned()),
                None => refused.push(RefusedChanges { why, paths: vec![path.to_owned()] }),
            }
        };
        for attempt in &self.attempts {
            for path in &attempt.refused_writes {
                add(self.outside(path), path);
            }
            let Some(Failure::Gate { refusals, .. }) = &attempt.failure else { continue };
            for refusal in refusals {
                let why = match refusal.kind {
                    RefusalKind::OutsideZone => self.outside(&refusal.path),
                    RefusalKind::GitDir
                    | RefusalKind::SymlinkLeaves
                    | RefusalKind::Gitlink
                    | RefusalKind::TooLarge
                    | RefusalKind::TooMany
                    | RefusalKind::Executes
                    | RefusalKind::BadName
                    | RefusalKind::BadMode
                    | RefusalKind::Denied
                    | RefusalKind::OnlyReads => format!("({})", refusal.kind),
                };
                add(why, &plain::line(&refusal.path));
            }
        }
        refused
    }

    fn outside(&self, path: &str) -> String {
        if self.region.is_empty() {
            return "outside its zone".to_owned();
        }
        if self.region.iter().any(|it| it.contains(path)) {
            return "denied to all tasks".to_owned();
        }
        let region: Vec<&str> = self.region.iter().map(RepoPath::as_str).collect();
        format!("outside its region ({})", plain::line(&region.join(", ")))
    }
}

/// `2 changes outside its region (src) were refused: README.md, docs/a.md`
impl fmt::Display for RefusedChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.paths.len();
        let were = if count == 1 { "was" } else { "were" };
        let named = self.paths[..count.min(NAMED_MAX)].join(", ");
        write!(f, "{} {} {were} refused: {named}", counted(count as u64, "change"), self.why)?;
        match count.checked_sub(NAMED_MAX) {
            None | Some(0) => Ok(()),
            Some(more) => write!(f, " and {more} more"),
        }
    }
}
