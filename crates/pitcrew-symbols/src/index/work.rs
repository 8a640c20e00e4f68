//! Reads new and changed files on as many threads as there are cores.

use super::{Shared, state::File};
use crate::{
    Language, Request, Skipped,
    digest::Key,
    pack::Packed,
    pool::Pool,
    source::{Root, Stamp},
    tree,
    walk::{Found, walk},
};
use std::{
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

/// The number of files that are read before their symbols are published.
const CHUNK_FIRST: usize = 256;
const CHUNK_MAX: usize = 8_192;

/// The key of all files that exceed the size limit.
const TOO_LARGE: Key = Key([0; 16]);

/// Whether questions have priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// A question is waiting for the result.
    Hurry,
    /// Background work, which pauses for questions.
    Behind,
}

impl Shared {
    /// The background thread of an index.
    pub fn work(&self) {
        self.begin();
        loop {
            self.catch_up(Pace::Behind);
            if self.is_stopped() {
                return;
            }
            self.save();
            self.rest();
        }
    }

    /// Walks the folder while the last state is loaded.
    fn begin(&self) {
        let _one = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let began = Instant::now();
        let found = std::thread::scope(|scope| {
            let walking = scope.spawn(|| walk(&self.root, self.threads_count, &self.stop));
            self.remember();
            walking.join().unwrap_or_default()
        });
        self.compare(found, began);
    }

    /// Loads the state of the last run. It is used once it has been compared with the files.
    fn remember(&self) {
        let leaves = tree::load(&tree::place(self.pool.folder(), &self.root));
        let known = self.pool.get_all(leaves.iter().map(|it| it.key));
        let files = leaves.into_iter().zip(known).filter_map(|(leaf, packed)| {
            let language = Language::of(Path::new(&leaf.path))?;
            let path: Arc<str> = leaf.path.into();
            let (stamp, key) = (leaf.stamp, leaf.key);
            let file =
                File { path: path.clone(), language, stamp, settled: true, key, packed: packed? };
            Some((path, Some(file)))
        });
        let files = files.collect();
        let mut state = self.write();
        // An early question may already have read more files that are not saved yet.
        let unsaved = state.unsaved;
        state.read(files);
        state.unsaved = unsaved;
    }

    /// Finds new, changed and removed files.
    pub fn look(&self) {
        let _one = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let began = Instant::now();
        let found = walk(&self.root, self.threads_count, &self.stop);
        self.compare(found, began);
    }

    fn compare(&self, found: Vec<Found>, began: Instant) {
        if !self.is_stopped() {
            let mut state = self.write();
            state.found(found);
            state.looked = Some((Instant::now(), began.elapsed()));
        }
        self.wake();
    }

    /// Reads all pending files.
    pub fn catch_up(&self, pace: Pace) {
        let mut chunk_max = CHUNK_FIRST;
        while !self.is_stopped() {
            if pace == Pace::Behind {
                self.let_questions_pass();
            }
            let _turn = (pace == Pace::Behind).then(|| self.pool.turn());
            let _one = self.working.lock().unwrap_or_else(PoisonError::into_inner);
            let chunk: Vec<Found> =
                self.read_lock().pending().values().take(chunk_max).cloned().collect();
            if chunk.is_empty() {
                return;
            }
            self.read_files(chunk, pace);
            chunk_max = (chunk_max * 2).min(CHUNK_MAX);
        }
    }

    /// Reads these files and publishes their symbols.
    pub fn read_files(&self, mut chunk: Vec<Found>, pace: Pace) {
        // The largest files are read first. Otherwise one thread may read one last while the others
        // wait.
        chunk.sort_by_key(|it| std::cmp::Reverse(it.stamp.size));
        let Some(root) = Root::open(&self.root) else {
            self.write().read(chunk.into_iter().map(|it| (it.path, None)).collect());
            return;
        };
        let results = self.side_by_side(&chunk, pace, |buffer, found| {
            Some((found.path.clone(), read(&root, &self.pool, found, buffer)))
        });
        self.write().read(results);
    }

    /// Runs `work` for each file on several threads until it is stopped. Each thread reuses a
    /// buffer.
    pub fn side_by_side<T: Send>(
        &self,
        files: &[Found],
        pace: Pace,
        work: impl Fn(&mut Vec<u8>, &Found) -> Option<T> + Sync,
    ) -> Vec<T> {
        let next = AtomicUsize::new(0);
        let all = Mutex::new(Vec::with_capacity(files.len()));
        let one_thread = || {
            let (mut mine, mut buffer) = (Vec::new(), Vec::new());
            while let Some(found) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.is_stopped() || pace == Pace::Behind && self.pool.has_open_questions() {
                    break;
                }
                mine.extend(work(&mut buffer, found));
            }
            all.lock().unwrap_or_else(PoisonError::into_inner).append(&mut mine);
        };
        let threads_count = self.threads_count.min(files.len());
        std::thread::scope(|scope| {
            for _ in 1..threads_count {
                scope.spawn(one_thread);
            }
            one_thread();
        });
        all.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Saves everything for the next start. If that fails, it is computed again.
    pub fn save(&self) {
        if !std::mem::take(&mut self.write().unsaved) {
            return;
        }
        // Contents are saved first. A tree that refers to missing contents only costs time.
        let saved = self.pool.save().and_then(|()| {
            let leaves = self.leaves();
            let place = tree::place(self.pool.folder(), &self.root);
            tree::save(&place, leaves.iter().map(|it| (&*it.0, it.1, it.2)))
        });
        if saved.is_err() {
            self.write().unsaved = true;
        }
    }

    fn leaves(&self) -> Vec<(Arc<str>, Stamp, Key)> {
        let state = self.read_lock();
        let settled = state.files().filter(|it| it.settled);
        settled.map(|it| (it.path.clone(), it.stamp, it.key)).collect()
    }
}

/// The symbols of the current version of a file, or `None` if it cannot be read.
fn read(root: &Root, pool: &Pool, found: &Found, buffer: &mut Vec<u8>) -> Option<File> {
    let read = root.read(&found.path, buffer)?;
    let language = found.language;
    let (key, packed) = match read.content {
        Some(content) => {
            let key = Key::of(language, content);
            let request = Request::File { language, content };
            (key, pool.get_or_parse(key, || pool.parser().parse(&request)))
        }
        None => (TOO_LARGE, Packed::skipped(Skipped::TooLarge)),
    };
    let (path, stamp) = (found.path.clone(), read.stamp);
    // Without a parser, the file is tried again at the next walk.
    let settled = stamp.is_settled() && packed.why_skipped() != Some(Skipped::NoParser);
    Some(File { path, language, stamp, settled, key, packed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InProcess;
    use std::fs;

    #[test]
    fn files_read_before_the_background_thread_starts_are_saved() {
        let (root, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(root.path().join("a.rs"), "pub fn gate() {}\n").unwrap();
        let shared =
            Shared::new(root.path(), &Arc::new(Pool::open(kept.path(), Arc::new(InProcess))));
        shared.look();
        shared.catch_up(Pace::Hurry);
        shared.begin();
        shared.save();
        assert_ne!(fs::read_dir(kept.path()).unwrap().count(), 0);
    }
}
