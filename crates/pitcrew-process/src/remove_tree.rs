//! Removes a tree that others wrote.
//!
//! A folder that is not empty is moved to the top of the tree before its entries are removed. So
//! even a deep tree needs no deep stack, many open files or long paths. Every step names one entry
//! of an open folder, and a link is removed as an entry, so nothing outside the tree is touched.

use rustix::{
    fs::{AtFlags, CWD, Dir, Mode, OFlags, chmod, fstat, openat, renameat, unlinkat},
    io::Errno,
};
use std::{
    ffi::CStr,
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    path::Path,
};

/// The most passes over the top that find no folder to move but still leave entries. Some file
/// systems skip entries while others are removed; after this many, another process must be adding
/// them.
const IDLE_PASSES_MAX: u32 = 10;

/// Removes the file or folder at `path` with its content, including write-protected folders. Does
/// nothing if there is no such file.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = match openat(CWD, parent, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        opened => opened?,
    };
    let name = std::ffi::CString::new(name.as_encoded_bytes())?;
    if is_removed(&parent, &name)? {
        return Ok(());
    }
    let mut tree = Tree { top: enter(&parent, &name)?, moved_count: 0 };
    let mut idle_passes_count = 0;
    while idle_passes_count <= IDLE_PASSES_MAX {
        let moved_before = tree.moved_count;
        tree.remove_entries()?;
        if is_removed(&parent, &name)? {
            return Ok(());
        }
        idle_passes_count = if tree.moved_count > moved_before { 0 } else { idle_passes_count + 1 };
    }
    Err(io::ErrorKind::DirectoryNotEmpty.into())
}

struct Tree {
    top: OwnedFd,
    /// The number of folders that were moved to the top. It names the next one.
    moved_count: u64,
}

impl Tree {
    /// Removes the entries at the top. Entries that are added during the call may remain.
    fn remove_entries(&mut self) -> Result<(), Errno> {
        let mut entries = Dir::read_from(&self.top)?;
        while let Some(entry) = entries.read() {
            let entry = entry?;
            let name = entry.file_name();
            if is_dots(name) || is_removed(&self.top, name)? {
                continue;
            }
            let folder = enter(&self.top, name)?;
            self.empty(&folder)?;
            is_removed(&self.top, name)?;
        }
        Ok(())
    }

    /// Removes the entries of a folder, or moves them to the top.
    fn empty(&mut self, folder: &OwnedFd) -> Result<(), Errno> {
        let mut entries = Dir::read_from(folder)?;
        while let Some(entry) = entries.read() {
            let entry = entry?;
            let name = entry.file_name();
            if !is_dots(name) && !is_removed(folder, name)? {
                self.move_to_top(folder, name)?;
            }
        }
        Ok(())
    }

    fn move_to_top(&mut self, folder: &OwnedFd, name: &CStr) -> Result<(), Errno> {
        // Moving a folder changes its `..` entry, so it must be writable.
        enter(folder, name)?;
        loop {
            self.moved_count += 1;
            match renameat(folder, name, &self.top, self.moved_count.to_string()) {
                // The tree already contains an entry of that name.
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
                moved => return moved,
            }
        }
    }
}

