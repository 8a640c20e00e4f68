//! Reads a spool back, also while it grows.

use super::wire::{MESSAGE_BYTES_MAX, Report};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    path::Path,
};

/// One thing that passed between us and an agent. `offset` is where its record begins in the
/// spool, `time_ms` is in milliseconds since the epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpoolRecord {
    /// A line from the agent.
    Output { offset: u64, time_ms: u64, line: String },
    /// A frame that was sent to the agent under this id.
    Input { offset: u64, time_ms: u64, id: u64, line: String },
    /// Output of the agent that is no line of text.
    Garbage { offset: u64, time_ms: u64, reason: String },
}

/// A spool that is read from its beginning, one record at a time.
#[derive(Debug)]
pub struct SpoolReader {
    file: BufReader<File>,
    /// Where the next record begins.
    offset: u64,
    record: Vec<u8>,
}

impl SpoolReader {
    pub fn open(spool: &Path) -> io::Result<Self> {
        Ok(Self { file: BufReader::new(File::open(spool)?), offset: 0, record: Vec::new() })
    }

    /// The next record, or nothing where there is none yet; a later call may find one.
    ///
    /// A record of a later version is passed over.
    pub fn read(&mut self) -> io::Result<Option<SpoolRecord>> {
        while self.read_line()? {
            if let Some(record) = parse(&self.record) {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Takes the next whole line; false where there is none yet.
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
            // Still being written, or taken back because the disk is full: to be read anew.
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
        // Said to a client, never written down.
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
    fn what_was_spooled_is_read_back_as_it_comes() {
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
    fn a_record_without_its_end_is_waited_for_and_may_be_taken_back() {
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
