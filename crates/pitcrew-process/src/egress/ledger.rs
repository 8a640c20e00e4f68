//! The record of decisions: one line for each destination and verdict, then at most one line a
//! minute for repetitions. So a program in a loop cannot fill the disk.

use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// The minimum time between two lines about the same decision.
pub(super) const QUIET: Duration = Duration::from_mins(1);
/// Destinations with a separate line; all others share one line.
const PLACES_MAX: usize = 512;
/// The name of the shared line.
const MORE: &str = "(more)";

/// One line of `egress.ndjson`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EgressLine {
    /// Milliseconds since the epoch.
    pub at: u64,
    pub host: String,
    pub port: u16,
    pub allowed: bool,
    /// The rule that allowed the request, or the reason for the refusal.
    pub reason: String,
    /// Requests since the last line about this destination. Zero if the line reports only bytes.
    pub count: u32,
    /// Bytes sent from the box since the last line about this destination.
    pub bytes_up: u64,
    pub bytes_down: u64,
}

/// The path of the record of decisions in an attempt's folder.
pub fn ledger_path(dir: &Path) -> PathBuf {
    dir.join("egress.ndjson")
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) allowed: bool,
}

struct Account {
    written: Instant,
    reason: String,
    count: u32,
    bytes_up: u64,
    bytes_down: u64,
}

pub(super) struct Ledger(Mutex<Books>);

struct Books {
    file: File,
    accounts: BTreeMap<Key, Account>,
}

impl Ledger {
    pub(super) fn open(dir: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).mode(0o600).open(ledger_path(dir))?;
        Ok(Self(Mutex::new(Books { file, accounts: BTreeMap::new() })))
    }

    /// Records a decision, or only counts it if the same one was recorded recently. The caller must
    /// not act on a decision that cannot be recorded.
    pub(super) fn decided(&self, mut key: Key, reason: &str) -> io::Result<Key> {
        let mut books = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if books.accounts.len() >= PLACES_MAX && !books.accounts.contains_key(&key) {
            books.forget(now)?;
            if books.accounts.len() >= PLACES_MAX {
                key = Key { host: MORE.into(), port: 0, ..key };
            }
        }
        match books.accounts.get_mut(&key) {
            Some(account) => {
                account.count = account.count.saturating_add(1);
                account.reason = reason.into();
                if now.duration_since(account.written) >= QUIET {
                    books.flush(now)?;
                }
            }
            None => {
                let account = Account {
                    written: now,
                    reason: reason.into(),
                    count: 1,
                    bytes_up: 0,
                    bytes_down: 0,
                };
                let account = books.accounts.entry(key.clone()).or_insert(account);
                let line = account.line(&key, now);
                append(&mut books.file, &line)?;
            }
        }
        Ok(key)
    }

    /// Counts the bytes that were forwarded after a decision.
    pub(super) fn moved(&self, key: &Key, bytes_up: u64, bytes_down: u64) {
        let mut books = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(account) = books.accounts.get_mut(key) {
            account.bytes_up += bytes_up;
            account.bytes_down += bytes_down;
        }
    }

    /// Writes the counts that have not been written yet.
    pub(super) fn flush(&self) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).flush(Instant::now())
    }
}

impl Books {
    fn flush(&mut self, now: Instant) -> io::Result<()> {
        for (key, account) in &mut self.accounts {
            if account.count > 0 || account.bytes_up + account.bytes_down > 0 {
                let line = account.line(key, now);
                append(&mut self.file, &line)?;
            }
        }
        Ok(())
    }

    /// Closes the accounts of destinations without recent requests.
    fn forget(&mut self, now: Instant) -> io::Result<()> {
        let is_old = |it: &Account| now.duration_since(it.written) >= QUIET;
        if self.accounts.values().any(is_old) {
            self.flush(now)?;
        }
        self.accounts.retain(|_, it| !is_old(it));
        Ok(())
    }
}

impl Account {
    fn line(&mut self, key: &Key, now: Instant) -> EgressLine {
        self.written = now;
        let at = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
        EgressLine {
            at: u64::try_from(at).unwrap_or(u64::MAX),
            host: key.host.clone(),
            port: key.port,
            allowed: key.allowed,
            reason: self.reason.clone(),
            count: std::mem::take(&mut self.count),
            bytes_up: std::mem::take(&mut self.bytes_up),
            bytes_down: std::mem::take(&mut self.bytes_down),
        }
    }
}

/// Writes the line in one call, because other processes append to the same file.
fn append(file: &mut File, line: &EgressLine) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line).expect("a line is plain data");
    bytes.push(b'\n');
    file.write_all(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(dir: &Path) -> Vec<EgressLine> {
        let text = std::fs::read_to_string(ledger_path(dir)).unwrap();
        text.lines().map(|it| serde_json::from_str(it).unwrap()).collect()
    }

    fn key(host: &str) -> Key {
        Key { host: host.into(), port: 443, allowed: false }
    }

    #[test]
    fn repeated_decision_is_written_once_and_then_counted() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(dir.path()).unwrap();
        for _ in 0..3 {
            ledger.decided(key("a.example"), "it is not on the allow-list").unwrap();
        }
        let other = Key { allowed: true, ..key("a.example") };
        let key = ledger.decided(other, "rule a.example").unwrap();
        assert_eq!(lines(dir.path()).len(), 2);
        ledger.moved(&key, 5, 7);
        ledger.flush().unwrap();
        ledger.flush().unwrap();
        let reported: Vec<_> = lines(dir.path())
            .iter()
            .map(|it| (it.allowed, it.count, it.bytes_up, it.bytes_down))
            .collect();
        assert_eq!(
            reported,
            [(false, 1, 0, 0), (true, 1, 0, 0), (false, 2, 0, 0), (true, 0, 5, 7)]
        );
    }

    #[test]
    fn many_names_are_written_in_few_lines() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(dir.path()).unwrap();
        for number in 0..10 * PLACES_MAX {
            ledger.decided(key(&format!("a{number}.example")), "no").unwrap();
        }
        ledger.flush().unwrap();
        let lines = lines(dir.path());
        assert!(lines.len() <= PLACES_MAX + 2, "{}", lines.len());
        let count: u32 = lines.iter().map(|it| it.count).sum();
        assert_eq!(count as usize, 10 * PLACES_MAX);
        assert_eq!(lines.last().unwrap().host, MORE);
    }
}
