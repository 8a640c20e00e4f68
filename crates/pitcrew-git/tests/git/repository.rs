use crate::lab::Lab;
use pitcrew_git::{DiscoverErrorKind, Repository};
use std::{error::Error, fs, path::Path};

fn refusal(lab: &Lab, path: &Path) -> DiscoverErrorKind {
    Repository::discover(&lab.git_program(), path, &lab.cancel).expect_err("a refusal").kind
}

#[test]
fn repository_is_found_from_a_folder_inside_it() {
    let lab = Lab::new();
    let root_commit = lab.rev("HEAD");
    lab.commit("second");
    let found =
        Repository::discover(&lab.git_program(), &lab.user.join("core"), &lab.cancel).expect("it");
    assert_eq!(found.root(), lab.user);
    assert_eq!(found.common_dir(), lab.user.join(".git"));
    assert_eq!(found.root_commit(), &root_commit);
    assert!(!found.is_shallow());
}

#[test]
fn linked_worktree_shares_its_git_folder() {
    let lab = Lab::new();
    let linked = lab.folder.path().join("linked");
    lab.git(&["worktree", "add", "--quiet", linked.to_str().unwrap(), "-b", "other"]);
    let found = Repository::discover(&lab.git_program(), &linked, &lab.cancel).expect("it");
    assert_eq!(found.common_dir(), lab.user.join(".git"));
    assert_eq!(found.git_dir(), lab.user.join(".git/worktrees/linked"));
}

#[test]
fn folder_without_a_repository_is_refused_with_a_remedy() {
    let lab = Lab::empty();
    let kind = refusal(&lab, &lab.user);
    assert!(matches!(kind, DiscoverErrorKind::NotARepository));
    assert!(kind.to_string().contains("git init"));
}

#[test]
fn repository_without_commits_is_refused_with_a_remedy() {
    let lab = Lab::empty();
    lab.git(&["init", "--quiet"]);
    let kind = refusal(&lab, &lab.user);
    assert!(matches!(kind, DiscoverErrorKind::NoCommits), "{kind:?}");
    assert!(kind.to_string().contains("git commit"));
}

#[test]
fn bare_repository_is_refused() {
    let lab = Lab::new();
    let bare = lab.folder.path().join("bare.git");
    lab.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    assert!(matches!(refusal(&lab, &bare), DiscoverErrorKind::Bare));
    assert!(matches!(refusal(&lab, &lab.user.join(".git")), DiscoverErrorKind::NotARepository));
}

#[test]
fn repository_of_another_user_is_refused_with_a_remedy() {
    let lab = Lab::new();
    if !is_root() {
        return;
    }
    std::os::unix::fs::chown(lab.user.join(".git"), Some(12_345), None).expect("we are root");
    std::os::unix::fs::chown(&lab.user, Some(12_345), None).expect("we are root");
    let kind = refusal(&lab, &lab.user);
    assert!(matches!(kind, DiscoverErrorKind::UnsafeOwnership), "{kind:?}");
}

fn is_root() -> bool {
    std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").expect("proc")) == 0
}

#[test]
fn missing_folder_is_an_error_with_its_cause() {
    let lab = Lab::empty();
    let error = Repository::discover(&lab.git_program(), Path::new("/does/not/exist"), &lab.cancel)
        .expect_err("an error");
    assert!(error.to_string().contains("/does/not/exist"));
    assert!(error.source().is_some());
}
