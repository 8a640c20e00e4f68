//! Paths in a form in which thousands of them are compared within microseconds.
//!
//! Names are compared by hash. This selects candidates, which are then compared in full.

use crate::{Language, digest::of_name, oracle::without_extension, table::Slot};
use std::collections::HashMap;

#[derive(Debug, Default)]
pub struct Places {
    /// Indexed by the number of the file.
    files: Vec<Place>,
    /// Each folder follows its parent; the first is the root.
    folders: Vec<Folder>,
    by_path: HashMap<Box<str>, u32>,
}

#[derive(Clone, Copy, Debug)]
pub struct Place {
    folder: u32,
    /// The hash of the file name without its extension.
    name: u32,
    pub language: Language,
    is_live: bool,
}

#[derive(Debug)]
struct Folder {
    parent: u32,
    depth: u32,
    name: u32,
}

/// The names to find in paths.
#[derive(Debug, Default)]
pub struct Sought {
    /// Hashes of names; at most as many as there are bits.
    names: Vec<u32>,
    /// One bit for each value of the last bits of a hash. Rules out most other names.
    ends: u64,
}

/// A set of the names to find, as bits.
pub type Names = u32;

impl Sought {
    /// Returns the bit of a name, or all bits if there are too many names.
    pub fn add(&mut self, name: &str) -> Names {
        let name = hash(name);
        let known = self.names.iter().position(|it| *it == name);
        let bit = known.unwrap_or(self.names.len());
        if bit == Names::BITS as usize {
            return Names::MAX;
        }
        if known.is_none() {
            self.names.push(name);
            self.ends |= end(name);
        }
        1 << bit
    }

    fn bits(&self, name: u32) -> Names {
        if self.ends & end(name) == 0 {
            return 0;
        }
        let bits = self.names.iter().zip(0..);
        bits.fold(0, |all, (it, bit)| all | Names::from(*it == name) << bit)
    }
}

fn end(name: u32) -> u64 {
    1 << (name % u64::BITS)
}

/// The data that one question has collected about all folders.
#[derive(Debug)]
pub struct View {
    sought: Sought,
    folders: Vec<Seen>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    names: Names,
    near: u32,
    /// The regions of the caller that are below this folder, as bits.
    leads_to: u64,
}

impl View {
    /// The names in the path of a file, and the number of folders it shares with the caller.
    pub fn of(&self, place: &Place) -> (Names, u32) {
        let Seen { names, near, .. } = self.folders[place.folder as usize];
        (names | self.sought.bits(place.name), near)
    }
}

/// `-` is not allowed in module names.
fn hash(name: &str) -> u32 {
    if name.contains('-') { of_name(&name.replace('-', "_")) } else { of_name(name) }
}

impl Places {
    pub fn add(&mut self, slot: Slot, path: &str, language: Language) {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let (folder, name) = (self.folder(folder), hash(without_extension(name)));
        let place = Place { folder, name, language, is_live: true };
        let slot = slot as usize;
        if self.files.len() <= slot {
            self.files.resize(slot + 1, place);
        }
        self.files[slot] = place;
    }

    pub fn remove(&mut self, index: usize) {
        if let Some(place) = self.files.get_mut(index) {
            place.is_live = false;
        }
    }

    /// Returns `None` if the file was removed.
    pub fn of(&self, slot: Slot) -> Option<&Place> {
        self.files.get(slot as usize).filter(|it| it.is_live)
    }

    fn folder(&mut self, path: &str) -> u32 {
        if let Some(known) = self.by_path.get(path) {
            return *known;
        }
        let (mut parent, mut depth) = (0, 0);
        if self.folders.is_empty() {
            self.folders.push(Folder { parent, depth, name: 0 });
            self.by_path.insert("".into(), 0);
        }
        let ends = path.match_indices('/').map(|it| it.0).chain([path.len()]);
        for end in ends.filter(|it| *it > 0) {
            depth += 1;
            let part = path[..end].rsplit('/').next().unwrap_or_default();
            parent = self.by_path.get(&path[..end]).copied().unwrap_or_else(|| {
                let number = u32::try_from(self.folders.len()).expect("files are limited");
                self.folders.push(Folder { parent, depth, name: hash(part) });
                self.by_path.insert(path[..end].into(), number);
                number
            });
        }
        parent
    }

    /// Visits every folder once. If there are more regions than bits, only the first are used.
    pub fn view(&self, sought: Sought, from: &[Vec<String>]) -> View {
        let regions = from.iter().take(u64::BITS as usize);
        let from: Vec<Vec<u32>> =
            regions.map(|it| it.iter().map(|it| hash(it)).collect()).collect();
        let mut folders: Vec<Seen> = Vec::with_capacity(self.folders.len());
        for folder in &self.folders {
            let root = Seen { names: 0, near: 0, leads_to: u64::MAX };
            let mut seen = folders.get(folder.parent as usize).copied().unwrap_or(root);
            seen.names |= sought.bits(folder.name);
            if seen.leads_to != 0
                && let Some(index) = folder.depth.checked_sub(1)
            {
                let goes_on = |it: &Vec<u32>| it.get(index as usize) == Some(&folder.name);
                let on = from.iter().zip(0..).filter(|it| goes_on(it.0));
                seen.leads_to &= on.fold(0, |all, it| all | 1 << it.1);
                seen.near = if seen.leads_to == 0 { seen.near } else { folder.depth };
            }
            folders.push(seen);
        }
        View { sought, folders }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_shared_folders_are_found_for_each_file() {
        let mut places = Places::default();
        let paths = ["a/my-core/gate.rs", "a/my-core/deep/x.rs", "core.rs", "b/a/core.test.ts"];
        for (slot, path) in (0..).zip(paths) {
            places.add(slot, path, Language::Rust);
        }
        let mut sought = Sought::default();
        let (core, gate) = (sought.add("core"), sought.add("gate"));
        let my_core = sought.add("my_core");
        let from = |it: &str| it.split('/').map(str::to_owned).collect::<Vec<_>>();
        let view = places.view(sought, &[from("a/my-core/y.rs"), from("b")]);
        let seen = |slot| places.of(slot).map(|it| view.of(it));
        assert_eq!(seen(0), Some((gate | my_core, 2)));
        assert_eq!(seen(1), Some((my_core, 2)));
        assert_eq!(seen(2), Some((core, 0)));
        assert_eq!(seen(3), Some((core, 1)));
        places.remove(1);
        assert!(places.of(1).is_none(), "it is gone");
        places.add(1, "core/y.rs", Language::Rust);
        let view = places.view(Sought::default(), &[]);
        assert_eq!(places.of(1).map(|it| view.of(it)), Some((0, 0)));
        assert!(places.of(9).is_none());
    }

    #[test]
    fn more_names_than_bits_match_every_path() {
        let mut sought = Sought::default();
        let bits: Vec<Names> = (0..40).map(|it| sought.add(&it.to_string())).collect();
        assert_eq!(bits[31], 1 << 31);
        assert_eq!(bits[32], Names::MAX);
        assert_eq!(sought.add("7"), bits[7], "it is known");
    }
}
