//! The symbols of one checkout, kept up to date with its files.
//!
//! Opening returns at once: a background thread loads the last state, finds the files that have
//! changed since, and reads them. A question that arrives earlier is answered from the files that
//! contain the name, which are read first. Nothing here writes to the checkout.

mod places;
mod state;
mod work;
mod scan;

pub use places::{Names, Sought, View};
pub use state::{File, State};

use crate::{
    Answer, Language, Parsed, Pool, Question, Request, digest::Key, oracle, source::Root,
    walk::Found,
};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};
use work::Pace;

/// The maximum age of the state, or ten times the duration of the last walk if that is longer.
const AGE_MAX: Duration = Duration::from_secs(1);

/// A question waits until this many pending bytes are read. If more are pending, only files that
/// contain the name are read.
const WAIT_BYTES_MAX: u64 = 1 << 20;

/// How often an answer is computed again because its files changed.
const CHANGES_MAX: usize = 4;

/// The symbols of one checkout.
#[derive(Debug)]
pub struct Index {
    shared: Arc<Shared>,
    behind: Option<JoinHandle<()>>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    root: PathBuf,
    pool: Arc<Pool>,
    state: RwLock<State>,
    /// Held during a walk through the folder.
    looking: Mutex<()>,
    /// Held while files are read.
    working: Mutex<()>,
    answers: Mutex<oracle::Answers>,
    stop: AtomicBool,
    threads_count: usize,
    bell: Mutex<()>,
    rung: Condvar,
}

/// The size of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub files_count: usize,
    pub symbols_count: usize,
    /// Files that have not been read yet.
    pub pending_count: usize,
    /// Memory of the index, without the overhead of the allocator.
    pub bytes: usize,
}

impl Index {
    /// Returns at once; the files are read in the background.
    pub fn open(root: &Path, pool: &Arc<Pool>) -> Self {
        let shared = Arc::new(Shared::new(root, pool));
        let working = shared.clone();
        let behind = std::thread::Builder::new().name("symbols".into());
        let behind = behind.spawn(move || working.work()).ok();
        if behind.is_none() {
            // Slower, but correct: without the thread, the first walk happens here.
            shared.look();
        }
        Self { shared, behind }
    }

    /// Answers from the current content of the files.
    pub fn query(&self, question: &Question<'_>) -> Answer {
        let _open = self.shared.pool.open_question();
        let just_looked = self.shared.walk_if_old();
        let answer = self.answer_of_now(question);
        if !answer.matches.is_empty() || just_looked {
            return answer;
        }
        self.shared.look();
        self.shared.catch_up_a_little();
        self.answer_of_now(question)
    }

    /// Answers from the index without checking the files for changes.
    pub fn lookup(&self, question: &Question<'_>) -> Answer {
        self.shared.answer(question)
    }

    /// One line for each symbol of a file, or `None` if the file does not exist.
    pub fn outline(&self, path: &str) -> Option<String> {
        let (path, pool) = (self.shared.relative(path)?, &self.shared.pool);
        let parse = |language, content: &[u8]| Parsed {
            language,
            packed: pool.get_or_parse(Key::of(language, content), || {
                pool.parser().parse(&Request::File { language, content })
            }),
        };
        oracle::outline_with(&self.shared.root, &path, parse).map(|it| it.text)
    }

    /// Walks the whole checkout and reads the files that changed.
    pub fn refresh(&self) {
        self.shared.look();
        self.shared.catch_up(Pace::Hurry);
    }

    /// Waits until all files that existed when the index was opened have been read.
    pub fn settle(&self) {
        self.shared.until(|| self.shared.read_lock().looked.is_some());
        self.shared.catch_up(Pace::Hurry);
    }

    /// Reads these files again.
    pub fn refresh_paths<'a>(&self, paths: impl IntoIterator<Item = &'a str>) {
        self.shared.refresh_paths(paths);
    }

    pub fn size(&self) -> Size {
        let state = self.shared.read_lock();
        let packed: usize = state.files().map(|it| it.packed.bytes().len() + it.path.len()).sum();
        let per_file = size_of::<File>() + 64;
        Size {
            files_count: state.files_count(),
            symbols_count: state.table().len(),
            pending_count: state.pending().len(),
            bytes: packed + state.table().bytes() + state.files_count() * per_file,
        }
    }

    fn answer_of_now(&self, question: &Question<'_>) -> Answer {
        self.shared.read_what_has(question);
        let mut answer = self.shared.answer(question);
        for _ in 0..CHANGES_MAX {
            let before = self.shared.read_lock().generation;
            self.shared.refresh_changed(&answer);
            if self.shared.read_lock().generation == before {
                break;
            }
            answer = self.shared.answer(question);
        }
        answer
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.wake();
        self.shared.pool.wake();
        if let Some(behind) = self.behind.take() {
            behind.join().ok();
        }
        self.shared.save();
    }
}

