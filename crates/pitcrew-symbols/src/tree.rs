//! Saves the content key of each file in a checkout.
//!
//! With this, a start without changes reads no sources. The file is replaced atomically, and
//! everything in it can be computed again.

use crate::{
    bytes::{Reader, Writer},
    digest::{Key, checksum},
    pool::VERSION,
    source::Stamp,
};
use sha2::{Digest as _, Sha256};
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

const MAGIC: &[u8] = b"pitcrew tree";
const SUM_BYTES: usize = 8;

/// The maximum number of saved trees of former checkouts.
const TREES_MAX: usize = 64;

/// A file and its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    pub path: String,
    pub stamp: Stamp,
    pub key: Key,
}

/// The file in which the tree of a checkout is saved.
pub fn place(folder: &Path, root: &Path) -> PathBuf {
    let digest = Sha256::digest(root.as_os_str().as_encoded_bytes());
    let name = Key(digest[..16].try_into().expect("a digest is longer"));
    folder.join("trees").join(name.to_string())
}

/// Returns an empty list if there is no valid tree.
pub fn load(place: &Path) -> Vec<Leaf> {
    fs::read(place).ok().and_then(|it| decode(&it)).unwrap_or_default()
}

pub fn save<'a>(
    place: &Path,
    leaves: impl Iterator<Item = (&'a str, Stamp, Key)>,
) -> io::Result<()> {
    let folder = place.parent().expect("it has a name");
    fs::create_dir_all(folder)?;
    let temporary = place.with_extension(std::process::id().to_string());
    let written =
        fs::write(&temporary, encode(leaves)).and_then(|()| fs::rename(&temporary, place));
    if written.is_err() {
        fs::remove_file(&temporary).ok();
    }
    forget_old(folder);
    written
}

fn forget_old(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut trees: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(Result::ok)
        .filter_map(|it| Some((it.metadata().ok()?.modified().ok()?, it.path())))
        .collect();
    trees.sort_unstable();
    for (_, path) in &trees[..trees.len().saturating_sub(TREES_MAX)] {
        fs::remove_file(path).ok();
    }
}

fn encode<'a>(leaves: impl Iterator<Item = (&'a str, Stamp, Key)>) -> Vec<u8> {
    let mut writer = Writer { bytes: MAGIC.to_vec() };
    writer.fixed(VERSION);
    for (path, stamp, key) in leaves {
        writer.text(path);
        writer.number(stamp.size);
        for time in [stamp.modified_ns, stamp.changed_ns] {
            writer.bytes.extend_from_slice(&time.to_le_bytes());
        }
        writer.number(stamp.inode);
        writer.bytes.extend_from_slice(&key.0);
    }
    let sum = checksum(&writer.bytes);
    writer.bytes.extend_from_slice(&sum.to_le_bytes());
    writer.bytes
}

fn decode(bytes: &[u8]) -> Option<Vec<Leaf>> {
    let (body, sum) = bytes.split_at_checked(bytes.len().checked_sub(SUM_BYTES)?)?;
    if checksum(body).to_le_bytes() != sum {
        return None;
    }
    let mut reader = Reader::new(body);
    if reader.take(MAGIC.len())? != MAGIC || reader.fixed()? != VERSION {
        return None;
    }
    let mut leaves = Vec::new();
    while !reader.is_empty() {
        leaves.push(leaf(&mut reader)?);
    }
    Some(leaves)
}

fn leaf(reader: &mut Reader<'_>) -> Option<Leaf> {
    let path = reader.text()?.to_owned();
    let size = reader.number()?;
    let modified_ns = i64::from_le_bytes(reader.take(8)?.try_into().ok()?);
    let changed_ns = i64::from_le_bytes(reader.take(8)?.try_into().ok()?);
    let stamp = Stamp { size, modified_ns, changed_ns, inode: reader.number()? };
    Some(Leaf { path, stamp, key: Key(reader.take(16)?.try_into().ok()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves() -> Vec<Leaf> {
        let stamp = Stamp { size: 300, modified_ns: -5, changed_ns: i64::MAX, inode: 1 << 40 };
        let leaf = |path: &str| Leaf { path: path.into(), stamp, key: Key([7; 16]) };
        vec![leaf("a.rs"), leaf("b/größe.rs")]
    }

    fn bytes() -> Vec<u8> {
        encode(leaves().iter().map(|it| (it.path.as_str(), it.stamp, it.key)))
    }

    #[test]
    fn a_saved_tree_is_loaded() {
        let dir = tempfile::tempdir().unwrap();
        let place = place(dir.path(), Path::new("/somewhere"));
        assert_eq!(load(&place), []);
        save(&place, leaves().iter().map(|it| (it.path.as_str(), it.stamp, it.key))).unwrap();
        assert_eq!(load(&place), leaves());
    }

    #[test]
    fn a_torn_or_foreign_tree_is_ignored() {
        let bytes = bytes();
        for end in 0..bytes.len() {
            assert_eq!(decode(&bytes[..end]), None, "{end}");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 4;
            assert_eq!(decode(&changed), None, "{at}");
        }
        assert_eq!(decode(&[0; 100]), None);
    }

    #[test]
    fn old_trees_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..TREES_MAX + 5 {
            let place = place(dir.path(), Path::new(&format!("/{number}")));
            save(&place, std::iter::empty()).unwrap();
        }
        let left = fs::read_dir(dir.path().join("trees")).unwrap().count();
        assert_eq!(left, TREES_MAX);
    }
}
