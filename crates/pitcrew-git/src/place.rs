//! Finds a repository on disk without running git.
//!
//! A command that only talks to an orchestrator would need git only for this. Only unambiguous
//! cases are handled. Unusual repositories are left to git, and so is resolving revisions.

use std::{
    fs::{self, Metadata},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// The location of a repository with a usual layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub(crate) root: PathBuf,
    pub(crate) git_dir: PathBuf,
    pub(crate) common_dir: PathBuf,
    signs: String,
}

impl Place {
    /// Finds the repository that `path` is in. `None` if only git can answer.
    pub fn find(path: &Path) -> Option<Self> {
        let path = path.canonicalize().ok()?;
        let device = path.metadata().ok()?.dev();
        for root in path.ancestors() {
            // By default, git does not search beyond the file system that it starts on.
            if root.metadata().ok()?.dev() != device {
                return None;
            }
            let entry = root.join(".git");
            if entry.symlink_metadata().is_ok() {
                return Self::at(root, &entry).filter(|it| it.is_around(&path));
            }
            // This may be a bare repository.
            if root.join("HEAD").symlink_metadata().is_ok() {
                return None;
            }
        }
        None
    }

    fn at(root: &Path, entry: &Path) -> Option<Self> {
        let git_dir = if entry.is_dir() {
            entry.to_owned()
        } else {
            root.join(text(entry)?.strip_prefix("gitdir: ")?.trim_end_matches('\n'))
        };
        let git_dir = git_dir.canonicalize().ok()?;
        let common_dir = match text(&git_dir.join("commondir")) {
            Some(text) => git_dir.join(text.trim_end_matches('\n')).canonicalize().ok()?,
            None => git_dir.clone(),
        };
        if !common_dir.join("objects").is_dir() || !common_dir.join("refs").is_dir() {
            return None;
        }
        // Git rejects repositories of other users, because their settings could run programs.
        let user = rustix::process::geteuid().as_raw();
        let owned = [root, entry, &git_dir, &common_dir];
        if !owned.iter().all(|it| it.symlink_metadata().is_ok_and(|it| it.uid() == user)) {
            return None;
        }
        let signs = signs(root, &git_dir, &common_dir)?;
        Some(Self { root: root.to_owned(), git_dir, common_dir, signs })
    }

    /// Whether `path` is in the working tree, and not in the repository's own git folder.
    fn is_around(&self, path: &Path) -> bool {
        !path.starts_with(&self.git_dir) && !path.starts_with(&self.common_dir)
    }

    /// The top of the working tree, without symbolic links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// As long as these are unchanged, git would report the same location and oldest commit.
    pub fn signs(&self) -> &str {
        &self.signs
    }
}

/// Everything that determines where the working tree is, and at which commit.
fn signs(root: &Path, git_dir: &Path, common_dir: &Path) -> Option<String> {
    // Either of these changes the oldest commit without changing anything else.
    let is_cut = ["shallow", "info/grafts"].iter().any(|it| common_dir.join(it).exists());
    if is_cut {
        return None;
    }
    let head = text(&git_dir.join("HEAD"))?;
    let settings = [common_dir.join("config"), git_dir.join("config.worktree")];
    let settings = settings.map(|it| it.metadata().ok().as_ref().map(stamp));
    let commit = match head.strip_prefix("ref: ") {
        Some(name) => tip(common_dir, name.trim_end())?,
        None => object(&head)?.to_owned(),
    };
    let places = [root, git_dir, common_dir];
    Some(format!("{places:?}\n{settings:?}\n{head:?}\n{commit}"))
}

/// The commit that the branch points to, or the stamp of the only file that can contain it.
fn tip(common_dir: &Path, name: &str) -> Option<String> {
    let is_plain = name.starts_with("refs/heads/") && !name.contains("..");
    if !is_plain {
        return None;
    }
    match text(&common_dir.join(name)) {
        Some(text) => object(&text).map(str::to_owned),
        None => common_dir.join("packed-refs").metadata().ok().as_ref().map(stamp),
    }
}

