//! Fast-forwards a branch of the user's repository if that overwrites nothing.

use crate::{
    Repository, Vault,
    error::{GitError, VaultError},
    files::{self, TemporaryFolder},
    git::Answer,
    import::Checking,
    locks::{self, Touched},
};
use pitcrew_model::CommitId;
use pitcrew_process::Cancel;
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::PathBuf,
};

/// Files in a worktree's git folder that show that a git operation is in progress.
const UNDER_WAY: [(&str, &str); 7] = [
    ("MERGE_HEAD", "a merge is in progress there"),
    ("CHERRY_PICK_HEAD", "a cherry-pick is in progress there"),
    ("REVERT_HEAD", "a revert is in progress there"),
    ("rebase-merge", "a rebase is in progress there"),
    ("rebase-apply", "a rebase is in progress there"),
    ("sequencer", "a sequence of commits is in progress there"),
    ("BISECT_LOG", "a bisection is in progress there"),
];

const CHANGED: &str = "it has uncommitted changes";

const MOVE_BACK: &str = include_str!("move_back.sh");

/// Whether a branch was moved.
pub(crate) enum Moved {
    Yes,
    /// The branch was left unchanged for this reason.
    No(String),
}

/// What uses a branch.
enum Holder {
    None,
    /// The branch is checked out there.
    Worktree(Worktree),
    /// The branch is being rebased, as this text says.
    Rebase(String),
}

/// A working tree of the user's repository.
struct Worktree {
    path: PathBuf,
    branch: Option<String>,
}

impl Vault {
    /// Fast-forwards `branch` from `from` to `to`, whose objects are in the user's repository.
    pub(crate) fn move_user_branch(
        &self,
        branch: &str,
        from: &CommitId,
        to: &CommitId,
        cancel: &Cancel,
    ) -> Result<Moved, GitError> {
        match self.holder(branch, cancel)? {
            Holder::Rebase(reason) => Ok(Moved::No(reason)),
            Holder::Worktree(worktree) => self.fast_forward(&worktree, branch, to, cancel),
            Holder::None => self.set_user_branch("pitcrew: land", branch, from, to),
        }
    }

    /// Moves `branch` from `from` back to `to`, which is in its history.
    pub(crate) fn move_user_branch_back(
        &self,
        branch: &str,
        from: &CommitId,
        to: &CommitId,
        cancel: &Cancel,
    ) -> Result<Moved, VaultError> {
        match self.holder(branch, cancel)? {
            Holder::Rebase(reason) => Ok(Moved::No(reason)),
            Holder::Worktree(worktree) => self.move_back(&worktree, branch, (from, to), cancel),
            Holder::None => Ok(self.set_user_branch("pitcrew: undo land", branch, from, to)?),
        }
    }

    /// Moves a branch that is not checked out.
    fn set_user_branch(
        &self,
        why: &str,
        branch: &str,
        from: &CommitId,
        to: &CommitId,
    ) -> Result<Moved, GitError> {
        let name = format!("refs/heads/{branch}");
        let answer = self.change_user_refs(&[&name], || {
            let call = self.user.call("update-ref");
            // Not cancelled, because an interrupted git would leave its lock.
            call.args(["-m", why, &name, &to.0, &from.0]).finish(&Cancel::default())
        })?;
        if answer.finished.success() {
            return Ok(Moved::Yes);
        }
        let reason = words(&answer);
        Ok(Moved::No(format!("{branch} could not be moved: {reason}")))
    }

    /// Who uses the branch.
    fn holder(&self, branch: &str, cancel: &Cancel) -> Result<Holder, GitError> {
        let name = format!("refs/heads/{branch}");
        let worktrees = worktrees(&self.user, cancel)?;
        if let Some(place) = rebasing(&self.user, &name) {
            return Ok(Holder::Rebase(format!("{branch} is being rebased in {}", place.display())));
        }
        let holder = worktrees.into_iter().find(|it| it.branch.as_deref() == Some(&name));
        Ok(holder.map_or(Holder::None, Holder::Worktree))
    }

    /// Whether the user's branch contains a commit.
    pub fn branch_contains(
        &self,
        branch: &str,
        commit: &CommitId,
        cancel: &Cancel,
    ) -> Result<bool, GitError> {
        let name = format!("refs/heads/{branch}");
        let Some(tip) = self.user.resolve(&name, cancel)? else { return Ok(false) };
        let call = self.user.call("merge-base").args(["--is-ancestor", &commit.0, &tip.0]);
        // Exit code 128: the repository does not have the commit any more.
        Ok(call.finish(cancel)?.finished.success())
    }