/// Removes an entry, unless it is a folder that is not empty. Returns whether it was removed.
fn is_removed(folder: impl AsFd, name: &CStr) -> Result<bool, Errno> {
    let removed = match unlinkat(&folder, name, AtFlags::empty()) {
        Err(Errno::ISDIR) => unlinkat(&folder, name, AtFlags::REMOVEDIR),
        removed => removed,
    };
    match removed {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Opens a folder to read its entries, and makes it writable.
fn enter(parent: &OwnedFd, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let found = openat(parent, name, flags | OFlags::PATH | OFlags::NOFOLLOW, Mode::empty())?;
    if !Mode::from_raw_mode(fstat(&found)?.st_mode).contains(Mode::RWXU) {
        // Package caches are often write-protected. If this fails, the next call fails too and
        // returns the reason.
        chmod(format!("/proc/self/fd/{}", found.as_raw_fd()), Mode::RWXU).ok();
    }
    openat(&found, ".", flags | OFlags::RDONLY, Mode::empty())
}

fn is_dots(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::{
        fs::mkdirat,
        process::{Resource, Rlimit, getrlimit, setrlimit},
    };
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
        path::PathBuf,
        thread,
    };
    use tempfile::TempDir;

    fn folder() -> (TempDir, PathBuf) {
        let folder = TempDir::new().unwrap();
        let tree = folder.path().join("tree");
        fs::create_dir(&tree).unwrap();
        (folder, tree)
    }

    fn locked() -> fs::Permissions {
        fs::Permissions::from_mode(0o000)
    }

    /// Deeper than any stack, number of open files or path allows.
    #[test]
    fn deep_tree_is_removed_with_a_small_stack_and_few_open_files() {
        let (_folder, tree) = folder();
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let mut deepest = openat(CWD, &tree, flags, Mode::empty()).unwrap();
        for _ in 0..5_000 {
            mkdirat(&deepest, "d", Mode::RWXU).unwrap();
            deepest = openat(&deepest, "d", flags, Mode::empty()).unwrap();
        }
        let limit = getrlimit(Resource::Nofile);
        let current = limit.current.map(|it| it.min(1_024));
        setrlimit(Resource::Nofile, Rlimit { current, ..limit }).unwrap();
        let at = tree.clone();
        let remove = thread::Builder::new().stack_size(128 << 10).spawn(move || remove_tree(&at));
        remove.unwrap().join().unwrap().unwrap();
        assert!(!tree.exists());
    }

    #[test]
    fn wide_and_mixed_tree_is_removed() {
        let (_folder, tree) = folder();
        for number in 0..50 {
            let inner = tree.join(format!("{number}/{number}/{}", number % 3));
            fs::create_dir_all(inner.join("empty")).unwrap();
            fs::write(inner.join("file"), "x").unwrap();
            // The names that folders are moved to.
            fs::write(tree.join(format!("{}", 100 + number)), "x").unwrap();
        }
        remove_tree(&tree).unwrap();
        assert!(!tree.exists());
        remove_tree(&tree).unwrap();
        remove_tree(&tree.join("not/there")).unwrap();
    }

    #[test]
    fn link_targets_are_kept() {
        let (folder, tree) = folder();
        let outside = folder.path().join("outside");
        fs::create_dir_all(outside.join("kept")).unwrap();
        fs::create_dir_all(tree.join("a/b")).unwrap();
        for link in [tree.join("link"), tree.join("a/b/link"), folder.path().join("link")] {
            symlink(&outside, link).unwrap();
        }
        fs::set_permissions(&outside, fs::Permissions::from_mode(0o500)).unwrap();
        remove_tree(&tree).unwrap();
        remove_tree(&folder.path().join("link")).unwrap();
        let mode = outside.metadata().unwrap().permissions().mode() & 0o777;
        assert!(mode == 0o500 && outside.join("kept").is_dir() && !tree.exists());
        assert!(!folder.path().join("link").is_symlink());
    }

    #[test]
    fn write_protected_folders_are_removed() {
        let (_folder, tree) = folder();
        fs::create_dir_all(tree.join("a/b/c")).unwrap();
        fs::write(tree.join("a/b/c/file"), "x").unwrap();
        for path in ["a/b/c", "a/b", "a", ""] {
            fs::set_permissions(tree.join(path), locked()).unwrap();
        }
        remove_tree(&tree).unwrap();
        assert!(!tree.exists());
    }

    #[test]
    fn single_file_is_removed_and_root_is_refused() {
        let (_folder, tree) = folder();
        let file = tree.join("file");
        fs::write(&file, "x").unwrap();
        remove_tree(&file).unwrap();
        assert!(!file.exists());
        assert!(remove_tree(Path::new("/")).is_err() && remove_tree(&tree.join("..")).is_err());
    }
}
