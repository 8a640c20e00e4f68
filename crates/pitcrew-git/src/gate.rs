//! The import gate: compares the changes of an agent with what it may change.
//!
//! It judges names, modes and sizes, and never runs anything from the work. Every commit is judged,
//! not only the last one, because anything that was ever committed stays in the history.

mod batch;
mod disguise;
mod executes;
mod link;
mod rules;
mod trees;
mod paths;
mod merged;
#[cfg(test)]
mod foreign;

use crate::{
    Vault,
    changes::{Change, Counted, MODE_LINK, PLAIN_DIFF},
    error::GitError,
    git::Answer,
};
use pitcrew_model::{CommitId, Failure, Refusal, RefusalKind, Zone, limits};
use pitcrew_process::Cancel;
use rules::Rules;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) use executes::ConfigFiles;

/// The maximum number of commits of one attempt.
const COMMITS_MAX: usize = 10_000;
/// No file system supports longer link targets.
const LINK_BYTES_MAX: u64 = 4_096;

/// Collects refusals without duplicates.
#[derive(Default)]
pub(crate) struct Verdict {
    /// Each refusal with its rule, if the kind alone does not identify the rule.
    refusals: BTreeMap<(String, RefusalKind), Option<String>>,
}

impl Verdict {
    pub(crate) fn refuse(&mut self, path: impl Into<String>, kind: RefusalKind) {
        self.refusals.insert((path.into(), kind), None);
    }

    pub(crate) fn refuse_by(&mut self, path: &str, kind: RefusalKind, rule: String) {
        self.refusals.insert((path.into(), kind), Some(rule));
    }

    fn refuses(&self, kind: RefusalKind) -> bool {
        self.refusals.keys().any(|it| it.1 == kind)
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
            .map(|((path, kind), rule)| Refusal { path, kind, rule })
            .collect();
        Err(Failure::Gate { refusals, refusals_count })
    }
}

impl Vault {
    /// Judges everything between `base` and `work`. Returns the changes between the two with their
    /// sizes.
    pub(crate) fn judge(
        &self,
        base: &CommitId,
        work: &CommitId,
        zone: &Zone,
        verdict: &mut Verdict,
        cancel: &Cancel,
    ) -> Result<Option<Counted>, GitError> {
        let (end, names) = std::thread::scope(|scope| {
            let names = scope.spawn(|| self.new_objects(base, work, cancel));
            let end = self.count_changes(base, work, cancel);
            (end, names.join().expect("git is started without a panic"))
        });
        let names = names?;
        let changed = end.as_ref().map_or(String::new(), |it| blobs(&it.changes));
        // The base comes last. It is not judged, but its tree and parents will be needed soon.
        let answer = self.look_up(&format!("{names}{base}\n"), &changed, cancel)?;
        let mut found = read(&answer, names.lines().count() + 1)?;
        let before = found.objects.pop();
        let commits: Vec<_> = found.objects.iter().filter(|it| it.is("commit")).collect();
        let last = commits.iter().copied().find(|it| it.name() == work.0);
        for (commit, object) in [(base, before.as_ref()), (work, last)] {
            if let Some(known) = object.and_then(batch::Object::known) {
                self.known.learn(commit, known);
            }
        }
        if commits.len() > COMMITS_MAX {
            verdict.refuse(format!("more than {COMMITS_MAX} commits"), RefusalKind::TooMany);
            return Ok(None);
        }
        paths::judge(&found.objects, work.0.len() / 2, verdict);
        if verdict.refuses(RefusalKind::TooMany) {
            return Ok(None);
        }
        let end = end?;
        for tree in found.objects.iter().filter(|it| it.is("tree")) {
            trees::judge(tree.head, tree.content, work.0.len() / 2, verdict);
        }
        let mut changes = end.changes.clone();
        // If there is a single commit on top of the base, its changes are known already.
        if !matches!(commits[..], [it] if it.parents() == [base.0.as_str()]) {
            changes.extend(self.steps(&commits, cancel)?);
        }
        let files_count = changes.iter().map(|it| &it.path).collect::<BTreeSet<_>>().len();
        if files_count > limits::FILES_PER_ATTEMPT_MAX {
            verdict.refuse(format!("{files_count} files"), RefusalKind::TooMany);
            return Ok(None);
        }
        let rules = Rules { zone, config: &self.config_files };
        for change in &changes {
            rules.judge_name(change, verdict);
        }
        self.judge_blobs(&changes, found.sizes, verdict, cancel)?;
        Ok(Some(end))
    }

