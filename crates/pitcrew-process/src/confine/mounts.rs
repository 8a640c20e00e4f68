//! The mounts of a box: which paths are shared with the machine, empty or hidden.
//!
//! Shared paths keep their location and their links. This module only reads the file system.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
};

/// The most links that are followed for one path, the same limit as in the kernel.
const LINKS_MAX: usize = 40;

/// The most paths of a checkout that are made read-only. The import gate checks the rest.
const HELD_MAX: usize = 512;

/// The mount at a path of the box. If a path has two of them, the later variant in this list wins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mount {
    /// An empty folder that exists only in the box.
    Empty,
    ReadOnly,
    Writable,
    /// Writable like its parent, but it cannot be renamed, because something below it must stay in
    /// place.
    Pinned,
    Hidden,
    /// A link to this target.
    Link(PathBuf),
}

/// The mounts of a box by path, so that a folder comes before its content.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    all: BTreeMap<PathBuf, Mount>,
    /// Paths that exist and are not links. Most paths share their parents, so this avoids repeated
    /// checks.
    plain: BTreeSet<PathBuf>,
}

impl Mounts {
    /// Shares a path of the machine. Does nothing if it does not exist.
    pub(super) fn share(&mut self, path: &Path, mount: Mount) {
        if let Some(real) = self.follow(path) {
            self.put(real, mount);
        }
    }

    /// Makes a path unreachable. Skips a link: it reveals nothing, and its target has a separate
    /// entry.
    pub(super) fn hide(&mut self, path: &Path) {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
        let Some(parent) = self.resolve(parent, &mut Vec::new()) else { return };
        let real = parent.join(name);
        if fs::symlink_metadata(&real).is_ok_and(|it| !it.is_symlink()) {
            self.put(real, Mount::Hidden);
        }
    }

    /// Makes the existing entries of a checkout read-only, except for these paths and `.git`. New
    /// entries can be created beside them. Skips links: their targets have separate entries.
    pub(super) fn hold(&mut self, checkout: &Path, zone: &[PathBuf]) {
        let Ok(real) = checkout.canonicalize() else { return };
        let within = zone.iter().filter_map(|it| it.strip_prefix(checkout).ok());
        let zone: Vec<PathBuf> = within.map(|it| real.iter().chain(it).collect()).collect();
        let is_own =
            |path: &Path| path == real.join(".git") || zone.iter().any(|it| path.starts_with(it));
        let mut folders = vec![real.clone()];
        let mut held_count = 0;
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let (path, kind) = (entry.path(), entry.file_type());
                if is_own(&path) || !kind.as_ref().is_ok_and(|it| !it.is_symlink()) {
                    continue;
                }
                if kind.is_ok_and(|it| it.is_dir()) && zone.iter().any(|it| it.starts_with(&path)) {
                    folders.push(path);
                } else if held_count < HELD_MAX {
                    self.put(path, Mount::ReadOnly);
                    held_count += 1;
                }
            }
        }
    }

    /// Resolves a path to its real path. The links on the way are added to the box.
    fn follow(&mut self, path: &Path) -> Option<PathBuf> {
        let mut links = Vec::new();
        let real = self.resolve(path, &mut links);
        for (path, target) in links {
            self.put(path, Mount::Link(target));
        }
        real
    }

    /// Resolves a path to its real path.
    fn resolve(&mut self, path: &Path, links: &mut Vec<(PathBuf, PathBuf)>) -> Option<PathBuf> {
        let mut rest: Vec<PathBuf> = parts(path);
        let mut real = PathBuf::from("/");
        while let Some(part) = rest.pop() {
            if part.as_os_str() == ".." {
                real.pop();
                continue;
            }
            let next = real.join(part);
            if self.is_plain(&next)? {
                real = next;
                continue;
            }
            if links.len() == LINKS_MAX {
                return None;
            }
            let target = fs::read_link(&next).ok()?;
            if target.is_absolute() {
                real = PathBuf::from("/");
            }
            rest.extend(parts(&target));
            links.push((next, target));
        }
        Some(real)
    }

    /// Whether the entry is not a link. Returns nothing if it does not exist.
    fn is_plain(&mut self, path: &Path) -> Option<bool> {
        if self.plain.contains(path) {
            return Some(true);
        }
        let is_plain = !fs::symlink_metadata(path).ok()?.is_symlink();
        if is_plain {
            self.plain.insert(path.to_owned());
        }
        Some(is_plain)
    }

    fn put(&mut self, path: PathBuf, mount: Mount) {
        let before = self.all.entry(path).or_insert_with(|| mount.clone());
        if *before < mount {
            *before = mount;
        }
    }

    /// Returns the necessary mounts in order. Leaves out the redundant ones.
    pub(super) fn in_order(mut self) -> Vec<(PathBuf, Mount)> {
        self.pin();
        let mut kept = Mounts::default();
        for (path, mount) in self.all {
            let above = kept.above(&path).map(|it| it.1.clone());
            let is_there = match (&mount, above) {
                (Mount::Pinned | Mount::Empty, _) => false,
                (Mount::Hidden, above) => {
                    matches!(above, None | Some(Mount::Empty | Mount::Hidden))
                }
                (Mount::Link(_), above) => {
                    matches!(above, Some(Mount::ReadOnly | Mount::Writable | Mount::Pinned))
                }
                (Mount::ReadOnly, above) => above == Some(Mount::ReadOnly),
                (Mount::Writable, above) => {
                    matches!(above, Some(Mount::Writable | Mount::Pinned))
                }
            };
            if !is_there {
                kept.all.insert(path, mount);
            }
        }
        kept.all.into_iter().collect()
    }

    /// A program that can rename a parent folder of a mount could put another folder in its place.
    fn pin(&mut self) {
        let mut pins = Vec::new();
        for (path, mount) in &self.all {
            if !matches!(mount, Mount::Hidden | Mount::ReadOnly) {
                continue;
            }
            let Some((top, Mount::Writable)) = self.above(path) else { continue };
            let between = path.ancestors().skip(1).take_while(|it| *it != top);
            pins.extend(between.map(Path::to_owned));
        }
        for path in pins {
            self.all.entry(path).or_insert(Mount::Pinned);
        }
    }

    /// The nearest mount above a path.
    fn above(&self, path: &Path) -> Option<(&Path, &Mount)> {
        let found = path.ancestors().skip(1).find_map(|it| self.all.get_key_value(it));
        found.map(|(path, mount)| (path.as_path(), mount))
    }
}

