//! Reads a spool, even while it grows.

use super::wire::{MESSAGE_BYTES_MAX, Report};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    path::Path,
};

/// One message between the orchestrator and an agent. `offset` is where its record begins in the
/// spool; `time_ms` is in milliseconds since the epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpoolRecord {
    /// A line from the agent.
    Output { offset: u64, time_ms: u64, line: String },
    /// A frame that was sent to the agent under this id.
    Input { offset: u64, time_ms: u64, id: u64, line: String },
    /// Output of the agent that is not a line of text.
    Garbage { offset: u64, time_ms: u64, reason: String },
}

/// Reads a spool from its beginning, one record at a time.
#[derive(Debug)]
pub struct SpoolReader {
    file: BufReader<File>,
    /// The offset of the next record.
    offset: u64,
    record: Vec<u8>,
}

impl SpoolReader {
    pub fn open(spool: &Path) -> io::Result<Self> {
        Ok(Self { file: BufReader::new(File::open(spool)?), offset: 0, record: Vec::new() })
    }

    /// Returns the next record, or nothing if there is none yet; a later call may return one.
    ///
    /// Skips unknown records of a later version.
    pub fn read(&mut self) -> io::Result<Option<SpoolRecord>> {
        while self.read_line()? {
            if let Some(record) = parse(&self.record) {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Reads the next complete line. Returns false if there is none yet.
    fn read_line(&mut self) -> io::Result<bool> {
        self.record.clear();
        let limit = MESSAGE_BYTES_MAX as u64;
        let length = (&mut self.file).take(limit).read_until(b'\n', &mut self.record)? as u64;
        if self.record.ends_with(b"\n") {
            self.offset += length;
            return Ok(true);
        }
        if length == limit {
            let message = format!("the record at {} has more than {limit} bytes", self.offset);
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        if length > 0 {
            // The record is still being written, or was truncated because the disk is full. Read it
            // again later.
            self.file.seek(SeekFrom::Start(self.offset))?;
        }
        Ok(false)
    }
}

fn parse(line: &[u8]) -> Option<SpoolRecord> {
    match serde_json::from_slice(line).ok()? {
        Report::Out { offset, time, line } => {
            Some(SpoolRecord::Output { offset, time_ms: time, line: line.into_owned() })
        }
        Report::In { offset, time, id, line } => {
            Some(SpoolRecord::Input { offset, time_ms: time, id, line: line.into_owned() })
        }
        Report::Garbage { offset, time, reason } => {
            Some(SpoolRecord::Garbage { offset, time_ms: time, reason })
        }
        // These are only sent to a client and never stored.
        Report::Hello(_) | Report::Halted(_) | Report::Exited(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shim::{lines::Line, spool::Spool};
    use std::{fs::OpenOptions, io::Write};
    use tempfile::TempDir;

    fn text(record: Option<SpoolRecord>) -> String {
        match record {
            Some(SpoolRecord::Output { offset, line, .. }) => format!("{offset} output {line}"),
            Some(SpoolRecord::Input { offset, id, line, .. }) => {
                format!("{offset} input {id} {line}")
            }
            Some(SpoolRecord::Garbage { offset, reason, .. }) => format!("{offset} {reason}"),
            None => "nothing".into(),
        }
    }

    #[test]
    fn stored_records_are_read_as_they_arrive() {
        let dir = TempDir::new().unwrap();
        let mut spool = Spool::create(dir.path()).unwrap();
        let mut reader = SpoolReader::open(&dir.path().join("spool.ndjson")).unwrap();
        assert_eq!(reader.read().unwrap(), None);
        spool.input(7, r#"{"a":"ü"}"#).unwrap();
        let second = spool.length();
        spool.output(Line::Text("said")).unwrap();
        assert_eq!(text(reader.read().unwrap()), r#"0 input 7 {"a":"ü"}"#);
        assert_eq!(text(reader.read().unwrap()), format!("{second} output said"));
        assert_eq!(reader.read().unwrap(), None);
        let third = spool.length();
        spool.output(Line::Garbage { reason: "not UTF-8".into() }).unwrap();
        assert_eq!(text(reader.read().unwrap()), format!("{third} not UTF-8"));
    }

    #[test]
    fn incomplete_record_is_not_read_and_may_be_truncated() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("spool.ndjson");
        let mut file = OpenOptions::new().append(true).create(true).open(&path).unwrap();
        let mut reader = SpoolReader::open(&path).unwrap();
        let (begun, rest) = (r#"{"out":{"offset":0,"#, r#""time":1,"line":"x"}}"#);
        write!(file, "{begun}").unwrap();
        assert_eq!(reader.read().unwrap(), None);
        writeln!(file, "{rest}").unwrap();
        assert_eq!(text(reader.read().unwrap()), "0 output x");

        let length = file.metadata().unwrap().len();
        write!(file, "{begun}").unwrap();
        assert_eq!(reader.read().unwrap(), None);
        file.set_len(length).unwrap();
        writeln!(file, r#"{{"levitated":{{"height":3}}}}"#).unwrap();
        writeln!(file, "{begun}{rest}").unwrap();
        assert_eq!(text(reader.read().unwrap()), "0 output x", "the unknown one is passed over");
    }
}
