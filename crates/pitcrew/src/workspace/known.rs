//! What git has said about a repository, for commands that would ask it for nothing else.
//!
//! It holds as long as the place shows the same signs. It may be lost or torn at any time: git is asked
//! again then.

use pitcrew_config::{Dirs, private_dir};
use pitcrew_git::{Git, Place, Repository};
use pitcrew_model::CommitId;
use std::{fs, path::Path};

/// The repository at this place, where git has been asked about exactly this.
pub fn recall(user: &Dirs, place: Place) -> Option<Repository> {
    let text = fs::read_to_string(user.repository(place.root())).ok()?;
    let (oldest, signs) = text.split_once('\n')?;
    if signs != place.signs() {
        return None;
    }
    let oldest = CommitId(oldest.to_owned());
    Some(Repository::recalled(&Git::default(), place, oldest))
}

/// Nobody waits for it, and nobody misses it.
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

/// Where two do it at once, one may find what it wrote gone, or tear what the other wrote.
fn replace(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, text).and_then(|()| fs::rename(&new, path)).ok();
}
