//! Lists the sources of a checkout with their change times. Reads no sources.
//!
//! Agents write there, so links are not followed, and ignore files are read only if they are
//! regular files.

mod rules;

use crate::{
    Language,
    source::{Root, Stamp},
};
use rules::Rules;
use rustix::fs::{AtFlags, FileType, RawDir, statat};
use std::{
    os::fd::OwnedFd,
    path::Path,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

/// The maximum number of sources in one checkout. The rest is ignored.
const FILES_MAX: usize = 500_000;
/// The number of folders to list before other threads help.
const ALONE_MAX: usize = 256;
/// The size of the buffer for directory entries.
const ENTRIES_BYTES: usize = 32 << 10;

/// An existing source.
#[derive(Clone, Debug)]
pub struct Found {
    pub path: Arc<str>,
    pub language: Language,
    pub stamp: Stamp,
}

/// The sources below `root` that git would not ignore, ordered by path.
pub fn walk(root: &Path, threads_count: usize, stop: &AtomicBool) -> Vec<Found> {
    let Some(opened) = Root::open(root) else { return Vec::new() };
    let waiting = vec![Folder { path: String::new(), rules: None }];
    let walking = Walking {
        place: root,
        root: opened,
        ahead: Mutex::new(Ahead { waiting, busy_count: 0 }),
        more: Condvar::new(),
        hungry_count: AtomicUsize::new(0),
        files_count: AtomicUsize::new(0),
        stop,
    };
    let mut found = walking.work(ALONE_MAX);
    if !walking.ahead().waiting.is_empty() {
        thread::scope(|scope| {
            let work = || walking.work(usize::MAX);
            let spawn = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
            let others: Vec<_> = (1..threads_count).filter_map(spawn).collect();
            found.append(&mut work());
            for it in others {
                found.append(&mut it.join().unwrap_or_default());
            }
        });
    }
    found.sort_unstable_by(|a: &Found, b| a.path.cmp(&b.path));
    found
}

/// A folder that has not been listed yet.
struct Folder {
    /// Relative to the root, which is the empty path.
    path: String,
    rules: Option<Arc<Rules>>,
}

impl Folder {
    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { [&self.path, "/", name].concat() }
    }
}

struct Ahead {
    /// Folders that any thread may take.
    waiting: Vec<Folder>,
    /// Threads that still have folders and may find more.
    busy_count: usize,
}

struct Walking<'a> {
    place: &'a Path,
    root: Root,
    ahead: Mutex<Ahead>,
    more: Condvar,
    /// Threads that wait for folders. If there are none, nothing is shared.
    hungry_count: AtomicUsize,
    files_count: AtomicUsize,
    stop: &'a AtomicBool,
}

/// Marks a thread that has folders to share.
struct Busy<'a>(&'a Walking<'a>);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.ahead().busy_count -= 1;
        self.0.more.notify_all();
    }
}

/// The relevant entries of a folder.
#[derive(Default)]
struct Entries {
    files: Vec<(String, Language)>,
    folders: Vec<String>,
    has_rules: bool,
    has_git: bool,
}

impl Walking<'_> {
    fn ahead(&self) -> MutexGuard<'_, Ahead> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists folders until there are none left or the limit is reached.
    fn work(&self, folders_max: usize) -> Vec<Found> {
        let (mut found, mut buffer) = (Vec::new(), Vec::with_capacity(ENTRIES_BYTES));
        let mut left_count = folders_max;
        while let Some((folder, _busy)) = self.next() {
            let mut mine = vec![folder];
            while let Some(folder) = mine.pop() {
                mine.append(&mut self.look_into(&folder, &mut found, &mut buffer));
                left_count -= 1;
                if left_count == 0 || self.is_over() {
                    self.ahead().waiting.append(&mut mine);
                    return found;
                }
                if mine.len() > 1 && self.hungry_count.load(Ordering::Relaxed) > 0 {
                    // Older entries are closer to the root and contain more.
                    let half = mine.len() / 2;
                    self.ahead().waiting.extend(mine.drain(..half));
                    self.more.notify_all();
                }
            }
        }
        found
    }

    fn is_over(&self) -> bool {
        let full = self.files_count.load(Ordering::Relaxed) >= FILES_MAX;
        full || self.stop.load(Ordering::Relaxed)
    }

    fn next(&self) -> Option<(Folder, Busy<'_>)> {
        let mut ahead = self.ahead();
        loop {
            if self.is_over() {
                return None;
            }
            if let Some(folder) = ahead.waiting.pop() {
                ahead.busy_count += 1;
                return Some((folder, Busy(self)));
            }
            if ahead.busy_count == 0 {
                return None;
            }
            self.hungry_count.fetch_add(1, Ordering::Relaxed);
            ahead = self.more.wait(ahead).unwrap_or_else(PoisonError::into_inner);
            self.hungry_count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Collects the sources of a folder and returns its subfolders.
    fn look_into(
        &self,
        folder: &Folder,
        found: &mut Vec<Found>,
        buffer: &mut Vec<u8>,
    ) -> Vec<Folder> {
        let Some(opened) = self.root.folder(&folder.path) else { return Vec::new() };
        let entries = entries(&opened, buffer);
        let mut rules = folder.rules.clone();
        if entries.has_rules || entries.has_git {
            let new = Rules::read(self.place, &self.root, folder, &entries);
            rules = new.map(Arc::new).or(rules);
        }
        let ignored = |path: &str, is_folder| {
            rules.as_ref().is_some_and(|it| it.ignores(Path::new(path), is_folder))
        };
        for (name, language) in entries.files {
            let path = folder.path_of(&name);
            let Some(stamp) = stamp(&opened, &name).filter(|_| !ignored(&path, false)) else {
                continue;
            };
            if self.files_count.fetch_add(1, Ordering::Relaxed) >= FILES_MAX {
                break;
            }
            found.push(Found { path: path.into(), language, stamp });
        }
        let paths = entries.folders.into_iter().map(|it| folder.path_of(&it));
        let inner = paths.filter(|it| !ignored(it, true));
        inner.map(|path| Folder { path, rules: rules.clone() }).collect()
    }
}

fn entries(folder: &OwnedFd, buffer: &mut Vec<u8>) -> Entries {
    let mut entries = Entries::default();
    buffer.clear();
    let mut all = RawDir::new(folder, buffer.spare_capacity_mut());
    while let Some(Ok(entry)) = all.next() {
        let Ok(name) = entry.file_name().to_str() else { continue };
        match name {
            "." | ".." => continue,
            ".git" => entries.has_git = true,
            ".gitignore" => entries.has_rules = true,
            _ => {}
        }
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
            kind = stat.map_or(kind, |it| FileType::from_raw_mode(it.st_mode));
        }
        if kind == FileType::Directory && name != ".git" {
            entries.folders.push(name.to_owned());
        } else if kind == FileType::RegularFile
            && let Some(language) = Language::of(Path::new(name))
        {
            entries.files.push((name.to_owned(), language));
        }
    }
    entries
}