    /// The names of all new commits and trees, one per line.
    fn new_objects(
        &self,
        base: &CommitId,
        work: &CommitId,
        cancel: &Cancel,
    ) -> Result<String, GitError> {
        let call = self
            .foreign("rev-list")
            .args(["--objects", "--no-object-names", "--filter=blob:none"])
            .arg(format!("--max-count={}", COMMITS_MAX + 1))
            .args([&work.0, &format!("^{base}"), "--"]);
        Ok(String::from_utf8_lossy(&call.output(cancel)?).into_owned())
    }

    /// The changes of every commit relative to each of its parents.
    fn steps(
        &self,
        commits: &[&batch::Object<'_>],
        cancel: &Cancel,
    ) -> Result<Vec<Change>, GitError> {
        let names: String = commits.iter().flat_map(|it| [it.name(), "\n"]).collect();
        self.foreign("diff-tree")
            .args(PLAIN_DIFF)
            .args(["--raw", "--stdin", "-m", "--root", "--no-commit-id"])
            .stdin(names)
            .changes(cancel)
    }

    /// Looks up the contents of some objects and then the sizes of others. Each argument has one
    /// object name per line.
    fn look_up(&self, contents: &str, sizes: &str, cancel: &Cancel) -> Result<Answer, GitError> {
        let asked = |order, names: &str| -> String {
            names.lines().flat_map(|it| [order, it, "\n"]).collect()
        };
        let orders = asked("contents ", contents) + &asked("info ", sizes);
        let answer = self
            .foreign("cat-file")
            .args(["--batch-command", "--buffer"])
            .stdin(orders)
            .finish(cancel)?;
        if answer.finished.success() { Ok(answer) } else { Err(answer.error()) }
    }

    /// Judges sizes and link targets. Some sizes are known already.
    fn judge_blobs(
        &self,
        changes: &[Change],
        mut sizes: BTreeMap<String, u64>,
        verdict: &mut Verdict,
        cancel: &Cancel,
    ) -> Result<(), GitError> {
        let names = blobs(changes);
        let unknown: String =
            names.lines().filter(|it| !sizes.contains_key(*it)).flat_map(|it| [it, "\n"]).collect();
        if !unknown.is_empty() {
            let answer = self.look_up("", &unknown, cancel)?;
            sizes.extend(read(&answer, 0)?.sizes);
        }
        let mut links = Vec::new();
        for change in changes.iter().filter(|it| rules::has_blob(it)) {
            let size = sizes.get(&change.object).copied().unwrap_or(u64::MAX);
            let is_link = change.mode_after == MODE_LINK;
            if is_link && size <= LINK_BYTES_MAX {
                links.push(change);
            } else if is_link {
                verdict.refuse(change.path_text(), RefusalKind::SymlinkLeaves);
            } else if size > limits::BLOB_BYTES_MAX {
                verdict.refuse(change.path_text(), RefusalKind::TooLarge);
            }
        }
        if links.is_empty() {
            return Ok(());
        }
        let targets: String = links.iter().flat_map(|it| [it.object.as_str(), "\n"]).collect();
        let answer = self.look_up(&targets, "", cancel)?;
        // Objects are in the order of the request.
        for (change, target) in links.iter().zip(read(&answer, links.len())?.objects) {
            if link::leaves(&change.path, target.content) {
                verdict.refuse(change.path_text(), RefusalKind::SymlinkLeaves);
            }
        }
        Ok(())
    }
}

/// The names of the objects that the changes leave behind, without duplicates, one per line.
fn blobs(changes: &[Change]) -> String {
    let names: BTreeSet<&str> =
        changes.iter().filter(|it| rules::has_blob(it)).map(|it| it.object.as_str()).collect();
    names.into_iter().flat_map(|it| [it, "\n"]).collect()
}

fn read(answer: &Answer, contents_count: usize) -> Result<batch::Found<'_>, GitError> {
    batch::read(&answer.finished.stdout, contents_count)
        .ok_or_else(|| answer.unreadable("an object is missing or broken"))
}

/// The contents of the objects requested from `cat-file --batch`.
pub(crate) fn read_objects(answer: &Answer, count: usize) -> Result<Vec<&[u8]>, GitError> {
    Ok(read(answer, count)?.objects.into_iter().map(|it| it.content).collect())
}
