//! A cache of symbols by file content, shared by all checkouts of a workspace.
//!
//! The file is a list of records, and new ones are appended. Everything in it can be computed
//! again, so a torn end is truncated and a file of another format is replaced.
//!
//! ```text
//! "pitcrew pool" version:u32  { length:u32 checksum:u64 key:16 packed } ...
//! ```

use crate::{
    Skipped,
    digest::{Key, checksum},
    pack::Packed,
    parser::{Parsed, Parser},
};
use bytes::Bytes;
use std::{
    collections::{HashMap, HashSet},
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// Incremented by each change of the extraction or the packed form.
pub const VERSION: u32 = 7;

const MAGIC: &[u8] = b"pitcrew pool";
const HEADER_BYTES: usize = MAGIC.len() + 4;
const RECORD_BYTES: usize = 4 + 8 + 16;

/// A larger file is rewritten if most of it is unused.
const WASTE_BYTES_MIN: usize = 64 << 20;

/// Contents and their symbols.
#[derive(Debug)]
pub struct Pool {
    folder: PathBuf,
    parser: Arc<dyn Parser>,
    loaded: OnceLock<()>,
    shelf: Mutex<Shelf>,
    parsed: Condvar,
    /// Held while an index parses many files in the background: one index at a time.
    turn: Mutex<()>,
    questions_count: Mutex<usize>,
    quiet: Condvar,
}

#[derive(Debug, Default)]
struct Shelf {
    known: HashMap<Key, Packed>,
    used: HashSet<Key>,
    under_way: HashSet<Key>,
    unsaved: Vec<Key>,
    parsed_count: usize,
    file: State,
}

/// The file as of the last read.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    bytes_count: u64,
    /// The length of the undamaged part, or `None` if there is no valid file.
    whole_count: Option<u64>,
}

impl Pool {
    /// Returns at once; the file is read on first use.
    pub fn open(folder: &Path, parser: Arc<dyn Parser>) -> Self {
        Self {
            folder: folder.to_owned(),
            parser,
            loaded: OnceLock::new(),
            shelf: Mutex::default(),
            parsed: Condvar::new(),
            turn: Mutex::default(),
            questions_count: Mutex::default(),
            quiet: Condvar::new(),
        }
    }

    /// The number of contents that had to be parsed since the pool was opened.
    pub fn parsed_count(&self) -> usize {
        self.shelf().parsed_count
    }

