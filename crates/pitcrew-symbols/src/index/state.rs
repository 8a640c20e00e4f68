//! The state of an index: files, their symbols, and the files that have not been read yet.

use super::places::Places;
use crate::{
    Language,
    digest::Key,
    pack::Packed,
    source::Stamp,
    table::{Posting, Slot, Table},
    walk::Found,
};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

/// A source and its symbols.
#[derive(Clone, Debug)]
pub struct File {
    pub path: Arc<str>,
    pub language: Language,
    pub stamp: Stamp,
    /// Whether any later change would alter the stamp.
    pub settled: bool,
    pub key: Key,
    pub packed: Packed,
}

#[derive(Debug, Default)]
pub struct State {
    files: Vec<Option<File>>,
    /// Numbers without postings.
    free: Vec<Slot>,
    /// Numbers of removed files that may still have postings.
    gone: Vec<Slot>,
    by_path: HashMap<Arc<str>, Slot>,
    places: Places,
    table: Table,
    /// New and changed files that have not been read yet. Their old symbols are ignored.
    pending: BTreeMap<Arc<str>, Found>,
    /// Incremented by each change.
    pub generation: u64,
    /// Whether there are unsaved results.
    pub unsaved: bool,
    /// When the folder was last walked, and how long that took.
    pub looked: Option<(Instant, Duration)>,
}

impl State {
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter().flatten()
    }

    pub fn files_count(&self) -> usize {
        self.by_path.len()
    }

    pub fn table(&self) -> &Table {
        &self.table
    }

    pub fn pending(&self) -> &BTreeMap<Arc<str>, Found> {
        &self.pending
    }

    pub fn pending_bytes(&self) -> u64 {
        self.pending.values().map(|it| it.stamp.size).sum()
    }

    pub fn file(&self, path: &str) -> Option<&File> {
        self.at(self.slot(path)?)
    }

    pub fn slot(&self, path: &str) -> Option<Slot> {
        self.by_path.get(path).copied()
    }

    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The file of a posting, if it exists and its symbols are up to date.
    pub fn file_of(&self, posting: &Posting) -> Option<&File> {
        self.at(posting.file).filter(|it| !self.pending.contains_key(&it.path))
    }

    /// Whether the file of a posting exists and is up to date.
    pub fn is_live(&self, posting: &Posting) -> bool {
        let is_there = self.places.of(posting.file).is_some();
        is_there && (self.pending.is_empty() || self.file_of(posting).is_some())
    }

    /// Whether the files of all postings exist and are up to date.
    pub fn is_all_live(&self) -> bool {
        !self.table.has_dead() && self.pending.is_empty()
    }

    /// The number of symbols with a name.
    pub fn live_count(&self, name: &str) -> usize {
        let runs = self.table.named(name);
        if self.is_all_live() {
            return runs.iter().map(|it| it.len()).sum();
        }
        runs.into_iter().flatten().filter(|it| self.is_live(it)).count()
    }

    fn at(&self, slot: Slot) -> Option<&File> {
        self.files.get(slot as usize)?.as_ref()
    }

    /// Compares the given files with the state, using only their stamps.
    pub fn found(&mut self, found: Vec<Found>) {
        let mut there = vec![false; self.files.len()];
        let mut pending = BTreeMap::new();
        for it in found {
            let slot = self.by_path.get(&it.path).copied();
            if let Some(slot) = slot {
                there[slot as usize] = true;
            }
            let known = slot.and_then(|it| self.at(it));
            if !known.is_some_and(|known| known.settled && known.stamp == it.stamp) {
                pending.insert(it.path.clone(), it);
            }
        }
        self.pending = pending;
        for (index, there) in there.into_iter().enumerate() {
            if !there && let Some(file) = self.files[index].take() {
                self.forget(index, &file);
            }
        }
        self.finish();
    }

    /// Marks one file as pending, or removes it.
    pub fn touched(&mut self, path: &str, found: Option<Found>) {
        match found {
            Some(found) => {
                self.pending.insert(found.path.clone(), found);
            }
            None => {
                self.pending.remove(path);
                if let Some(slot) = self.by_path.get(path).copied()
                    && let Some(file) = self.files[slot as usize].take()
                {
                    self.forget(slot as usize, &file);
                }
            }
        }
    }

    /// Adds files that were read. Files that could not be read are removed.
    pub fn read(&mut self, results: Vec<(Arc<str>, Option<File>)>) {
        for (path, file) in results {
            self.pending.remove(&path);
            let slot = self.by_path.get(&path).copied();
            let before = slot.and_then(|it| self.files[it as usize].as_mut());
            match (before, file) {
                (Some(before), Some(file)) if before.key == file.key => {
                    self.unsaved |= before.stamp != file.stamp;
                    *before = file;
                }
                (_, file) => {
                    if let Some(slot) = slot
                        && let Some(before) = self.files[slot as usize].take()
                    {
                        self.forget(slot as usize, &before);
                    }
                    if let Some(file) = file {
                        self.add(file);
                    }
                }
            }
        }
        self.finish();
    }

    fn add(&mut self, file: File) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.files.push(None);
            Slot::try_from(self.files.len() - 1).expect("files are limited")
        });
        self.table.add(slot, &file.path, file.language, &file.packed);
        self.places.add(slot, &file.path, file.language);
        self.by_path.insert(file.path.clone(), slot);
        self.files[slot as usize] = Some(file);
        self.generation += 1;
        self.unsaved = true;
    }

    fn forget(&mut self, index: usize, file: &File) {
        self.by_path.remove(&file.path);
        self.table.remove(&file.packed);
        self.places.remove(index);
        self.gone.push(Slot::try_from(index).expect("files are limited"));
        self.generation += 1;
        self.unsaved = true;
    }

    fn finish(&mut self) {
        let files = &self.files;
        if self.table.finish(|slot| files[slot as usize].is_some()) {
            self.free.append(&mut self.gone);
        }
    }
}
