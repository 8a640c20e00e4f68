//! Fills a new folder with the files of a commit.
//!
//! One git process writes files on one core. Git's own parallel workers report every file to the
//! main process, which costs as much as they save on few cores. So several independent git
//! processes write a part of the files each, with separate indexes, which are merged afterwards.

use crate::{
    error::GitError,
    git::Call,
    index_file::{IndexFile, files_count},
};
use pitcrew_model::CommitId;
use pitcrew_process::Cancel;
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read},
    num::NonZero,
    ops::Range,
    os::unix::ffi::OsStrExt,
    path::{Component, Path, PathBuf},
    thread,
};

/// One git process writes fewer files than this in less time than several need to start.
const FILES_MIN: u32 = 1_000;

/// Limits the load on the disk, which other programs need too.
const PARTS_MAX: usize = 8;

/// A folder to fill.
pub(crate) struct Fill<'a> {
    /// Builds a git command that works on the folder.
    pub(crate) call: &'a (dyn Fn(&'static str) -> Call<'a> + Sync),
    pub(crate) place: &'a Path,
    /// The path of the new index.
    pub(crate) index: PathBuf,
    pub(crate) commit: &'a CommitId,
}

/// How many git processes to use, given an index of the same repository, which shows its size.
pub(crate) fn parts(known: &Path) -> usize {
    let mut head = [0; 12];
    let read = File::open(known).and_then(|mut it| it.read_exact(&mut head));
    let is_large = read.is_ok() && files_count(&head).is_some_and(|it| it >= FILES_MIN);
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    if is_large { cores.min(PARTS_MAX) } else { 1 }
}

impl Fill<'_> {
    /// Fills the folder. If several git processes cannot do it for any reason, a single process
    /// does all the work and reports the error.
    pub(crate) fn done(&self, parts: usize, cancel: &Cancel) -> Result<(), GitError> {
        if parts > 1 {
            if self.in_parts(parts, cancel).is_some() {
                return Ok(());
            }
            // A partial index would be in the way.
            fs::remove_file(&self.index).ok();
        }
        self.plain("read-tree").args(["-u", "--reset", &self.commit.0]).done(cancel)
    }

    fn in_parts(&self, parts: usize, cancel: &Cancel) -> Option<()> {
        self.plain("read-tree").arg(&self.commit.0).done(cancel).ok()?;
        let mut index = IndexFile::read(fs::read(&self.index).ok()?, self.commit)?;
        self.make_folders(&index).ok()?;
        // Attributes decide how other files are written, so all attribute files are written first.
        let attributes: Vec<&[u8]> =
            index.names(0..index.len()).filter(|it| is_attributes(it)).collect();
        if !attributes.is_empty() {
            self.check_out(&self.index, attributes, cancel).ok()?;
        }
        let each = index.len().div_ceil(parts).max(1);
        let ranges = (0..index.len()).step_by(each).map(|it| it..index.len().min(it + each));
        let ranges: Vec<Range<usize>> = ranges.collect();
        let written = thread::scope(|scope| {
            let index = &index;
            let write = |files: &Range<usize>| {
                let files = files.clone();
                let write = move || self.write(index, files, cancel);
                thread::Builder::new().name("fill".into()).spawn_scoped(scope, write).ok()
            };
            let writing: Vec<_> = ranges.iter().map(write).collect();
            let join = |it: thread::ScopedJoinHandle<'_, _>| it.join().expect("it does not panic");
            let written = writing.into_iter().map(|it| it.and_then(join));
            written.collect::<Vec<Option<IndexFile>>>()
        });
        for (part, files) in written.into_iter().zip(ranges) {
            index.learn(&part?, files)?;
        }
        fs::write(&self.index, index.into_bytes()).ok()
    }

    /// A command that writes an index in the version that `IndexFile` can read.
    fn plain(&self, command: &'static str) -> Call<'_> {
        (self.call)(command).config("index.version=2")
    }

    /// Creates all folders first, because git processes that create the same folder at the same
    /// time would conflict. The folder is still empty, so no name can be a link to another place.
    fn make_folders(&self, index: &IndexFile) -> io::Result<()> {
        let mut last: &[u8] = b"";
        for name in index.names(0..index.len()) {
            let folder =
                name.iter().rposition(|it| *it == b'/').map_or(&name[..0], |at| &name[..at]);
            if folder != last {
                last = folder;
                let folder = Path::new(OsStr::from_bytes(folder));
                if !folder.components().all(|it| matches!(it, Component::Normal(_))) {
                    return Err(io::ErrorKind::InvalidInput.into());
                }
                fs::create_dir_all(self.place.join(folder))?;
            }
        }
        Ok(())
    }

    /// Writes some of the files. Returns an index with the metadata of these files.
    fn write(&self, index: &IndexFile, files: Range<usize>, cancel: &Cancel) -> Option<IndexFile> {
        let own = self.index.with_extension(files.start.to_string());
        let names = index.names(files).filter(|it| !is_attributes(it)).collect();
        let written = fs::copy(&self.index, &own).ok().and_then(|_| {
            self.check_out(&own, names, cancel).ok()?;
            IndexFile::read(fs::read(&own).ok()?, self.commit)
        });
        fs::remove_file(&own).ok();
        written
    }

    /// Writes these files and records their metadata in an index.
    fn check_out(&self, index: &Path, names: Vec<&[u8]>, cancel: &Cancel) -> Result<(), GitError> {
        let mut lines = Vec::new();
        for name in names {
            lines.extend_from_slice(name);
            lines.push(0);
        }
        self.plain("checkout-index")
            .config("checkout.workers=1")
            .env("GIT_INDEX_FILE", index)
            .args(["--force", "--index", "--quiet", "-z", "--stdin"])
            .stdin(lines)
            .done(cancel)
    }
}

