//! One orchestrator per workspace: a lock that ends with its process.

use crate::OpenErrorKind;
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    process,
};

/// In the workspace's state folder.
const FILE_NAME: &str = "journal.lock";

/// The process that holds the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    pub pid: u32,
    /// The start time in clock ticks since boot: it distinguishes a later process with the same
    /// number.
    pub start: u64,
}

/// Returns the orchestrator that holds the journal of this folder now.
pub fn holder(dir: &Path) -> io::Result<Option<Holder>> {
    let mut file = match File::open(dir.join(FILE_NAME)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => Ok(recorded(&mut file).and_then(|it| it.1)),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Held while the value lives. The file stays: if it were removed, two processes could lock two
/// files of the same name.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    pub fn take(dir: &Path) -> Result<Self, OpenErrorKind> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(dir.join(FILE_NAME))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenErrorKind::Locked { pid: recorded(&mut file).map(|it| it.0) });
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        record(&mut file)?;
        Ok(Self { file })
    }
}

impl Drop for Lock {
    /// Closing is not enough: a process that is being started elsewhere in this program has a copy
    /// of the file until it runs its own code, and would keep the lock that long.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

fn record(file: &mut File) -> io::Result<()> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The program name is in parentheses and may contain anything. The start time is field 22.
    let fields = stat.rsplit_once(')').map(|it| it.1).unwrap_or_default();
    let start = fields.split_ascii_whitespace().nth(19).unwrap_or_default();
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{} {start}", process::id())
}

/// Returns the process id in the file, and the whole holder if it is complete.
fn recorded(file: &mut File) -> Option<(u32, Option<Holder>)> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    let mut words = text.split_ascii_whitespace();
    let pid = words.next()?.parse().ok()?;
    let start = words.next().and_then(|it| it.parse().ok());
    Some((pid, start.map(|start| Holder { pid, start })))
}
