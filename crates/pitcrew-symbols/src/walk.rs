//! Which sources a checkout has, and when each was changed. Reads no file.

use crate::{Language, source::Stamp};
use ignore::{DirEntry, WalkBuilder, WalkState};
use std::{
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

/// Sources of one checkout. More are not looked at.
const FILES_MAX: usize = 500_000;

/// A source that is there.
#[derive(Clone, Debug)]
pub struct Found {
    pub path: Arc<str>,
    pub language: Language,
    pub stamp: Stamp,
}

/// The sources below `root` that git would not ignore, by path.
pub fn walk(root: &Path, threads_count: usize, stop: &AtomicBool) -> Vec<Found> {
    let (all, count) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let mut builder = WalkBuilder::new(root);
    builder
        .standard_filters(false)
        .git_ignore(true)
        .git_exclude(true)
        .require_git(false)
        .threads(threads_count)
        .filter_entry(|it| it.file_name() != ".git");
    builder.build_parallel().run(|| {
        let mut mine = Mine { found: Vec::new(), all: &all };
        let count = &count;
        Box::new(move |entry| {
            if let Some(found) = entry.ok().and_then(|it| look(root, &it)) {
                mine.found.push(found);
                if count.fetch_add(1, Ordering::Relaxed) >= FILES_MAX {
                    return WalkState::Quit;
                }
            }
            if stop.load(Ordering::Relaxed) { WalkState::Quit } else { WalkState::Continue }
        })
    });
    let mut found = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_unstable_by(|a: &Found, b| a.path.cmp(&b.path));
    found
}

/// What one thread has found.
struct Mine<'a> {
    found: Vec<Found>,
    all: &'a Mutex<Vec<Found>>,
}

impl Drop for Mine<'_> {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).append(&mut self.found);
    }
}

fn look(root: &Path, entry: &DirEntry) -> Option<Found> {
    if !entry.file_type()?.is_file() {
        return None;
    }
    let path = entry.path().strip_prefix(root).ok()?;
    let language = Language::of(path)?;
    let metadata = entry.metadata().ok()?;
    Some(Found { path: path.to_str()?.into(), language, stamp: Stamp::of(&metadata) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn paths(root: &Path) -> Vec<String> {
        let found = walk(root, 2, &AtomicBool::new(false));
        found.iter().map(|it| it.path.to_string()).collect()
    }

    #[test]
    fn what_git_ignores_is_no_source() {
        let dir = tempfile::tempdir().unwrap();
        for path in [
            "a.rs",
            "b/c.rs",
            "b/made.rs",
            "target/d.rs",
            ".hidden/e.rs",
            ".git/f.rs",
            "excluded.rs",
            "picture.png",
        ] {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "fn x() {}").unwrap();
        }
        fs::write(dir.path().join(".gitignore"), "/target\n").unwrap();
        fs::write(dir.path().join("b/.gitignore"), "made.rs\n").unwrap();
        fs::create_dir_all(dir.path().join(".git/info")).unwrap();
        fs::write(dir.path().join(".git/info/exclude"), "excluded.rs\n").unwrap();
        std::os::unix::fs::symlink("a.rs", dir.path().join("link.rs")).unwrap();
        assert_eq!(paths(dir.path()), [".hidden/e.rs", "a.rs", "b/c.rs"]);
    }

    #[test]
    fn the_stamp_is_the_one_of_the_open_file() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.rs"), "fn x() {}").unwrap();
        let found = walk(dir.path(), 1, &AtomicBool::new(false));
        let root = crate::source::Root::open(dir.path()).unwrap();
        assert_eq!(Some(found[0].stamp), root.stamp("a.rs"));
    }
}