/// The content of a regular file. Another user's folder may contain a pipe with this name, which
/// would block forever.
fn text(path: &Path) -> Option<String> {
    if path.is_file() { fs::read_to_string(path).ok() } else { None }
}

fn object(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let is_name = matches!(text.len(), 40 | 64) && text.bytes().all(|it| it.is_ascii_hexdigit());
    is_name.then_some(text)
}

/// A text that differs after each change of the file.
fn stamp(file: &Metadata) -> String {
    let times = [file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()];
    format!("{} {} {times:?}", file.ino(), file.size())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Repository, lab::Lab};
    use rustix::fs::{FileType, Mode};

    fn found(lab: &Lab, path: &Path) -> Place {
        let place = Place::find(path).expect("it looks like any other");
        let git =
            Repository::discover(&lab.git_program(), path, &lab.cancel).expect("git finds it");
        assert!(git.is_at(&place), "{place:?} is not what git says: {git:?}");
        place
    }

    #[test]
    fn place_matches_gits_answer() {
        let lab = Lab::new();
        let linked = lab.folder.path().join("linked");
        lab.git(&["worktree", "add", "--quiet", linked.to_str().unwrap(), "-b", "other"]);
        let of_linked = found(&lab, &linked);
        let place = found(&lab, &lab.user.join("core"));
        assert_eq!(place.root(), lab.user);
        assert_ne!(place.signs(), of_linked.signs());
    }

    #[test]
    fn anything_that_changes_the_answer_changes_the_signs() {
        let lab = Lab::new();
        let mut before = found(&lab, &lab.user).signs;
        let mut changed = |lab: &Lab, what: &str| {
            let now = found(lab, &lab.user).signs;
            assert_ne!(before, now, "{what}");
            assert_eq!(found(lab, &lab.user).signs, now, "and they stay so");
            before = now;
        };
        lab.commit("second");
        changed(&lab, "a commit");
        lab.git(&["pack-refs", "--all"]);
        changed(&lab, "a branch that is packed");
        lab.git(&["update-ref", "HEAD", "HEAD~1"]);
        changed(&lab, "a branch that is moved");
        lab.git(&["switch", "--quiet", "--detach"]);
        changed(&lab, "no branch");
        lab.git(&["config", "some.setting", "other"]);
        changed(&lab, "a setting");
    }

    #[test]
    fn unusual_repositories_are_left_to_git() {
        let lab = Lab::new();
        let none = |path: &Path| assert_eq!(Place::find(path), None, "{}", path.display());
        none(&lab.user.join(".git"));
        none(&lab.user.join(".git/objects"));
        none(Path::new("/does/not/exist"));
        let bare = lab.user.join("inner.git");
        lab.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
        none(&bare.join("refs"));
        fs::write(lab.user.join(".git/shallow"), "").expect("a file");
        none(&lab.user);
        let empty = Lab::empty();
        none(&empty.user);
        fs::create_dir(empty.user.join("piped")).expect("a folder");
        let pipe = empty.user.join("piped/.git");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).expect("a pipe");
        none(&empty.user.join("piped"));
        empty.git(&["init", "--quiet"]);
        none(&empty.user);
    }

    #[test]
    fn separate_working_tree_is_left_to_git() {
        let lab = Lab::new();
        let elsewhere = lab.folder.path().join("elsewhere");
        fs::create_dir(&elsewhere).expect("a folder");
        lab.git(&["config", "core.worktree", elsewhere.to_str().unwrap()]);
        let place = Place::find(&lab.user).expect("it looks like any other");
        let said = Repository::discover(&lab.git_program(), &lab.user, &lab.cancel);
        assert!(!said.is_ok_and(|it| it.is_at(&place)));
    }
}
