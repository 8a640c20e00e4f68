//! Checks, without starting git in a box, whether an agent's git folder has refs to commits other
//! than the start.
//!
//! The agent has ended and may have left anything there. Only small files are read, no link is
//! followed, and everything unusual is left to git.

use crate::files;
use pitcrew_model::CommitId;
use pitcrew_process::read_plain;
use std::{fs, path::Path};

/// More entries than an unused folder has.
const ENTRIES_MAX: usize = 100;
const REF_BYTES_MAX: u64 = 1_024;

/// Whether HEAD and all refs lead to the start.
pub(super) fn are_none(git_dir: &Path, start: &CommitId) -> bool {
    // Other storage formats of refs, and the heads of other working trees.
    let others = ["packed-refs", "reftable", "worktrees", "commondir"];
    if others.iter().any(|it| fs::symlink_metadata(git_dir.join(it)).is_ok()) {
        return false;
    }
    let head = git_dir.join("HEAD");
    let is_known = |it: &str| it == start.0 || it.starts_with("ref: refs/");
    // A missing HEAD refers to no commit. A pipe in its place was removed earlier.
    let is_missing = || !files::is_there(&head);
    if !text(&head).map_or_else(is_missing, |it| is_known(it.trim_end())) {
        return false;
    }
    let refs = git_dir.join("refs");
    let is_folder = fs::symlink_metadata(&refs).is_ok_and(|it| it.is_dir());
    is_folder && lead_to(&refs, start, &mut 0)
}

fn lead_to(folder: &Path, start: &CommitId, entries_count: &mut usize) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    for entry in entries {
        *entries_count += 1;
        let Ok(entry) = entry else { return false };
        let Ok(kind) = entry.file_type() else { return false };
        let path = entry.path();
        let leads = if kind.is_dir() {
            *entries_count <= ENTRIES_MAX && lead_to(&path, start, entries_count)
        } else {
            text(&path).is_some_and(|it| it.trim_end() == start.0)
        };
        if !leads || *entries_count > ENTRIES_MAX {
            return false;
        }
    }
    true
}

/// The content of a small file.
fn text(path: &Path) -> Option<String> {
    String::from_utf8(read_plain(path, REF_BYTES_MAX).ok()?.bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{Lab, attempt};
    use std::os::unix::fs::symlink;

    #[test]
    fn additions_of_an_agent_are_detected() {
        let lab = Lab::new();
        let vault = lab.vault();
        let start = lab.plan(&vault).start;
        let path = lab.checkout(&vault, &attempt(1), &start).path;
        let (git_dir, git) = (path.join(".git"), |it: &[&str]| lab.git_in(&path, it));
        let are_none = || are_none(&git_dir, &start);
        assert!(are_none());
        fs::write(path.join("core/lib.rs"), "changed\n").expect("a file");
        git(&["stash", "--quiet"]);
        assert!(!are_none(), "a stash");
        git(&["stash", "drop", "--quiet"]);
        assert!(are_none());
        git(&["branch", "same"]);
        assert!(are_none(), "another name for the start is nothing new");
        git(&["checkout", "--quiet", "--detach"]);
        assert!(are_none());
        git(&["commit", "--quiet", "--allow-empty", "-m", "mine"]);
        assert!(!are_none(), "a commit on no branch");
        git(&["checkout", "--quiet", "same"]);
        assert!(are_none());
        symlink("heads/same", git_dir.join("refs/link")).expect("a link");
        assert!(!are_none(), "a link");
        fs::remove_file(git_dir.join("refs/link")).expect("it is there");
        fs::rename(git_dir.join("refs"), git_dir.join("elsewhere")).expect("it is there");
        symlink("elsewhere", git_dir.join("refs")).expect("a link");
        assert!(!are_none(), "all of them behind a link");
        fs::remove_file(git_dir.join("refs")).expect("it is there");
        fs::rename(git_dir.join("elsewhere"), git_dir.join("refs")).expect("it is there");
        fs::remove_file(git_dir.join("HEAD")).expect("it is there");
        assert!(are_none(), "no HEAD");
        fs::create_dir(git_dir.join("HEAD")).expect("a folder");
        assert!(!are_none(), "a folder in its place");
        fs::remove_dir(git_dir.join("HEAD")).expect("it is there");
        fs::write(git_dir.join("HEAD"), "ref: refs/heads/same\n").expect("a file");
        git(&["pack-refs", "--all"]);
        assert!(!are_none(), "packed refs may be any");
    }

    #[test]
    fn folder_without_a_repository_is_left_to_git() {
        let lab = Lab::empty();
        let start = CommitId("1".repeat(40));
        assert!(!are_none(&lab.user, &start));
        fs::write(lab.user.join("HEAD"), &start.0).expect("a file");
        assert!(!are_none(&lab.user, &start), "without refs");
        fs::create_dir(lab.user.join("refs")).expect("a folder");
        assert!(are_none(&lab.user, &start));
        for number in 0..=ENTRIES_MAX {
            fs::write(lab.user.join(format!("refs/{number}")), &start.0).expect("a file");
        }
        assert!(!are_none(&lab.user, &start), "too many to look at");
    }
}