fn is_attributes(name: &[u8]) -> bool {
    name.rsplit(|it| *it == b'/').next() == Some(b".gitattributes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Vault,
        lab::{Lab, below, make_executable, write},
    };
    use std::{
        os::unix::fs::symlink,
        time::{Duration, SystemTime},
    };

    /// A commit with files of every kind, and folders that git fills from it.
    struct Scene {
        lab: Lab,
        vault: Vault,
        commit: CommitId,
    }

    fn scene() -> Scene {
        let lab = Lab::new();
        for number in 0..40 {
            let (name, text) = (format!("many/{}/{number}.txt", number % 7), format!("{number}\n"));
            lab.write(&name, text);
        }
        lab.write(".gitattributes", "*.dos text eol=crlf\n");
        lab.write("zone/deep/.gitattributes", "*.txt text eol=crlf\nkept.dos -text\n");
        for name in ["a.dos", "many/3/b.dos", "zone/deep/c.txt", "zone/deep/kept.dos", "z\nodd.txt"]
        {
            lab.write(name, "one\ntwo\n");
        }
        lab.write("run.sh", "true\n");
        make_executable(&lab.user.join("run.sh"));
        symlink("many/0", lab.user.join("link")).expect("a link");
        lab.git(&["add", "--all"]);
        let commit = lab.rev("HEAD");
        lab.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},sub/module")]);
        lab.git(&["commit", "--quiet", "--message", "files of every kind"]);
        let (commit, vault) = (lab.rev("HEAD"), lab.vault());
        Scene { lab, vault, commit }
    }

    impl Scene {
        fn folder(&self, name: &str) -> PathBuf {
            let path = self.lab.folder.path().join(name);
            fs::create_dir(&path).expect("a folder");
            let cancel = Cancel::default();
            let store = self.vault.lend(&path, &self.commit, &cancel).expect("a store");
            self.vault
                .write_git_dir(&path, "filled", &self.commit, &store, &cancel)
                .expect("its git folder");
            path
        }

        fn fill(&self, path: &Path, parts: usize) {
            let cancel = &self.lab.cancel;
            let store = self.vault.lender(path, &self.commit, cancel).expect("a store");
            let policy = store.readable(&self.lab.policy);
            let call = |command| self.vault.git.fresh(&policy, path, command);
            let (index, commit) = (path.join(".git/index"), &self.commit);
            let fill = Fill { call: &call, place: path, index, commit };
            fill.done(parts, &self.lab.cancel).expect("it is filled");
        }

        fn git(&self, path: &Path, args: &[&str]) -> String {
            self.lab.git_in(path, args)
        }
    }

    #[test]
    fn parallel_fill_equals_a_single_fill() {
        let scene = scene();
        let one = scene.folder("one");
        scene.fill(&one, 1);
        assert_eq!(below(&one)[Path::new("zone/deep/c.txt")].1, b"one\r\ntwo\r\n");
        for parts in [2, 3, 8, 100] {
            let several = scene.folder(&format!("by-{parts}"));
            scene.fill(&several, parts);
            assert_eq!(below(&several), below(&one), "{parts} parts");
            assert!(several.join("sub/module").is_dir());
            for seen in [&["status", "--porcelain"][..], &["ls-files", "--stage"]] {
                assert_eq!(scene.git(&several, seen), scene.git(&one, seen), "{parts} parts");
            }
            let left = fs::read_dir(several.join(".git")).expect("a git folder").flatten();
            let left = left.filter(|it| it.file_name().to_string_lossy().starts_with("index"));
            assert_eq!(left.count(), 1, "{parts} parts");
        }
    }

    /// Git need not read a file again to detect that it is unchanged.
    #[test]
    fn merged_index_has_the_files_of_every_part() {
        let scene = scene();
        let path = scene.folder("filled");
        scene.fill(&path, 3);
        let index = path.join(".git/index");
        // Git reads files again if they are as recent as the index.
        let later = SystemTime::now() + Duration::from_mins(1);
        File::open(&index).expect("an index").set_modified(later).expect("a time");
        // In root's boxes, the files have a different owner than outside.
        let changed = ["-c", "core.checkStat=minimal", "diff-files", "--name-only"];
        assert_eq!(scene.git(&path, &changed), "");
        scene.git(&path, &["fsck", "--strict"]);
        write(&path.join("many/0/0.txt"), "other\n");
        assert_eq!(scene.git(&path, &changed), "many/0/0.txt");
    }

    #[test]
    fn failed_parallel_fill_falls_back_to_one_git() {
        let scene = scene();
        let path = scene.folder("filled");
        let lock = path.join(".git/index.0.lock");
        write(&lock, "");
        scene.fill(&path, 2);
        assert_eq!(scene.git(&path, &["status", "--porcelain"]), "");
        assert!(lock.exists(), "it was in the way");
    }

    #[test]
    fn few_files_are_filled_by_one_git() {
        let folder = tempfile::tempdir().expect("a folder");
        let index = folder.path().join("index");
        let parts_for = |count: u32| {
            fs::write(&index, [b"DIRC\0\0\0\x04".as_slice(), &count.to_be_bytes()].concat())
                .expect("an index");
            parts(&index)
        };
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        assert_eq!((parts_for(999), parts_for(1_000)), (1, cores.min(PARTS_MAX)));
        assert_eq!(parts(folder.path()), 1);
    }
}
