//! The possible contents of the disk after a power cut.

use super::trace::{Act, Place, Step};
use crate::random::Random;
use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
};

/// The unit that a disk writes atomically.
const SECTOR: usize = 512;

/// A recorded run.
pub struct Timeline {
    /// One past the last line.
    end: usize,
    files: Vec<File>,
    /// The changes of names, in order.
    names: Vec<Change<Naming>>,
    /// The lines on which an entry was acknowledged to the outside.
    acknowledged: Vec<(usize, u64)>,
}

/// The content of one file, under any name.
#[derive(Default)]
struct File {
    changes: Vec<Change<Content>>,
}

struct Change<T> {
    begin: usize,
    /// From this line on it survives a power cut; never if it was not synced.
    durable: Option<usize>,
    end: usize,
    what: T,
}

enum Content {
    Write { at: usize, bytes: Vec<u8> },
    Truncate { length: usize },
}

enum Naming {
    Create { path: PathBuf, file: usize },
    Rename { from: PathBuf, to: PathBuf },
    Remove(PathBuf),
}

/// A point in the run, and the fate of data that was not synced.
pub struct Cut {
    line: usize,
    fate: Fate,
}

#[derive(Clone, Copy, Debug)]
enum Fate {
    Dropped,
    Prefix,
    Shuffled,
    Torn,
}

/// The remains after the cut.
pub struct Left {
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    /// The highest entry that was acknowledged to the outside.
    pub acknowledged: u64,
}

impl Left {
    /// Writes the files to a folder for inspection.
    pub fn keep(&self) -> PathBuf {
        let folder = tempfile::tempdir().expect("a folder").keep();
        for (path, bytes) in &self.files {
            let below: Vec<String> =
                path.iter().rev().take(2).map(|it| it.to_string_lossy().into_owned()).collect();
            let name = format!("{}-{}", below[1], below[0]);
            fs::write(folder.join(name), bytes).expect("a file");
        }
        folder
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cut before line {}, unsynced data {:?}", self.line, self.fate)
    }
}

impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changes: usize = self.files.iter().map(|it| it.changes.len()).sum();
        let (files, acknowledged) = (self.files.len(), self.acknowledged.len());
        let bytes: usize = self.files.iter().map(File::bytes_written).sum();
        write!(
            f,
            "{changes} changes of {files} files ({} KiB), {acknowledged} messages to the outside",
            bytes / 1_024
        )
    }
}

impl Timeline {
    pub fn new(steps: Vec<Step>) -> Self {
        let mut building = Building::default();
        let end = steps.iter().map(|it| it.end + 1).max().unwrap_or(0);
        for step in steps {
            building.take(step);
        }
        let Building { files, names, acknowledged, .. } = building;
        Self { end, files, names, acknowledged }
    }

    pub fn cut(&self, random: &mut Random) -> Cut {
        let fate = [Fate::Dropped, Fate::Prefix, Fate::Shuffled, Fate::Torn][random.below(4)];
        // Right after an acknowledgement a loss is most likely.
        let line = if random.chance(50) && !self.acknowledged.is_empty() {
            self.acknowledged[random.below(self.acknowledged.len())].0 + 1
        } else {
            random.below(self.end + 1)
        };
        Cut { line, fate }
    }

    pub fn after(&self, cut: &Cut, random: &mut Random) -> Left {
        let mut names: BTreeMap<&Path, usize> = BTreeMap::new();
        // Names change in order, because of the file system's own journal.
        let open = self.names.iter().filter(|it| cut.is_open(it)).count();
        let mut kept_count = match cut.fate {
            Fate::Dropped => 0,
            Fate::Prefix | Fate::Shuffled | Fate::Torn => random.below(open + 1),
        };
        for change in self.names.iter().filter(|it| it.begin < cut.line) {
            if cut.is_open(change) {
                if kept_count == 0 {
                    continue;
                }
                kept_count -= 1;
            }
            match &change.what {
                Naming::Create { path, file } => {
                    names.insert(path, *file);
                }
                Naming::Rename { from, to } => {
                    if let Some(file) = names.remove(from.as_path()) {
                        names.insert(to, file);
                    }
                }
                Naming::Remove(path) => {
                    names.remove(path.as_path());
                }
            }
        }
        let files = names
            .into_iter()
            .map(|(path, file)| (path.to_owned(), self.files[file].after(cut, random)));
        let acknowledged =
            self.acknowledged.iter().filter(|it| it.0 < cut.line).map(|it| it.1).max();
        Left { files: files.collect(), acknowledged: acknowledged.unwrap_or(0) }
    }
}