/// Returns `None` if the entry is no longer a regular file.
fn stamp(folder: &OwnedFd, name: &str) -> Option<Stamp> {
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    is_file.then(|| Stamp::of_stat(&stat))
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
    fn ignored_files_are_not_listed() {
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

    fn written(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    #[test]
    fn ignore_rules_work_as_in_git() {
        let dir = written(&[
            (
                ".gitignore",
                "\u{feff}# made\n/made/\n*.gen.rs\n!keep.gen.rs\ndeep/**/x.rs\n\\!odd.rs\n",
            ),
            (".git/info/exclude", "private.rs\n*.local.rs\n"),
            ("a.gen.rs", ""),
            ("keep.gen.rs", ""),
            ("made/a.rs", ""),
            ("b/made/a.rs", ""),
            ("b/private.rs", ""),
            ("b/!odd.rs", ""),
            ("deep/a/b/x.rs", ""),
            ("deep/x.rs", ""),
            ("b/.gitignore", "c.rs\n!private.rs\n!a.gen.rs\n/d\n"),
            ("b/c.rs", ""),
            ("b/a.gen.rs", ""),
            ("b/d/e.rs", ""),
            ("b/f/d/e.rs", ""),
            ("b/f/c.rs", ""),
            ("b/my.local.rs", ""),
            ("nested/.git/info/exclude", "in_nested.rs\n"),
            ("nested/in_nested.rs", ""),
            ("in_nested.rs", ""),
            ("[odd]/.gitignore", "x.rs\n"),
            ("[odd]/x.rs", ""),
            ("[odd]/y.rs", ""),
        ]);
        let mut theirs: Vec<String> = ignore::WalkBuilder::new(dir.path())
            .standard_filters(false)
            .git_ignore(true)
            .git_exclude(true)
            .require_git(false)
            .filter_entry(|it| it.file_name() != ".git")
            .build()
            .filter_map(|it| {
                it.unwrap().path().strip_prefix(dir.path()).unwrap().to_str().map(str::to_owned)
            })
            .filter(|it| Language::of(Path::new(it)).is_some())
            .collect();
        theirs.sort();
        assert_eq!(paths(dir.path()), theirs);
        assert!(theirs.contains(&"keep.gen.rs".to_owned()), "{theirs:?}");
    }

    #[test]
    fn a_worktree_uses_the_rules_of_its_repository() {
        let dir = written(&[
            ("repo/.git/info/exclude", "private.rs\n"),
            ("repo/.git/worktrees/tree/commondir", "../..\n"),
            ("tree/private.rs", ""),
            ("tree/a.rs", ""),
        ]);
        let git = dir.path().join("repo/.git/worktrees/tree");
        fs::write(dir.path().join("tree/.git"), format!("gitdir: {}\n", git.display())).unwrap();
        assert_eq!(paths(&dir.path().join("tree")), ["a.rs"]);
    }

    #[test]
    fn threads_share_many_folders() {
        let files: Vec<String> =
            (0..ALONE_MAX * 2).map(|it| format!("{}/{it}/a.rs", it % 7)).collect();
        let dir = written(&files.iter().map(|it| (it.as_str(), "")).collect::<Vec<_>>());
        let mut expected = files;
        expected.sort();
        assert_eq!(paths(dir.path()), expected);
        assert!(walk(dir.path(), 2, &AtomicBool::new(true)).is_empty(), "it is to stop");
    }

    /// A pipe would block, and a link may lead anywhere.
    #[test]
    fn rules_are_read_from_regular_files_only() {
        let dir = written(&[("a.rs", ""), ("b/c.rs", ""), ("rules", "c.rs\n")]);
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            dir.path().join(".gitignore"),
            rustix::fs::Mode::RUSR,
        )
        .unwrap();
        std::os::unix::fs::symlink("../rules", dir.path().join("b/.gitignore")).unwrap();
        assert_eq!(paths(dir.path()), ["a.rs", "b/c.rs"]);
    }

    #[test]
    fn the_stamp_equals_that_of_the_open_file() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.rs"), "fn x() {}").unwrap();
        let found = walk(dir.path(), 1, &AtomicBool::new(false));
        let root = Root::open(dir.path()).unwrap();
        assert_eq!(Some(found[0].stamp), root.stamp("a.rs"));
    }
}
