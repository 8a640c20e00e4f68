//! The regions of open attempts. The cost of a lookup does not depend on their number.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};
use core::ops::Bound;
use pitcrew_model::RepoPath;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Regions {
    keys: BTreeMap<Vec<RepoPath>, u32>,
    paths: Vec<Vec<RepoPath>>,
    /// The paths that open attempts hold, with their number.
    held: BTreeMap<String, u32>,
}

impl Regions {
    /// Returns the number of a region: 0 for none, equal numbers for equal regions.
    pub fn key(&mut self, region: &[RepoPath]) -> u32 {
        if region.is_empty() {
            return 0;
        }
        if let Some(key) = self.keys.get(region) {
            return *key;
        }
        self.paths.push(region.to_vec());
        let key = u32::try_from(self.paths.len()).expect("regions are bounded by tasks");
        self.keys.insert(region.to_vec(), key);
        key
    }

    /// Returns whether a task of this region would overlap an open attempt.
    pub fn is_held(&self, key: u32) -> bool {
        self.paths_of(key).iter().any(|it| self.path_is_held(it.as_str()))
    }

    pub fn hold(&mut self, key: u32) {
        for path in paths_of(&self.paths, key) {
            *self.held.entry(path.as_str().into()).or_default() += 1;
        }
    }

    pub fn release(&mut self, key: u32) {
        for path in paths_of(&self.paths, key) {
            let count = self.held.get_mut(path.as_str()).expect("a released region was held");
            *count -= 1;
            if *count == 0 {
                self.held.remove(path.as_str());
            }
        }
    }

    fn paths_of(&self, key: u32) -> &[RepoPath] {
        paths_of(&self.paths, key)
    }

    /// Returns whether an attempt holds the path, a folder above it, or a path below it.
    fn path_is_held(&self, path: &str) -> bool {
        if self.held.is_empty() || path.is_empty() {
            return !self.held.is_empty();
        }
        let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
        let above = folders.chain(["", path]).any(|it| self.held.contains_key(it));
        above || self.something_below_is_held(&format!("{path}/"))
    }

    fn something_below_is_held(&self, folder: &str) -> bool {
        let from = (Bound::Included(folder), Bound::Unbounded);
        let next = self.held.range::<str, _>(from).next();
        next.is_some_and(|(it, _)| it.starts_with(folder))
    }
}

fn paths_of(paths: &[Vec<RepoPath>], key: u32) -> &[RepoPath] {
    if key == 0 { &[] } else { &paths[key as usize - 1] }
}