impl Cut {
    /// Started, and not yet durable.
    fn is_open<T>(&self, change: &Change<T>) -> bool {
        change.begin < self.line && change.durable.is_none_or(|it| it >= self.line)
    }
}

impl File {
    fn bytes_written(&self) -> usize {
        let bytes = |it: &Change<Content>| match &it.what {
            Content::Write { bytes, .. } => bytes.len(),
            Content::Truncate { .. } => 0,
        };
        self.changes.iter().map(bytes).sum()
    }

    fn after(&self, cut: &Cut, random: &mut Random) -> Vec<u8> {
        let open = self.changes.iter().filter(|it| cut.is_open(it)).count();
        let mut prefix = random.below(open + 1);
        let mut bytes = Vec::new();
        for change in self.changes.iter().filter(|it| it.begin < cut.line) {
            let is_open = cut.is_open(change);
            let is_kept = !is_open
                || match cut.fate {
                    Fate::Dropped => false,
                    Fate::Prefix => {
                        let is_before = prefix > 0;
                        prefix = prefix.saturating_sub(1);
                        is_before
                    }
                    Fate::Shuffled => random.chance(50),
                    Fate::Torn => random.chance(70),
                };
            if !is_kept {
                continue;
            }
            match &change.what {
                Content::Truncate { length } => bytes.resize(*length, 0),
                Content::Write { at, bytes: written } => match cut.fate {
                    Fate::Torn if is_open => tear(&mut bytes, *at, written, random),
                    Fate::Dropped | Fate::Prefix | Fate::Shuffled | Fate::Torn => {
                        put(&mut bytes, *at, written);
                    }
                },
            }
        }
        bytes
    }
}

fn put(bytes: &mut Vec<u8>, at: usize, written: &[u8]) {
    let end = at + written.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[at..end].copy_from_slice(written);
}

/// Writes only some of the sectors.
fn tear(bytes: &mut Vec<u8>, at: usize, written: &[u8], random: &mut Random) {
    let mut begin = 0;
    while begin < written.len() {
        let end = (begin + SECTOR - (at + begin) % SECTOR).min(written.len());
        if random.chance(50) {
            put(bytes, at + begin, &written[begin..end]);
        }
        begin = end;
    }
}

/// The run as far as it was parsed.
#[derive(Default)]
struct Building {
    files: Vec<File>,
    /// The current file of each name, and its length.
    now: BTreeMap<PathBuf, (usize, usize)>,
    names: Vec<Change<Naming>>,
    acknowledged: Vec<(usize, u64)>,
}

impl Building {
    fn take(&mut self, step: Step) {
        let (begin, end) = (step.begin, step.end);
        match step.act {
            Act::Acknowledged { seq } => self.acknowledged.push((begin, seq)),
            Act::Create(path) => {
                if !self.now.contains_key(&path) {
                    let file = self.files.len();
                    self.files.push(File::default());
                    self.now.insert(path.clone(), (file, 0));
                    let what = Naming::Create { path, file };
                    self.names.push(Change { begin, end, durable: None, what });
                }
            }
            Act::Rename { from, to } => {
                if let Some(file) = self.now.remove(&from) {
                    self.now.insert(to.clone(), file);
                    let what = Naming::Rename { from, to };
                    self.names.push(Change { begin, end, durable: None, what });
                }
            }
            Act::Remove(path) => {
                if self.now.remove(&path).is_some() {
                    let what = Naming::Remove(path);
                    self.names.push(Change { begin, end, durable: None, what });
                }
            }
            Act::Truncate { path, length } => {
                let length = usize::try_from(length).expect("a file of a test is small");
                self.change(&path, begin, end, |_| (Content::Truncate { length }, length));
            }
            Act::Write { path, at, bytes } => self.change(&path, begin, end, |before| {
                let at = match at {
                    Place::End => before,
                    Place::Offset(at) => usize::try_from(at).expect("a file of a test is small"),
                };
                let length = before.max(at + bytes.len());
                (Content::Write { at, bytes }, length)
            }),
            Act::Sync(path) => self.sync(&path, begin, end),
        }
    }