impl Shared {
    fn new(root: &Path, pool: &Arc<Pool>) -> Self {
        Self {
            root: root.to_owned(),
            pool: pool.clone(),
            state: RwLock::default(),
            looking: Mutex::default(),
            working: Mutex::default(),
            answers: Mutex::default(),
            stop: AtomicBool::new(false),
            threads_count: std::thread::available_parallelism().map_or(1, usize::from),
            bell: Mutex::default(),
            rung: Condvar::new(),
        }
    }

    fn read_lock(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn wake(&self) {
        let _bell = self.bell.lock().unwrap_or_else(PoisonError::into_inner);
        self.rung.notify_all();
    }

    /// Waits until a condition holds, checking it after every notification.
    fn until(&self, holds: impl Fn() -> bool) {
        let mut bell = self.bell.lock().unwrap_or_else(PoisonError::into_inner);
        while !holds() && !self.is_stopped() {
            bell = self.rung.wait(bell).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until there is something to read.
    fn rest(&self) {
        self.until(|| !self.read_lock().pending().is_empty());
    }

    fn let_questions_pass(&self) {
        self.pool.let_questions_pass(&self.stop);
    }

    /// Walks the folder if the state is too old. Returns whether it did.
    fn walk_if_old(&self) -> bool {
        self.until(|| self.read_lock().looked.is_some());
        let looked = self.read_lock().looked;
        let is_old = looked.is_none_or(|(at, took)| at.elapsed() > AGE_MAX.max(took * 10));
        if is_old {
            self.look();
        }
        self.catch_up_a_little();
        is_old
    }

    /// Reads the pending files if they are few.
    fn catch_up_a_little(&self) {
        let bytes = self.read_lock().pending_bytes();
        if bytes > 0 && bytes <= WAIT_BYTES_MAX {
            self.catch_up(Pace::Hurry);
        }
    }

    fn answer(&self, question: &Question<'_>) -> Answer {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.read_lock();
        if let Some(answer) = answers.get(question, state.generation) {
            return answer;
        }
        let answer = oracle::answer(&state, question, self.pool.parser());
        answers.put(question, state.generation, &answer);
        answer
    }

    /// Reads the files of an answer again if they have changed or may have changed.
    fn refresh_changed(&self, answer: &Answer) {
        let Some(root) = Root::open(&self.root) else { return self.look() };
        let mut paths: Vec<&str> = answer.matches.iter().map(|it| it.path.as_str()).collect();
        let state = self.read_lock();
        paths.retain(|path| {
            let now = root.stamp(path);
            state.file(path).is_some_and(|it| !it.settled || Some(it.stamp) != now)
        });
        drop(state);
        paths.dedup();
        if !paths.is_empty() {
            self.refresh_paths(paths);
        }
    }

    fn refresh_paths<'a>(&self, paths: impl IntoIterator<Item = &'a str>) {
        let Some(root) = Root::open(&self.root) else { return self.look() };
        let mut chunk = Vec::new();
        for path in paths.into_iter().filter_map(|it| self.relative(it)) {
            let found = Language::of(Path::new(&path)).and_then(|language| {
                let stamp = root.stamp(&path)?;
                Some(Found { path: path.as_str().into(), language, stamp })
            });
            self.write().touched(&path, found.clone());
            chunk.extend(found);
        }
        let _one = self.working.lock().unwrap_or_else(PoisonError::into_inner);
        self.read_files(chunk, Pace::Hurry);
    }

    /// Normalizes a path relative to the root. Returns `None` if it leads outside the root.
    fn relative(&self, path: &str) -> Option<String> {
        let path = Path::new(path);
        let path = if path.is_absolute() { path.strip_prefix(&self.root).ok()? } else { path };
        let parts: Vec<&str> =
            path.iter().filter_map(|it| it.to_str()).filter(|it| *it != ".").collect();
        let leads_out = parts.contains(&"..");
        (!parts.is_empty() && !leads_out).then(|| parts.join("/"))
    }
}
