//! An index that git has just written, as far as it says which files there are and when they were
//! written.
//!
//! Only its second version with names of 20 bytes is read: the one that we ask for. Of all others
//! nothing is known, and whoever asks goes another way.

use sha1::{Digest, Sha1};
use std::ops::Range;

const HEAD_BYTES: usize = 12;
/// Times, device, inode, mode, owner and size of a file.
const STAT_BYTES: usize = 40;
/// The name of an object.
pub(crate) const OBJECT_BYTES: usize = 20;
const FLAGS_BYTES: usize = 2;
const ENTRY_BYTES_MIN: usize = STAT_BYTES + OBJECT_BYTES + FLAGS_BYTES;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexFile {
    bytes: Vec<u8>,
    /// Where each entry begins, and where its name ends.
    entries: Vec<Range<usize>>,
}

/// How many files an index says that it knows, whatever its version.
pub(crate) fn files_count(head: &[u8]) -> Option<u32> {
    let count = head.strip_prefix(b"DIRC")?.get(4..8)?;
    Some(u32::from_be_bytes(count.try_into().ok()?))
}

impl IndexFile {
    pub(crate) fn read(bytes: Vec<u8>) -> Option<Self> {
        let count = files_count(&bytes)?;
        let is_known = bytes.get(4..8)? == 2_u32.to_be_bytes();
        let body = bytes.len().checked_sub(OBJECT_BYTES).filter(|_| is_known)?;
        let (mut entries, mut at) = (Vec::new(), HEAD_BYTES);
        for _ in 0..count {
            let name = at + ENTRY_BYTES_MIN;
            let length = bytes.get(name..body)?.iter().position(|it| *it == 0)?;
            entries.push(at..name + length);
            // At least one zero, and the next begins at a multiple of eight from here.
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

    /// Takes from another what it says of these files. Nothing where it is not an index of the same
    /// ones.
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

    /// The whole file, with what it ends with.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        let body = self.bytes.len() - OBJECT_BYTES;
        let sum = Sha1::digest(&self.bytes[..body]);
        self.bytes[body..].copy_from_slice(&sum);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_testkit::corpus;
    use std::fs;

    fn sample(name: &str) -> Vec<u8> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/index");
        fs::read(format!("{folder}/{name}")).expect("a sample")
    }

    fn read(name: &str) -> IndexFile {
        IndexFile::read(sample(name)).expect("it is an index")
    }

    #[test]
    fn what_git_wrote_is_read_and_written_as_it_is() {
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
    fn of_each_file_one_says_what_it_knows() {
        let (mut index, written) = (read("listed"), read("written"));
        index.learn(&written, 0..2).expect("they are of the same files");
        assert_ne!(index, written);
        index.learn(&written, 2..5).expect("they are of the same files");
        assert_eq!(index.into_bytes(), sample("written"));
    }

    #[test]
    fn another_index_says_nothing_of_these_files() {
        for other in ["changed", "fewer"] {
            assert_eq!(read("listed").learn(&read(other), 0..5), None, "{other}");
        }
    }

    #[test]
    fn the_files_are_counted_in_every_version() {
        for (name, is_read) in [("written", true), ("version-3", false), ("version-4", false)] {
            assert_eq!(files_count(&sample(name)), Some(5), "{name}");
            assert_eq!(IndexFile::read(sample(name)).is_some(), is_read, "{name}");
        }
        assert_eq!(files_count(b"DIRC\0\0\0\x02\0\0"), None);
        assert_eq!(files_count(b"no index of git"), None);
    }

    #[test]
    fn no_bytes_make_it_fail() {
        corpus!("index").check(300, |bytes| {
            let Some(mut index) = IndexFile::read(bytes.to_vec()) else { return };
            let names: usize = index.names(0..index.len()).map(<[u8]>::len).sum();
            assert!(names < bytes.len());
            let (other, all) = (index.clone(), 0..index.len());
            assert_eq!(index.learn(&other, all), Some(()));
            assert_eq!(index.into_bytes().len(), bytes.len());
        });
    }
}
