//! The exit record: written once, atomically.

use pitcrew_model::{Exit, limits::OUTPUT_TAIL_BYTES};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::Path,
};

const NAME: &str = "exit.json";
/// The most bytes of a record: escaping a tail of control characters grows it sixfold.
const BYTES_MAX: u64 = OUTPUT_TAIL_BYTES as u64 * 6 + 1_024;

/// How an agent ended, and whether that was requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ExitRecord {
    #[serde(flatten)]
    pub(crate) exit: Exit,
    /// The agent was asked to end, or no client reconnected within the lease. Otherwise it ended by
    /// itself.
    #[serde(default)]
    pub(crate) ordered: bool,
}

pub(crate) fn remove(dir: &Path) -> io::Result<()> {
    match fs::remove_file(dir.join(NAME)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Makes the record visible to all readers. Until `sync`, a power failure may lose it, and then it
/// is unknown how the agent ended.
pub(super) fn write(dir: &Path, record: &ExitRecord) -> io::Result<()> {
    let temporary = dir.join("exit.json.new");
    let mut file = File::create(&temporary)?;
    file.write_all(&serde_json::to_vec(record).expect("an exit is plain data"))?;
    fs::rename(&temporary, dir.join(NAME))
}

/// Makes the record durable.
pub(super) fn sync(dir: &Path) -> io::Result<()> {
    File::open(dir.join(NAME))?.sync_all()?;
    File::open(dir)?.sync_all()
}

/// The exit record of an attempt's folder, if its shim has written one.
pub(crate) fn read(dir: &Path) -> Option<ExitRecord> {
    let mut bytes = Vec::new();
    File::open(dir.join(NAME)).ok()?.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}
