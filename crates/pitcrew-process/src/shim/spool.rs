//! Both directions of an agent's protocol, unchanged, in one append-only file.

use super::{
    lines::Line,
    wire::{Report, encode},
};
use std::{
    borrow::Cow,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
};

/// A buffer that a long record has grown beyond this is freed.
const IDLE_BYTES_MAX: usize = 1024 * 1024;

pub(super) struct Spool {
    file: File,
    length: u64,
    record: Vec<u8>,
}

impl Spool {
    /// Starts the spool of a new agent. The spool of an earlier agent in the same folder is kept
    /// beside it.
    pub(super) fn create(dir: &Path) -> io::Result<Self> {
        let path = super::spool_path(dir);
        if fs::metadata(&path).is_ok_and(|it| it.len() > 0) {
            let mut names = (1..).map(|number| dir.join(format!("spool-{number}.ndjson")));
            let free = names.find(|it| !it.exists()).expect("numbers do not run out");
            fs::rename(&path, free)?;
        }
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).mode(0o600).open(&path)?;
        Ok(Self { file, length: 0, record: Vec::new() })
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Records output of the agent.
    pub(super) fn output(&mut self, line: Line<'_>) -> io::Result<()> {
        let (offset, time) = (self.length, now_ms());
        self.append(&match line {
            Line::Text(line) => Report::Out { offset, time, line: Cow::Borrowed(line) },
            Line::Garbage { reason } => Report::Garbage { offset, time, reason },
        })
    }

    /// Records a frame for the agent.
    pub(super) fn input(&mut self, id: u64, line: &str) -> io::Result<()> {
        let (offset, time) = (self.length, now_ms());
        self.append(&Report::In { offset, time, id, line: Cow::Borrowed(line) })
    }

    pub(super) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn append(&mut self, record: &Report<'_>) -> io::Result<()> {
        self.record.clear();
        encode(record, &mut self.record);
        if let Err(error) = self.file.write_all(&self.record) {
            // Part of the record may have been written. It must never be read as a complete record.
            self.file.set_len(self.length).ok();
            return Err(error);
        }
        self.length += self.record.len() as u64;
        self.record.clear();
        self.record.shrink_to(IDLE_BYTES_MAX);
        Ok(())
    }
}

fn now_ms() -> u64 {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
