//! Reads an index that git has just written: its files and when they were written.
//!
//! Only version 2 with object names of 20 bytes is supported, which Pitcrew configures git to
//! write. For any other index the functions return `None`, and the caller uses a slower way.

use pitcrew_model::CommitId;
use sha1::{Digest, Sha1};
use std::{
    ffi::OsStr,
    fs,
    ops::Range,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

const HEAD_BYTES: usize = 12;
/// The size of the times, device, inode, mode, owner and size of a file.
const STAT_BYTES: usize = 40;
const OBJECT_BYTES: usize = 20;
/// The range of the file size within the metadata.
const SIZE: Range<usize> = 36..40;
const FLAGS_BYTES: usize = 2;
const ENTRY_BYTES_MIN: usize = STAT_BYTES + OBJECT_BYTES + FLAGS_BYTES;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexFile {
    bytes: Vec<u8>,
    /// The range of each entry, from its beginning to the end of its name.
    entries: Vec<Range<usize>>,
}

/// The number of files in an index of any version.
pub(crate) fn files_count(head: &[u8]) -> Option<u32> {
    let count = head.strip_prefix(b"DIRC")?.get(4..8)?;
    Some(u32::from_be_bytes(count.try_into().ok()?))
}

/// Reads the index in this file and settles it with the files of a tree. `None` if it cannot be
/// read.
pub(crate) fn settled(index: &Path, tree: &Path, commit: &CommitId) -> Option<Vec<u8>> {
    let written = fs::metadata(index).and_then(|it| it.modified()).ok()?;
    let mut index = IndexFile::read(fs::read(index).ok()?, commit)?;
    index.settle(tree, written, SystemTime::now());
    Some(index.into_bytes())
}

impl IndexFile {
    /// `commit` is a commit of the same repository. If its name is longer, so are the names in the
    /// index.
    pub(crate) fn read(bytes: Vec<u8>, commit: &CommitId) -> Option<Self> {
        let count = files_count(&bytes)?;
        let is_known =
            bytes.get(4..8)? == 2_u32.to_be_bytes() && commit.0.len() == OBJECT_BYTES * 2;
        let body = bytes.len().checked_sub(OBJECT_BYTES).filter(|_| is_known)?;
        let (mut entries, mut at) = (Vec::new(), HEAD_BYTES);
        for _ in 0..count {
            let name = at + ENTRY_BYTES_MIN;
            let length = bytes.get(name..body)?.iter().position(|it| *it == 0)?;
            entries.push(at..name + length);
            // At least one zero byte follows, and each entry is padded to a multiple of eight
            // bytes.
            at += (ENTRY_BYTES_MIN + length) / 8 * 8 + 8;
        }
        (at <= body).then_some(Self { bytes, entries })
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The names of these files, in order.
    pub(crate) fn names(&self, files: Range<usize>) -> impl Iterator<Item = &[u8]> {
        self.entries[files].iter().map(|it| &self.bytes[it.start + ENTRY_BYTES_MIN..it.end])
    }

    /// Copies the metadata of these files from another index. `None` if the other index has
    /// different files.
    pub(crate) fn learn(&mut self, other: &Self, files: Range<usize>) -> Option<()> {
        if self.entries != other.entries {
            return None;
        }
        for entry in &self.entries[files] {
            let (stat, rest) = (entry.start..entry.start + STAT_BYTES, entry.start + STAT_BYTES);
            if self.bytes[rest..entry.end] != other.bytes[rest..entry.end] {
                return None;
            }
            self.bytes[stat.clone()].copy_from_slice(&other.bytes[stat]);
        }
        Some(())
    }

    /// Removes the ambiguity between unchanged files and files that were changed in the same
    /// second. Git compares whole seconds, so it reads every file again that is as recent as the
    /// index, which includes all files that were written with it.
    ///
    /// `tree` is the folder of the files. `written` is when the index was written, which was before
    /// any program but git could write to the tree. `now` is not later than the time at which the
    /// settled index is written.
    pub(crate) fn settle(&mut self, tree: &Path, written: SystemTime, now: SystemTime) {
        for entry in &self.entries {
            let (stat, rest) = self.bytes[entry.clone()].split_at_mut(STAT_BYTES);
            let path = tree.join(OsStr::from_bytes(&rest[ENTRY_BYTES_MIN - STAT_BYTES..]));
            let changed = changed_at(stat);
            if seconds(changed) < seconds(written) {
                continue;
            }
            // Files that are written from now on have a later second, even if the clock of the file
            // system is slightly behind.
            let is_over = seconds(changed) + 1 < seconds(now);
            if !(is_over && changed < written && is_of(stat, &path)) {
                // A size of zero makes git read the file.
                stat[SIZE].fill(0);
            }
        }
    }

    /// The whole file, including its checksum.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        let body = self.bytes.len() - OBJECT_BYTES;
        let sum = Sha1::digest(&self.bytes[..body]);
        self.bytes[body..].copy_from_slice(&sum);
        self.bytes
    }
}

/// When a file was last changed, according to an index entry.
fn changed_at(stat: &[u8]) -> SystemTime {
    let number = |at: usize| u32::from_be_bytes(stat[at..at + 4].try_into().expect("four bytes"));
    UNIX_EPOCH + Duration::new(number(8).into(), number(12).min(999_999_999))
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Whether the file is unchanged since the entry was written, according to its times in
/// nanoseconds, its inode and its size.
fn is_of(stat: &[u8], path: &Path) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else { return false };
    let now = [
        found.ctime(),
        found.ctime_nsec(),
        found.mtime(),
        found.mtime_nsec(),
        found.ino().cast_signed(),
        found.size().cast_signed(),
    ];
    let places = [0, 4, 8, 12, 20, 36];
    // An index contains the lower 32 bits of each number.
    let is_same = |(it, at): (i64, usize)| it.to_be_bytes()[4..] == stat[at..at + 4];
    found.mtime_nsec() != 0 && now.into_iter().zip(places).all(is_same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Lab;
    use pitcrew_testkit::corpus;
    use std::path::PathBuf;

    fn sample(name: &str) -> Vec<u8> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/index");
        fs::read(format!("{folder}/{name}")).expect("a sample")
    }

    fn commit() -> CommitId {
        CommitId("c".repeat(40))
    }

    fn read(name: &str) -> IndexFile {
        IndexFile::read(sample(name), &commit()).expect("it is an index")
    }

    #[test]
    fn index_round_trips_unchanged() {
        let index = read("written");
        let names = index.names(0..index.len()).map(|it| match it.len() {
            0..100 => it.escape_ascii().to_string(),
            bytes => format!("{bytes} bytes"),
        });
        let expected = ["a", "caf\\xe9", "deep/er/link", "4105 bytes", "deep/odd\\nname"];
        assert_eq!(names.collect::<Vec<_>>(), expected);
        assert_eq!(index.into_bytes(), sample("written"));
    }

    #[test]
    fn metadata_is_copied_per_file() {
        let (mut index, written) = (read("listed"), read("written"));
        index.learn(&written, 0..2).expect("they are of the same files");
        assert_ne!(index, written);
        index.learn(&written, 2..5).expect("they are of the same files");
        assert_eq!(index.into_bytes(), sample("written"));
    }

    #[test]
    fn index_with_other_files_is_rejected() {
        for other in ["changed", "fewer"] {
            assert_eq!(read("listed").learn(&read(other), 0..5), None, "{other}");
        }
    }

    #[test]
    fn files_are_counted_in_every_index_version() {
        for (name, is_read) in [("written", true), ("version-3", false), ("version-4", false)] {
            assert_eq!(files_count(&sample(name)), Some(5), "{name}");
            assert_eq!(IndexFile::read(sample(name), &commit()).is_some(), is_read, "{name}");
        }
        let long = CommitId("c".repeat(64));
        assert_eq!(IndexFile::read(sample("written"), &long), None);
        assert_eq!(files_count(b"DIRC\0\0\0\x02\0\0"), None);
        assert_eq!(files_count(b"no index of git"), None);
    }

    #[test]
    fn any_bytes_are_parsed_without_a_panic() {
        corpus!("index").check(300, |bytes| {
            let Some(mut index) = IndexFile::read(bytes.to_vec(), &commit()) else { return };
            index.settle(Path::new("/nowhere"), UNIX_EPOCH, SystemTime::now());
            let names: usize = index.names(0..index.len()).map(<[u8]>::len).sum();
            assert!(names < bytes.len());
            let (other, all) = (index.clone(), 0..index.len());
            assert_eq!(index.learn(&other, all), Some(()));
            assert_eq!(index.into_bytes().len(), bytes.len());
        });
    }

    const FILES: [&str; 2] = ["a.txt", "deep/b.txt"];

    /// A tree whose files were written in the middle of a second, and its index.
    struct Filled {
        lab: Lab,
        tree: PathBuf,
        index: IndexFile,
        changed: SystemTime,
    }

    fn filled() -> Filled {
        let lab = Lab::empty();
        lab.git(&["init", "--quiet", "--initial-branch=main"]);
        let changed = UNIX_EPOCH + Duration::from_millis(1_800_000_000_500);
        for name in FILES {
            lab.write(name, "first\n");
            date(&lab.user.join(name), changed);
        }
        lab.commit("files");
        let tree = lab.user.clone();
        let bytes = fs::read(tree.join(".git/index")).expect("an index");
        let index = IndexFile::read(bytes, &lab.rev("HEAD")).expect("it is of this version");
        Filled { lab, tree, index, changed }
    }

    fn date(path: &Path, time: SystemTime) {
        fs::File::open(path).expect("a file").set_modified(time).expect("a time");
    }

    impl Filled {
        /// The files that git lists as changed if the index was written and settled this many
        /// milliseconds after the files, and git trusts the index as far as it ever does.
        fn listed(&self, written_ms: u64, settled_ms: u64) -> Vec<String> {
            let [written, now] =
                [written_ms, settled_ms].map(|it| self.changed + Duration::from_millis(it));
            let mut index = self.index.clone();
            index.settle(&self.tree, written, now);
            let path = self.tree.join(".git/index");
            fs::write(&path, index.into_bytes()).expect("room");
            date(&path, self.changed + Duration::from_hours(1));
            let listed = self.lab.git_in(&self.tree, &["diff-files", "--name-only"]);
            listed.lines().map(str::to_owned).collect()
        }
    }

    #[test]
    fn unchanged_files_are_known_after_their_second() {
        let filled = filled();
        assert_eq!(filled.listed(1, 1_500), [""; 0]);
        // Until then, a change within the same second cannot be distinguished from the version that
        // was written with the index.
        assert_eq!(filled.listed(1, 1_499), FILES);
        assert_eq!(filled.listed(0, 1_500), FILES);
        // Git detects this without help.
        assert_eq!(filled.listed(600, 700), [""; 0]);
    }

    /// The change is in the same second and of the same size, so git alone would not detect it.
    #[test]
    fn change_within_the_same_second_is_detected() {
        let filled = filled();
        let [first, second] = FILES.map(|it| filled.tree.join(it));
        fs::write(&first, "FIRST\n").expect("a file");
        date(&first, filled.changed + Duration::from_millis(1));
        assert_eq!(filled.listed(30, 1_600), FILES[..1]);
        fs::remove_file(&second).expect("a file");
        assert_eq!(filled.listed(30, 1_600), FILES);
    }
}
