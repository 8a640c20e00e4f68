//! The last lines of the agent's standard error, from the shim's log.

use super::ShimHandle;
use rustix::fs::OFlags;
use std::{
    fs::OpenOptions,
    io::{Read, Seek, SeekFrom},
    os::unix::fs::OpenOptionsExt,
    time::SystemTime,
};

/// How much of the end of the log is read.
const TAIL_BYTES_MAX: u64 = 64 * 1_024;

/// A line of an agent's standard error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StderrLine {
    pub line: String,
    /// When the log was last written.
    pub at: SystemTime,
}

impl ShimHandle {
    /// Returns the last line with this mark that is not blank. Absent if there is no such line, or
    /// if the log cannot be read.
    pub fn last_stderr_line(&self, mark: &str) -> Option<StderrLine> {
        // Agents that are not confined could replace the file with a link or a pipe.
        let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).ok()?;
        let path = self.context.dir.join("stderr.log");
        let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
        let found = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let at = found.modified().ok()?;
        file.seek(SeekFrom::Start(found.len().saturating_sub(TAIL_BYTES_MAX))).ok()?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines().rev();
        let line = lines.find(|it| !it.trim().is_empty() && it.contains(mark))?.to_owned();
        Some(StderrLine { line, at })
    }
}
