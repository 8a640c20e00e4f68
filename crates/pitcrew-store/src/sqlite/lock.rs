//! One orchestrator per workspace: a lock that dies with its process.

use crate::OpenErrorKind;
use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    process,
};

/// Held for as long as it lives. The file stays: removing it would let two processes lock two files of one name.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    pub fn take(path: &Path) -> Result<Self, OpenErrorKind> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenErrorKind::Locked { pid: holder(&mut file) });
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        write_pid(&mut file)?;
        Ok(Self { file })
    }
}

impl Drop for Lock {
    /// Closing would not do: a process that is just being started elsewhere in this program has a
    /// copy of the file until it runs its own code, and would hold the lock that long.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", process::id())
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
