//! The last lines of the agent's error output, as the shim keeps them.

use super::ShimHandle;
use rustix::fs::OFlags;
use std::{
    fs::OpenOptions,
    io::{Read, Seek, SeekFrom},
    os::unix::fs::OpenOptionsExt,
    time::SystemTime,
};

/// The end of the output that is looked at.
const TAIL_BYTES_MAX: u64 = 64 * 1_024;

/// A line of an agent's error output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    pub line: String,
    /// When the output last grew.
    pub at: SystemTime,
}

impl ShimHandle {
    /// The last line with this mark that is not blank. Absent where there is none, or where it cannot
    /// be read.
    pub fn last_complaint(&self, mark: &str) -> Option<Complaint> {
        // Where agents are not confined they could put anything in its place.
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
        Some(Complaint { line, at })
    }
}
