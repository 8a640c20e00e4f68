//! Fast-forwards a branch of the user's repository if that overwrites nothing.

use crate::{
    Repository, Vault,
    error::GitError,
    files,
    git::Answer,
    import::Checking,
    locks::{self, Touched},
};
use pitcrew_model::CommitId;
use pitcrew_process::Cancel;
use std::path::{Path, PathBuf};

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

/// Whether a branch was moved.
pub(crate) enum Moved {
    Yes,
    /// The branch was left unchanged for this reason.
    No(String),
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
        let name = format!("refs/heads/{branch}");
        let worktrees = worktrees(&self.user, cancel)?;
        if let Some(place) = rebasing(&self.user, &name) {
            return Ok(Moved::No(format!("{branch} is being rebased in {}", place.display())));
        }
        let holder = worktrees.iter().find(|it| it.branch.as_deref() == Some(&name));
        if let Some(worktree) = holder {
            return self.fast_forward(worktree, branch, to, cancel);
        }
        let answer = self.change_user_refs(&[&name], || {
            let call = self.user.call("update-ref");
            // Not cancelled, because an interrupted git would leave its lock.
            call.args(["-m", "pitcrew: land", &name, &to.0, &from.0]).finish(&Cancel::default())
        })?;
        if answer.finished.success() {
            return Ok(Moved::Yes);
        }
        let reason = words(&answer);
        Ok(Moved::No(format!("{branch} could not be moved: {reason}")))
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
        let place = worktree.path.display();
        let kept =
            |reason: &str| Ok(Moved::No(format!("{branch} is checked out in {place}: {reason}")));
        if !files::is_folder(&worktree.path) {
            return kept("that folder cannot be reached");
        }
        let git = self.user.git();
        let git_dir = git
            .ours(&worktree.path, "rev-parse")
            .args(["--path-format=absolute", "--git-dir"])
            .line(cancel)?;
        let git_dir = Path::new(&git_dir);
        for (file, reason) in UNDER_WAY {
            if files::is_there(&git_dir.join(file)) {
                return kept(reason);
            }
        }
        let status = git
            .ours(&worktree.path, "status")
            .args(["--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=untracked"])
            .output(cancel)?;
        if !status.is_empty() {
            return kept("it has uncommitted changes");
        }
        let call = git
            .ours(&worktree.path, "merge")
            .config("submodule.recurse=false")
            .config("merge.verifySignatures=false")
            // Without this option, git silently overwrites an ignored file in the way.
            .args(["--ff-only", "--no-autostash", "--no-overwrite-ignore", "--quiet", &to.0]);
        let name = format!("refs/heads/{branch}");
        let files = ["index", "HEAD", "ORIG_HEAD"];
        let touched = Touched { root: &worktree.path, git_dir, files: &files, refs: &[&name] };
        // Not cancelled, because an interrupted merge would leave the tree between two states.
        let merge = self.change_user(&touched, || call.finish(&Cancel::default()))?;
        if merge.finished.success() { Ok(Moved::Yes) } else { kept(&words(&merge)) }
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
