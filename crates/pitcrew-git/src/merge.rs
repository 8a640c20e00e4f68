//! Merges commits of the vault without a working tree.

use crate::{
    Vault,
    error::{GitError, VaultError},
    git_dir::{Identity, PITCREW},
    known::Known,
};
use pitcrew_model::{CommitId, Failure, Zone};
use pitcrew_process::Cancel;

/// The settings that decide how a merge is made. The user's settings are not used, because a merge
/// driver is a program, and rename detection for folders moves other files too. Attributes of the
/// repository choose among git's built-in drivers, which run nothing.
const SETTINGS: [&str; 8] = [
    "merge.directoryRenames=false",
    "merge.renames=true",
    "merge.renameLimit=7000",
    "merge.renormalize=false",
    "merge.conflictStyle=merge",
    "diff.renames=true",
    "diff.renameLimit=7000",
    "core.attributesFile=/dev/null",
];

/// The result of merging two commits.
pub(crate) enum Merge {
    /// The merged tree.
    Clean(String),
    Conflict(Vec<String>),
}

impl Vault {
    /// Merges `theirs` into `ours`. If `base` is `None`, the base is their common history. The
    /// result is judged, with the zone of the merged work if one is given.
    pub(crate) fn merge(
        &self,
        ours: &CommitId,
        theirs: &CommitId,
        base: Option<&CommitId>,
        zone: Option<&Zone>,
        cancel: &Cancel,
    ) -> Result<Merge, Failure> {
        let merge = self.merge_tree(ours, theirs, base, cancel)?;
        if let Merge::Clean(tree) = &merge {
            self.judge_merge([ours, theirs], tree, zone, cancel)?;
        }
        Ok(merge)
    }

    fn merge_tree(
        &self,
        ours: &CommitId,
        theirs: &CommitId,
        base: Option<&CommitId>,
        cancel: &Cancel,
    ) -> Result<Merge, VaultError> {
        let attributes = self.merge_attributes(ours, cancel)?;
        let call = self.git.ours(&attributes, "merge-tree").git_dir(&self.layout.vault);
        let call = call.on_foreign_objects().without_user_settings();
        let call = call.env("GIT_WORK_TREE", &attributes);
        let call = SETTINGS.iter().fold(call, |call, it| call.config(it));
        let call = call.args(["--write-tree", "-z", "--no-messages", "--name-only"]);
        let call = match base {
            Some(base) => {
                let [ours, theirs] = [ours, theirs].map(|it| self.on_base(it, base, cancel));
                call.args([ours?.0, theirs?.0])
            }
            None => call.arg("--allow-unrelated-histories").args([&ours.0, &theirs.0]),
        };
        let answer = call.finish(cancel)?;
        let mut fields = answer.finished.stdout.split(|it| *it == 0);
        let tree = String::from_utf8_lossy(fields.next().unwrap_or_default()).trim().to_owned();
        match answer.finished.code {
            Some(0) if !tree.is_empty() => Ok(Merge::Clean(tree)),
            Some(1) => {
                let mut paths: Vec<String> = fields
                    .filter(|it| !it.is_empty())
                    .map(|it| String::from_utf8_lossy(it).into_owned())
                    .collect();
                paths.dedup();
                Ok(Merge::Conflict(paths))
            }
            _ => Err(answer.error().into()),
        }
    }

    /// Creates a commit with the files of another one and only `base` as its parent, so that `base`
    /// is the merge base of two such commits. The same input always gives the same commit, so a
    /// repetition adds nothing.
    ///
    /// A newer git accepts the base as an option (`merge-tree --merge-base`, 2.40).
    fn on_base(
        &self,
        commit: &CommitId,
        base: &CommitId,
        cancel: &Cancel,
    ) -> Result<CommitId, GitError> {
        let tree = self.tree(commit, cancel)?;
        let call = self.call("commit-tree").args([&tree, "-p", &base.0]);
        let call = PITCREW.env().into_iter().fold(call, |call, (name, it)| call.env(name, it));
        let dates = ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"];
        let call = dates.into_iter().fold(call, |call, name| call.env(name, "@0 +0000"));
        call.object(cancel)
    }

    pub(crate) fn commit_tree(
        &self,
        tree: &str,
        parents: &[&CommitId],
        message: &str,
        identity: Identity<'_>,
        cancel: &Cancel,
    ) -> Result<CommitId, GitError> {
        let mut call = self.call("commit-tree").arg(tree);
        for parent in parents {
            call = call.args(["-p", &parent.0]);
        }
        for (name, value) in identity.env() {
            call = call.env(name, value);
        }
        let message = format!("{}\n", message.replace('\0', " ").trim());
        let commit = call.stdin(message).object(cancel)?;
        let parents = parents.iter().copied().cloned().collect();
        self.known.learn(&commit, Known { tree: tree.to_owned(), parents });
        Ok(commit)
    }
}
