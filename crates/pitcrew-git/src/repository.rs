//! The user's repository: discovery, and errors for unsupported repositories.

use crate::{
    Git,
    error::{GitError, GitErrorKind},
    git::Call,
    place::Place,
};
use pitcrew_model::CommitId;
use pitcrew_process::Cancel;
use std::path::{Path, PathBuf};

/// The oldest git that is tested, which is the one in Debian 12. `merge-tree --write-tree` exists
/// since 2.38.
pub const GIT_VERSION_MIN: (u32, u32) = (2, 39);

/// The user's repository. Every git command in it is read-only, except for landings.
#[derive(Clone, Debug)]
pub struct Repository {
    git: Git,
    root: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    root_commit: CommitId,
    is_shallow: bool,
}

/// Why no usable repository was found.
#[derive(Debug, thiserror::Error)]
#[error("cannot work on `{}`", path.display())]
pub struct DiscoverError {
    pub path: PathBuf,
    #[source]
    pub kind: DiscoverErrorKind,
}

#[derive(Debug, thiserror::Error)]
pub enum DiscoverErrorKind {
    #[error("it is not inside a git repository; go to one, or make one with `git init`")]
    NotARepository,
    #[error("it is a bare repository, without files to work on; go to a clone of it")]
    Bare,
    #[error("its branch has no commit yet; make the first one: `git add -A && git commit`")]
    NoCommits,
    #[error(
        "it belongs to another user; trust it with `git config --global --add safe.directory PATH`"
    )]
    UnsafeOwnership,
    #[error("git is {found}, at least {}.{} is needed; update git", GIT_VERSION_MIN.0, GIT_VERSION_MIN.1)]
    TooOld { found: String },
    #[error("git could not tell")]
    Git(#[source] Box<GitError>),
}

impl Repository {
    /// A repository that git has discovered before, with this oldest commit.
    pub fn recalled(git: &Git, place: Place, root_commit: CommitId) -> Self {
        let Place { root, git_dir, common_dir, .. } = place;
        Self { git: git.clone(), root, git_dir, common_dir, root_commit, is_shallow: false }
    }

    /// Whether git has discovered the repository at this location.
    pub fn is_at(&self, place: &Place) -> bool {
        let ours = [&self.root, &self.git_dir, &self.common_dir];
        ours == [&place.root, &place.git_dir, &place.common_dir] && !self.is_shallow
    }

    /// Finds the repository that `path` is in.
    pub fn discover(git: &Git, path: &Path, cancel: &Cancel) -> Result<Self, DiscoverError> {
        Self::find(git, path, cancel).map_err(|kind| DiscoverError { path: path.to_owned(), kind })
    }

    fn find(git: &Git, path: &Path, cancel: &Cancel) -> Result<Self, DiscoverErrorKind> {
        require_version(git, path, cancel)?;
        let (root, git_dir, common_dir, is_shallow) = places(git, path, cancel)?;
        let oldest = git
            .ours(&root, "rev-list")
            .args(["--max-parents=0", "--first-parent", "HEAD", "--"])
            .line(cancel)
            .map_err(refusal)?;
        let canonical = |it: &Path| it.canonicalize().unwrap_or_else(|_| it.to_owned());
        Ok(Self {
            git: git.clone(),
            root: canonical(&root),
            git_dir: canonical(&git_dir),
            common_dir: canonical(&common_dir),
            root_commit: CommitId(oldest.lines().last().unwrap_or_default().to_owned()),
            is_shallow,
        })
    }

    /// The same repository. Every git that is started for it is marked with this owner.
    #[must_use]
    pub fn owned_by(mut self, owner: &str) -> Self {
        self.git = self.git.owned_by(owner);
        self
    }

    /// The top of the working tree, without symbolic links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The git folder that all worktrees of the repository share.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// The oldest commit. Together with the path it identifies the repository.
    pub fn root_commit(&self) -> &CommitId {
        &self.root_commit
    }

    pub fn is_shallow(&self) -> bool {
        self.is_shallow
    }

    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    pub(crate) fn call(&self, command: &'static str) -> Call<'static> {
        self.git.ours(&self.root, command)
    }

    /// The commit that a name refers to.
    pub(crate) fn resolve(
        &self,
        name: &str,
        cancel: &Cancel,
    ) -> Result<Option<CommitId>, GitError> {
        let commit = self
            .call("rev-parse")
            .args(["--verify", "--quiet", "--end-of-options"])
            .arg(format!("{name}^{{commit}}"))
            .maybe(cancel);
        match commit {
            Ok(commit) => Ok(commit.map(CommitId)),
            // git reports a malformed name with this code even if it is told to be quiet.
            Err(GitError { kind: GitErrorKind::Exit { code: Some(128), .. }, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The working tree's root, its git folder, the shared git folder, and whether the history is
/// shallow.
fn places(
    git: &Git,
    path: &Path,
    cancel: &Cancel,
) -> Result<(PathBuf, PathBuf, PathBuf, bool), DiscoverErrorKind> {
    let flags = ["--is-bare-repository", "--is-inside-work-tree", "--is-shallow-repository"];
    let places = ["--path-format=absolute", "--git-dir", "--git-common-dir", "--show-toplevel"];
    let asked = git.ours(path, "rev-parse").args(flags).args(places);
    let answer = asked.finish(cancel).map_err(refusal)?;
    // Without a working tree, git fails at the last option, after it has printed the other values.
    let said = std::str::from_utf8(&answer.finished.stdout)
        .map_err(|_| refusal(answer.unreadable("it is not UTF-8")))?;
    let lines: Vec<&str> = said.lines().collect();
    match lines[..] {
        ["true", ..] => Err(DiscoverErrorKind::Bare),
        [_, "false", ..] => Err(DiscoverErrorKind::NotARepository),
        _ if !answer.finished.success() => Err(refusal(answer.error())),
        [_, _, shallow, git_dir, common_dir, root] => {
            Ok((root.into(), git_dir.into(), common_dir.into(), shallow == "true"))
        }
        _ => Err(DiscoverErrorKind::NotARepository),
    }
}

fn require_version(git: &Git, path: &Path, cancel: &Cancel) -> Result<(), DiscoverErrorKind> {
    let answer = git.ours(path, "version").line(cancel).map_err(refusal)?;
    let found = answer.trim_start_matches("git version ").to_owned();
    if is_new_enough(&found) { Ok(()) } else { Err(DiscoverErrorKind::TooOld { found }) }
}

/// Whether git of this version, such as `2.47.3`, has the features that Pitcrew uses.
pub fn is_new_enough(version: &str) -> bool {
    parse_version(version).is_some_and(|it| it >= GIT_VERSION_MIN)
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split(|it: char| !it.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn refusal(error: GitError) -> DiscoverErrorKind {
    let GitErrorKind::Exit { stderr, .. } = &error.kind else {
        return DiscoverErrorKind::Git(error.into());
    };
    if stderr.contains("dubious ownership") {
        DiscoverErrorKind::UnsafeOwnership
    } else if stderr.contains("not a git repository") {
        DiscoverErrorKind::NotARepository
    } else if stderr.contains("bad revision") {
        DiscoverErrorKind::NoCommits
    } else {
        DiscoverErrorKind::Git(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(parse_version("2.47.3"), Some((2, 47)));
        assert_eq!(parse_version("2.9.0 (Apple Git-1)"), Some((2, 9)));
        assert!(parse_version("2.9.0").expect("a version") < GIT_VERSION_MIN);
        assert_eq!(parse_version("unknown"), None);
    }
}