    pub(crate) fn parser(&self) -> &dyn Parser {
        &*self.parser
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn file(&self) -> PathBuf {
        self.folder.join("pool")
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.loaded.get_or_init(|| self.load());
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Background work pauses until the result is dropped.
    pub(crate) fn open_question(&self) -> OpenQuestion<'_> {
        *self.questions() += 1;
        OpenQuestion(self)
    }

    pub(crate) fn has_open_questions(&self) -> bool {
        *self.questions() > 0
    }

    pub(crate) fn let_questions_pass(&self, stop: &AtomicBool) {
        let mut questions_count = self.questions();
        while *questions_count > 0 && !stop.load(Ordering::Relaxed) {
            questions_count =
                self.quiet.wait(questions_count).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn wake(&self) {
        let _questions = self.questions();
        self.quiet.notify_all();
    }

    fn questions(&self) -> MutexGuard<'_, usize> {
        self.questions_count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cached results of these keys.
    pub(crate) fn get_all(&self, keys: impl Iterator<Item = Key>) -> Vec<Option<Packed>> {
        let mut shelf = self.shelf();
        keys.map(|key| {
            let packed = shelf.known.get(&key).cloned()?;
            shelf.used.insert(key);
            Some(packed)
        })
        .collect()
    }

    /// Parses a content that is not cached, once for all threads that request it.
    ///
    /// A skipped content is cached too, unless no parser could be started. If the parser was killed
    /// by something else, the result is cached as long as the pool is open.
    pub(crate) fn get_or_parse(&self, key: Key, parse: impl FnOnce() -> Parsed) -> Packed {
        let mut shelf = self.shelf();
        loop {
            if let Some(packed) = shelf.known.get(&key).cloned() {
                if packed.why_skipped().is_none_or(Skipped::is_lasting) {
                    shelf.used.insert(key);
                }
                return packed;
            }
            if shelf.under_way.insert(key) {
                break;
            }
            shelf = self.parsed.wait(shelf).unwrap_or_else(PoisonError::into_inner);
        }
        drop(shelf);
        let under_way = UnderWay { pool: self, key };
        let packed = parse().packed;
        let skipped = packed.why_skipped();
        let mut shelf = self.shelf();
        if skipped != Some(Skipped::NoParser) {
            shelf.known.insert(key, packed.clone());
            shelf.parsed_count += 1;
        }
        if skipped.is_none_or(Skipped::is_lasting) {
            shelf.used.insert(key);
            shelf.unsaved.push(key);
        }
        drop(shelf);
        drop(under_way);
        packed
    }

    fn load(&self) {
        let Ok(bytes) = fs::read(self.file()) else { return };
        let bytes_count = bytes.len() as u64;
        if bytes.get(..HEADER_BYTES) != Some(&header()[..]) {
            return;
        }
        let buffer = Bytes::from(bytes);
        let mut known = HashMap::new();
        let mut at = HEADER_BYTES;
        while let Some((key, packed, end)) = record(&buffer, at) {
            known.insert(key, packed);
            at = end;
        }
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.known = known;
        shelf.file = State { bytes_count, whole_count: Some(at as u64) };
    }

    /// Writes new results to the file. If that fails, they are computed again next time.
    pub(crate) fn save(&self) -> io::Result<()> {
        let mut shelf = self.shelf();
        let unsaved = std::mem::take(&mut shelf.unsaved);
        let wasted = is_wasted(&shelf);
        if unsaved.is_empty() && !wasted {
            return Ok(());
        }
        fs::create_dir_all(&self.folder)?;
        let before = shelf.file;
        let mut keys: Vec<Key> = unsaved;
        let anew = wasted || before.whole_count.is_none();
        if anew {
            keys = shelf.used.iter().copied().collect();
            keys.sort_unstable();
        }
        let records: Vec<(Key, Packed)> =
            keys.iter().filter_map(|it| Some((*it, shelf.known.get(it)?.clone()))).collect();
        drop(shelf);
        let end = if anew { self.rewrite(&records) } else { self.append(&records, before) }?;
        self.shelf().file = State { bytes_count: end, whole_count: Some(end) };
        Ok(())
    }

    /// Returns the new length of the file.
    fn append(&self, records: &[(Key, Packed)], before: State) -> io::Result<u64> {
        let mut file = OpenOptions::new().append(true).open(self.file())?;
        file.lock()?;
        let torn = before.whole_count.filter(|it| *it < before.bytes_count);
        if let Some(whole_count) = torn
            && file.metadata()?.len() == before.bytes_count
        {
            file.set_len(whole_count)?;
        }
        write_records(&mut file, records)?;
        Ok(file.metadata()?.len())
    }

    fn rewrite(&self, records: &[(Key, Packed)]) -> io::Result<u64> {
        let temporary = self.folder.join(format!("pool.{}", std::process::id()));
        let written = File::create(&temporary).and_then(|mut file| {
            file.write_all(&header())?;
            write_records(&mut file, records)?;
            fs::rename(&temporary, self.file())?;
            Ok(file.metadata()?.len())
        });
        if written.is_err() {
            fs::remove_file(&temporary).ok();
        }
        written
    }
}

/// A question that has not been answered yet.
pub(crate) struct OpenQuestion<'a>(&'a Pool);

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        *self.0.questions() -= 1;
        self.0.wake();
    }
}

/// Wakes the threads that wait for the same content, even after a panic.
struct UnderWay<'a> {
    pool: &'a Pool,
    key: Key,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.pool.shelf().under_way.remove(&self.key);
        self.pool.parsed.notify_all();
    }
}

fn is_wasted(shelf: &Shelf) -> bool {
    if shelf.used.len() * 3 > shelf.known.len() {
        return false;
    }
    shelf.known.values().map(|it| it.bytes().len()).sum::<usize>() > WASTE_BYTES_MIN
}

fn header() -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..MAGIC.len()].copy_from_slice(MAGIC);
    header[MAGIC.len()..].copy_from_slice(&VERSION.to_le_bytes());
    header
}

/// The record at a position, and the position after it.
fn record(buffer: &Bytes, at: usize) -> Option<(Key, Packed, usize)> {
    let head = buffer.get(at..at + RECORD_BYTES)?;
    let length = u32::from_le_bytes(head[..4].try_into().ok()?) as usize;
    let sum = u64::from_le_bytes(head[4..12].try_into().ok()?);
    let end = (at + RECORD_BYTES).checked_add(length)?;
    let checked = buffer.get(at + 12..end)?;
    if checksum(checked) != sum {
        return None;
    }
    let key = Key(head[12..].try_into().ok()?);
    Some((key, Packed::new(buffer.slice(at + RECORD_BYTES..end)), end))
}

fn write_records(file: &mut File, records: &[(Key, Packed)]) -> io::Result<()> {
    let mut bytes = Vec::new();
    for (key, packed) in records {
        let start = bytes.len();
        let length = u32::try_from(packed.bytes().len()).expect("a file is limited");
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(&key.0);
        bytes.extend_from_slice(packed.bytes());
        let sum = checksum(&bytes[start + 12..]).to_le_bytes();
        bytes[start + 4..start + 12].copy_from_slice(&sum);
        if bytes.len() > 1 << 20 {
            file.write_all(&bytes)?;
            bytes.clear();
        }
    }
    file.write_all(&bytes)
}