    /// Copies a commit into the user's repository under a ref that is not a branch.
    pub(crate) fn give_to_user(
        &self,
        commit: &CommitId,
        name: &str,
        checking: Checking,
        cancel: &Cancel,
    ) -> Result<(), GitError> {
        let mut call = self.user.call("fetch").config("protocol.version=2");
        if checking == Checking::Strict {
            call = call.config("transfer.fsckObjects=true").on_foreign_objects();
        }
        let call = call
            .args(["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"])
            .args(["--no-recurse-submodules", "--update-shallow"])
            .arg(&self.layout.vault)
            .arg(format!("+{commit}:{name}"));
        self.change_user_refs(&[name], || call.done(cancel))
    }

    /// Removes the ref that `give_to_user` created, because a branch has the commit now.
    pub(crate) fn take_from_user(&self, name: &str) -> Result<(), GitError> {
        let call = self.user.call("update-ref").args(["-d", name]);
        self.change_user_refs(&[name], || call.done(&Cancel::default()))
    }

    /// Creates a separate branch at `commit` and returns its name.
    ///
    /// An existing branch of that name that is at another commit, or checked out, is left
    /// unchanged.
    pub(crate) fn set_side_branch(
        &self,
        wanted: &str,
        commit: &CommitId,
        cancel: &Cancel,
    ) -> Result<String, GitError> {
        let worktrees = worktrees(&self.user, cancel)?;
        let mut number = 1;
        loop {
            let branch = if number == 1 { wanted.into() } else { format!("{wanted}-{number}") };
            let name = format!("refs/heads/{branch}");
            let now = self.user.resolve(&name, cancel)?;
            if now.as_ref() == Some(commit) {
                return Ok(branch);
            }
            let is_taken =
                now.is_some() || worktrees.iter().any(|it| it.branch.as_deref() == Some(&name));
            if !is_taken {
                let zero = "0".repeat(commit.0.len());
                let call = self.user.call("update-ref").args([&name, &commit.0, &zero]);
                self.change_user_refs(&[&name], || call.done(&Cancel::default()))?;
                return Ok(branch);
            }
            number += 1;
        }
    }
}

fn worktrees(user: &Repository, cancel: &Cancel) -> Result<Vec<Worktree>, GitError> {
    let output = user.call("worktree").args(["list", "--porcelain", "-z"]).output(cancel)?;
    let output = String::from_utf8_lossy(&output);
    Ok(output
        .split("\0\0")
        .filter_map(|entry| {
            let field = |name: &str| entry.split('\0').find_map(|it| it.strip_prefix(name));
            Some(Worktree {
                path: PathBuf::from(field("worktree ")?),
                branch: field("branch ").map(str::to_owned),
            })
        })
        .collect())
}

/// Whether a branch is being rebased. It is not checked out anywhere then, but still in use.
fn rebasing(user: &Repository, name: &str) -> Option<PathBuf> {
    let linked = std::fs::read_dir(user.common_dir().join("worktrees"));
    let linked = linked.into_iter().flatten().flatten().map(|it| it.path());
    [user.common_dir().to_owned()].into_iter().chain(linked).find(|git_dir| {
        ["rebase-merge/head-name", "rebase-apply/head-name"].iter().any(|it| {
            std::fs::read_to_string(git_dir.join(it)).is_ok_and(|text| text.trim() == name)
        })
    })
}

impl Vault {
    /// Moves a branch and the clean tree that has it checked out.
    fn fast_forward(
        &self,
        worktree: &Worktree,
        branch: &str,
        to: &CommitId,
        cancel: &Cancel,
    ) -> Result<Moved, GitError> {
        let kept = |reason: &str| Ok(Moved::No(worktree.kept(branch, reason)));
        let git_dir = match self.idle_git_dir(worktree, cancel)? {
            Ok(git_dir) => git_dir,
            Err(reason) => return kept(reason),
        };
        if !self.is_clean(worktree, cancel)? {
            return kept(CHANGED);
        }
        let git = self.user.git();
        let call = git
            .ours(&worktree.path, "merge")
            .config("submodule.recurse=false")
            .config("merge.verifySignatures=false")
            // Without this option, git silently overwrites an ignored file in the way.
            .args(["--ff-only", "--no-autostash", "--no-overwrite-ignore", "--quiet", &to.0]);
        let name = format!("refs/heads/{branch}");
        let files = ["index", "HEAD", "ORIG_HEAD"];
        let (root, git_dir) = (worktree.path.as_path(), git_dir.as_path());
        let touched = Touched { root, git_dir, files: &files, refs: &[&name] };
        // Not cancelled, because an interrupted merge would leave the tree between two states.
        let merge = self.change_user(&touched, || call.finish(&Cancel::default()))?;
        if merge.finished.success() { Ok(Moved::Yes) } else { kept(&words(&merge)) }
    }

