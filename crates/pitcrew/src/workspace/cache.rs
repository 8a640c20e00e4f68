//! Caches what git reported about a repository, for commands that need nothing else from git.
//!
//! An entry is valid as long as the location has the same fingerprint. The cache may be lost or
//! damaged at any time; then git is run again.

use pitcrew_config::{Dirs, private_dir};
use pitcrew_git::{Git, Place, Repository};
use pitcrew_model::CommitId;
use std::{fs, path::Path};

/// Returns the cached repository at this location.
pub fn recall(user: &Dirs, place: Place) -> Option<Repository> {
    let text = fs::read_to_string(user.repository(place.root())).ok()?;
    let (oldest, signs) = text.split_once('\n')?;
    if signs != place.signs() {
        return None;
    }
    let oldest = CommitId(oldest.to_owned());
    Some(Repository::recalled(&Git::default(), place, oldest))
}

/// Stores the repository in the cache, if possible.
pub fn remember(user: &Dirs, place: &Place, repository: &Repository) {
    if !repository.is_at(place) {
        return;
    }
    let path = user.repository(place.root());
    let text = format!("{}\n{}", repository.root_commit().0, place.signs());
    let written = path.parent().is_some_and(|it| private_dir(it).is_ok());
    if written {
        replace(&path, &text);
    }
}

/// Replaces the file. If two processes write at the same time, one may lose its entry or write a
/// damaged one.
fn replace(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, text).and_then(|()| fs::rename(&new, path)).ok();
}