/// The components of a path, in reverse order.
fn parts(path: &Path) -> Vec<PathBuf> {
    let named =
        path.components().filter(|it| matches!(it, Component::Normal(_) | Component::ParentDir));
    let mut parts: Vec<PathBuf> = named.map(|it| PathBuf::from(it.as_os_str())).collect();
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Returns the mounts below a folder as text.
    fn mounts_below(mounts: Mounts, below: &Path) -> Vec<String> {
        let all = mounts.in_order().into_iter();
        let named = all.filter_map(|(path, mount)| {
            Some(format!("{} {mount:?}", path.strip_prefix(below).ok()?.display()))
        });
        named.collect()
    }

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        fs::create_dir_all(path.join("tree/src/core/deep")).unwrap();
        fs::write(path.join("tree/src/core/deep/key"), "").unwrap();
        (folder, path)
    }

    #[test]
    fn parents_come_first_and_redundant_mounts_are_left_out() {
        let (_folder, path) = folder();
        let mut mounts = Mounts::default();
        mounts.share(&path.join("tree/src/core"), Mount::ReadOnly);
        mounts.share(&path.join("tree/src/core/deep"), Mount::Writable);
        mounts.share(&path.join("tree"), Mount::ReadOnly);
        mounts.share(&path.join("none"), Mount::Writable);
        mounts.share(&path, Mount::Empty);
        assert_eq!(
            mounts_below(mounts, &path),
            [" Empty", "tree ReadOnly", "tree/src/core/deep Writable"]
        );
    }

    #[test]
    fn parent_folders_of_hidden_paths_cannot_be_renamed() {
        let (_folder, path) = folder();
        let mut mounts = Mounts::default();
        mounts.share(&path.join("tree"), Mount::Writable);
        mounts.hide(&path.join("tree/src/core/deep"));
        mounts.hide(&path.join("tree/src/core/deep/key"));
        mounts.hide(&path.join("tree/none/key"));
        let expected = [
            "tree Writable",
            "tree/src Pinned",
            "tree/src/core Pinned",
            "tree/src/core/deep Hidden",
        ];
        assert_eq!(mounts_below(mounts, &path), expected);
    }

    #[test]
    fn whole_checkout_except_its_zone_is_read_only() {
        let (_folder, path) = folder();
        for folder in ["tree/.git", "tree/ui", "tree/src/mine", "tree/docs"] {
            fs::create_dir_all(path.join(folder)).unwrap();
        }
        fs::write(path.join("tree/top"), "").unwrap();
        symlink("/etc", path.join("tree/link")).unwrap();
        let zone = [path.join("tree/ui"), path.join("tree/src/mine/"), path.join("tree/none")];
        let mut mounts = Mounts::default();
        mounts.share(&path.join("tree"), Mount::Writable);
        mounts.hold(&path.join("tree"), &zone);
        mounts.hide(&path.join("tree/docs"));
        let expected = [
            "tree Writable",
            "tree/docs Hidden",
            "tree/src Pinned",
            "tree/src/core ReadOnly",
            "tree/top ReadOnly",
        ];
        assert_eq!(mounts_below(mounts, &path), expected);
        let mut mounts = Mounts::default();
        mounts.share(&path.join("tree"), Mount::Writable);
        mounts.hold(&path.join("tree"), &[path.join("tree")]);
        assert_eq!(mounts_below(mounts, &path), ["tree Writable"]);
    }

    #[test]
    fn paths_that_are_not_shared_need_no_hiding() {
        let (_folder, path) = folder();
        let mut mounts = Mounts::default();
        mounts.hide(&path.join("tree"));
        assert_eq!(mounts_below(mounts, &path), [""; 0]);
    }

    #[test]
    fn shared_path_includes_the_links_that_lead_to_it() {
        let (_folder, path) = folder();
        symlink("tree/src", path.join("short")).unwrap();
        symlink(path.join("short"), path.join("absolute")).unwrap();
        symlink("loop", path.join("loop")).unwrap();
        let mut mounts = Mounts::default();
        mounts.share(&path.join("absolute/core"), Mount::Writable);
        mounts.share(&path.join("loop"), Mount::Writable);
        mounts.hide(&path.join("short"));
        let links = [
            format!("absolute Link({:?})", path.join("short")),
            "short Link(\"tree/src\")".to_owned(),
            "tree/src/core Writable".to_owned(),
        ];
        let found: Vec<String> =
            mounts_below(mounts, &path).into_iter().filter(|it| !it.starts_with("loop")).collect();
        assert_eq!(found, links);
    }
}