    fn change(
        &mut self,
        path: &Path,
        begin: usize,
        end: usize,
        what: impl FnOnce(usize) -> (Content, usize),
    ) {
        let Some((file, length)) = self.now.get_mut(path) else { return };
        let (what, after) = what(*length);
        *length = after;
        self.files[*file].changes.push(Change { begin, end, durable: None, what });
    }

    /// Everything written before the sync started is durable when the sync has ended.
    fn sync(&mut self, path: &Path, begin: usize, end: usize) {
        if let Some((file, _)) = self.now.get(path) {
            settle(&mut self.files[*file].changes, begin, end, |_| true);
        }
        settle(&mut self.names, begin, end, |naming| match naming {
            Naming::Create { path: of, .. } | Naming::Remove(of) => of.parent() == Some(path),
            Naming::Rename { to, .. } => to.parent() == Some(path),
        });
    }
}

fn settle<T>(changes: &mut [Change<T>], begin: usize, end: usize, fits: impl Fn(&T) -> bool) {
    for change in changes.iter_mut().rev() {
        if change.durable.is_none() && change.end <= begin && fits(&change.what) {
            change.durable = Some(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(line: usize, act: Act) -> Step {
        Step { begin: line, end: line, act }
    }

    fn write(line: usize, text: &str) -> Step {
        let (path, bytes) = ("/s/a".into(), text.as_bytes().to_vec());
        step(line, Act::Write { path, at: Place::End, bytes })
    }

    fn timeline() -> Timeline {
        Timeline::new(vec![
            step(0, Act::Create("/s/a".into())),
            write(1, "safe "),
            step(2, Act::Sync("/s/a".into())),
            step(3, Act::Sync("/s".into())),
            step(4, Act::Acknowledged { seq: 3 }),
            write(5, "lost "),
            write(6, "last"),
        ])
    }

    fn content(timeline: &Timeline, line: usize, fate: Fate, seed: u64) -> Option<Vec<u8>> {
        let left = timeline.after(&Cut { line, fate }, &mut Random::new(seed));
        left.files.get(Path::new("/s/a")).cloned()
    }

    #[test]
    fn synced_data_is_there_and_the_rest_may_be() {
        let timeline = timeline();
        for seed in 0..50 {
            let text = |fate| {
                String::from_utf8(content(&timeline, 7, fate, seed).expect("it has a name"))
                    .expect("only text is torn here")
            };
            assert_eq!(text(Fate::Dropped), "safe ");
            assert!("safe lost last".starts_with(&text(Fate::Prefix)));
            for fate in [Fate::Shuffled, Fate::Torn] {
                assert!(text(fate).starts_with("safe "), "{fate:?}");
            }
        }
        assert_eq!(
            timeline.after(&Cut { line: 4, fate: Fate::Torn }, &mut Random::new(1)).acknowledged,
            0
        );
        assert_eq!(
            timeline.after(&Cut { line: 5, fate: Fate::Torn }, &mut Random::new(1)).acknowledged,
            3
        );
    }

    #[test]
    fn an_unsynced_name_may_be_missing() {
        assert_eq!(content(&timeline(), 3, Fate::Dropped, 1), None);
        assert!(content(&timeline(), 4, Fate::Dropped, 1).is_some());
    }
}
