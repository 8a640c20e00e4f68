//! The agent's standard error: a file of bounded size, and its tail in memory.

use crate::tail::Tail;
use pitcrew_model::limits::OUTPUT_TAIL_BYTES;
use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
};

/// A full file becomes `stderr.old.log` and a new one is started, so the newest part is never lost.
const FILE_BYTES_MAX: usize = 4 * 1_024 * 1_024;

pub(super) struct Stderr {
    dir: PathBuf,
    file: File,
    length: usize,
    tail: Tail,
}

impl Stderr {
    pub(super) fn create(dir: PathBuf) -> io::Result<Self> {
        let file = open(&dir)?;
        Ok(Self { dir, file, length: 0, tail: Tail::new(OUTPUT_TAIL_BYTES) })
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.tail.push(bytes);
        // A full disk must not end an agent that can still send frames.
        self.write(bytes).ok();
    }

    /// Adds a message of the shim for readers of the exit record.
    pub(super) fn note(&mut self, text: &str) {
        self.push(format!("\npitcrew shim: {text}\n").as_bytes());
    }

    pub(super) fn tail(&mut self) -> String {
        self.tail.text()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.length + bytes.len() > FILE_BYTES_MAX {
            std::fs::rename(self.dir.join("stderr.log"), self.dir.join("stderr.old.log"))?;
            self.file = open(&self.dir)?;
            self.length = 0;
        }
        self.length += bytes.len();
        self.file.write_all(bytes)
    }
}

fn open(dir: &std::path::Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).open(dir.join("stderr.log"))
}