    /// Moves a branch and the clean tree that has it checked out back to an earlier commit.
    fn move_back(
        &self,
        worktree: &Worktree,
        branch: &str,
        (from, to): (&CommitId, &CommitId),
        cancel: &Cancel,
    ) -> Result<Moved, VaultError> {
        let kept = |reason: &str| Ok(Moved::No(worktree.kept(branch, reason)));
        let git_dir = match self.idle_git_dir(worktree, cancel)? {
            Ok(git_dir) => git_dir,
            Err(reason) => return kept(reason),
        };
        if !self.is_clean(worktree, cancel)? {
            // An interrupted move has changed the tree, but not the branch.
            if !self.is_at(worktree, to, cancel)? {
                return kept(CHANGED);
            }
            return Ok(self.set_user_branch("pitcrew: undo land", branch, from, to)?);
        }
        if let Some(path) = self.in_the_way(worktree, from, to, cancel)? {
            return kept(&format!("{path} is not tracked and would be overwritten"));
        }
        let name = format!("refs/heads/{branch}");
        let folder = TemporaryFolder::new(&self.layout.scratch, "move-back")?;
        let files = ["index", "HEAD"];
        let (root, git_dir) = (worktree.path.as_path(), git_dir.as_path());
        let touched = Touched { root, git_dir, files: &files, refs: &[&name] };
        let call = self.user.git().ours(root, "update-ref").config("submodule.recurse=false");
        let mut script: Vec<OsString> = [&name, &from.0, &to.0].map(OsString::from).into();
        script.push(folder.path().into());
        let call = call.script(MOVE_BACK, script);
        // Not cancelled, because an interrupted move would leave the tree between two states.
        let moved = self.change_user(&touched, || call.finish(&Cancel::default()))?;
        if moved.finished.success() { Ok(Moved::Yes) } else { kept(&words(&moved)) }
    }

    /// The git folder of the worktree, or the reason why the worktree must not be changed.
    fn idle_git_dir(
        &self,
        worktree: &Worktree,
        cancel: &Cancel,
    ) -> Result<Result<PathBuf, &'static str>, GitError> {
        if !files::is_folder(&worktree.path) {
            return Ok(Err("that folder cannot be reached"));
        }
        let call = self.user.git().ours(&worktree.path, "rev-parse");
        let git_dir = call.args(["--path-format=absolute", "--git-dir"]).line(cancel)?;
        let git_dir = PathBuf::from(git_dir);
        let under_way = UNDER_WAY.iter().find(|it| files::is_there(&git_dir.join(it.0)));
        Ok(under_way.map_or(Ok(git_dir), |it| Err(it.1)))
    }

    fn is_clean(&self, worktree: &Worktree, cancel: &Cancel) -> Result<bool, GitError> {
        let call = self.user.git().ours(&worktree.path, "status");
        let call = call.args(["--porcelain", "-z", "--untracked-files=no"]);
        Ok(call.arg("--ignore-submodules=untracked").output(cancel)?.is_empty())
    }

    /// Whether the index and the files are those of this commit.
    fn is_at(
        &self,
        worktree: &Worktree,
        commit: &CommitId,
        cancel: &Cancel,
    ) -> Result<bool, GitError> {
        let is_same = |command, commit: &[&str]| {
            let call = self.user.git().ours(&worktree.path, command);
            call.args(["--quiet", "--ignore-submodules=untracked"]).args(commit).yes(cancel)
        };
        Ok(is_same("diff-files", &[])? && is_same("diff-index", &["--cached", &commit.0])?)
    }

    /// A file that git does not track, at a path that only the earlier commit has.
    fn in_the_way(
        &self,
        worktree: &Worktree,
        from: &CommitId,
        to: &CommitId,
        cancel: &Cancel,
    ) -> Result<Option<String>, GitError> {
        let call = self.user.git().ours(&worktree.path, "diff-tree");
        let call = call.args(["-r", "-z", "--no-renames", "--name-only", "--diff-filter=A"]);
        let output = call.args([&from.0, &to.0]).output(cancel)?;
        let paths = output.split(|it| *it == 0).filter(|it| !it.is_empty());
        let path = |it: &&[u8]| files::is_there(&worktree.path.join(OsStr::from_bytes(it)));
        Ok(paths.into_iter().find(path).map(|it| String::from_utf8_lossy(it).into_owned()))
    }
}

impl Worktree {
    /// Why its branch was not moved.
    fn kept(&self, branch: &str, reason: &str) -> String {
        format!("{branch} is checked out in {}: {reason}", self.path.display())
    }
}

/// The error message of git, in one line.
fn words(answer: &Answer) -> String {
    let text = answer.stderr();
    if let Some(lock) = locks::named_by(&text) {
        return locks::describe(&lock);
    }
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|it| !it.is_empty() && !it.starts_with("Please ") && *it != "Aborting")
        .map(|it| it.trim_start_matches("error: ").trim_start_matches("fatal: "))
        .take(6)
        .collect();
    if lines.is_empty() { "git gives no reason".into() } else { lines.join(" ") }
}
