//! The record of what could be reached: a line whenever the answer to "is the network there?" may
//! have changed.

use pitcrew_model::Place;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Destinations that are recorded; more of them are no provider's.
const PLACES_MAX: usize = 64;
/// The minimum time between two lines about the same destination.
const APART: Duration = Duration::from_secs(1);
const REASON_BYTES_MAX: usize = 200;
/// The end of the record that is read.
const READ_BYTES_MAX: u64 = 64 * 1_024;

/// One line of `reached.ndjson`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReachedLine {
    /// Milliseconds since the epoch.
    pub at: u64,
    pub host: String,
    pub port: u16,
    /// Why it cannot be reached; absent if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreachable: Option<String>,
}

fn reached_path(dir: &Path) -> PathBuf {
    dir.join("reached.ndjson")
}

/// Returns the recorded lines of an attempt's folder, oldest first.
pub fn reached_lines(dir: &Path) -> io::Result<Vec<ReachedLine>> {
    let mut file = File::open(reached_path(dir))?;
    let skipped = file.metadata()?.len().saturating_sub(READ_BYTES_MAX);
    file.seek(SeekFrom::Start(skipped))?;
    let lines = BufReader::new(file.take(READ_BYTES_MAX)).split(b'\n');
    // The first line may be cut.
    Ok(lines.map_while(Result::ok).filter_map(|it| serde_json::from_slice(&it).ok()).collect())
}

pub(super) struct Reached(Mutex<Book>);

struct Book {
    file: File,
    places: BTreeMap<(String, u16), Last>,
    /// The number of the last line of either kind.
    last_reached: u64,
    last_unreachable: u64,
    lines_count: u64,
}

/// The last line about a destination.
struct Last {
    is_reached: bool,
    number: u64,
    written: Instant,
}

impl Reached {
    pub(super) fn open(dir: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).mode(0o600).open(reached_path(dir))?;
        let places = BTreeMap::new();
        Ok(Self(Mutex::new(Book {
            file,
            places,
            last_reached: 0,
            last_unreachable: 0,
            lines_count: 0,
        })))
    }

    /// Notes the result of dialling. The record only explains failures, so its own errors are
    /// ignored.
    pub(super) fn dialled(&self, place: &Place, error: Option<&io::Error>) {
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if book.is_news(place, error.is_none()) {
            let line = ReachedLine {
                at: u64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis())
                    .unwrap_or(u64::MAX),
                host: place.host.to_string(),
                port: place.port,
                unreachable: error
                    .map(|it| pitcrew_model::text::cut(&it.to_string(), REASON_BYTES_MAX).into()),
            };
            let mut bytes = serde_json::to_vec(&line).expect("a line is plain data");
            bytes.push(b'\n');
            book.file.write_all(&bytes).ok();
        }
    }
}

impl Book {
    /// Whether the newest line about this destination no longer says enough. If so, it counts as
    /// written.
    fn is_news(&mut self, place: &Place, is_reached: bool) -> bool {
        let key = (place.host.to_string(), place.port);
        let other = if is_reached { self.last_unreachable } else { self.last_reached };
        match self.places.get(&key) {
            Some(last) if last.is_reached == is_reached && last.number > other => return false,
            Some(last) if last.is_reached == is_reached && last.written.elapsed() < APART => {
                return false;
            }
            None if self.places.len() >= PLACES_MAX => return false,
            Some(_) | None => {}
        }
        self.lines_count += 1;
        let number = self.lines_count;
        *(if is_reached { &mut self.last_reached } else { &mut self.last_unreachable }) = number;
        self.places.insert(key, Last { is_reached, number, written: Instant::now() });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_written_when_the_network_comes_or_goes() {
        let dir = tempfile::tempdir().expect("a folder");
        let reached = Reached::open(dir.path()).expect("a record");
        let api: Place = "api.example:443".parse().expect("a place");
        let other: Place = "other.example:443".parse().expect("a place");
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        for _ in 0..3 {
            reached.dialled(&api, None);
        }
        for _ in 0..3 {
            reached.dialled(&api, Some(&refused));
        }
        reached.dialled(&other, Some(&refused));
        reached.dialled(&api, None);
        let lines = reached_lines(dir.path()).expect("lines");
        let seen: Vec<_> = lines.iter().map(|it| (&*it.host, it.unreachable.is_some())).collect();
        let expected = [
            ("api.example", false),
            ("api.example", true),
            ("other.example", true),
            ("api.example", false),
        ];
        assert_eq!(seen, expected);
    }
}
