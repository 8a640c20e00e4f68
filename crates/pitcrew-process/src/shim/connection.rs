//! One connection to the shim's socket: a client, or a caller with a single request.

use super::{
    lines::{Line, Lines},
    spool::Spool,
    wire::{MESSAGE_BYTES_MAX, Order, Report, encode},
};
use crate::{poll, poll::Step};
use std::{
    io::{self, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
};

pub(super) struct Connection {
    stream: UnixStream,
    lines: Lines,
    /// Data that the other side has not read yet: the end of a message, or part of the spool.
    pending: Vec<u8>,
    pending_from: usize,
    /// The client's offset in the spool. Nothing is sent before the client is attached.
    cursor: Option<u64>,
    last_report: Option<Vec<u8>>,
}

impl Connection {
    pub(super) fn new(stream: UnixStream) -> io::Result<Self> {
        poll::never_block(&stream)?;
        Ok(Self {
            stream,
            lines: Lines::new(MESSAGE_BYTES_MAX),
            pending: Vec::new(),
            pending_from: 0,
            cursor: None,
            last_report: None,
        })
    }

    pub(super) fn cursor(&self) -> Option<u64> {
        self.cursor
    }

    pub(super) fn attach(&mut self, hello: &Report<'_>, from: u64) {
        encode(hello, &mut self.pending);
        self.cursor = Some(from);
    }

    /// Queues the last report. It is sent after the whole spool.
    pub(super) fn send_last(&mut self, report: &Report<'_>) {
        let mut line = Vec::new();
        encode(report, &mut line);
        self.last_report = Some(line);
    }

    /// Reads the available data and passes each order to `each`. Returns `Closed` if the other side
    /// is gone or sent an invalid order.
    pub(super) fn take(
        &mut self,
        each: &mut impl FnMut(Order<'_>) -> io::Result<()>,
    ) -> io::Result<Step> {
        let mut buffer = [0; poll::BUFFER_BYTES];
        let step = Step::of(self.stream.read(&mut buffer));
        let Step::Moved(count) = step else { return Ok(step) };
        let mut understood = true;
        self.lines.push(&buffer[..count], &mut |line| match parse(&line) {
            Some(order) if understood => each(order),
            Some(_) | None => {
                understood = false;
                Ok(())
            }
        })?;
        Ok(if understood { step } else { Step::Closed })
    }

    /// Sends as much as the other side accepts now.
    pub(super) fn deliver(&mut self, spool: &Spool) -> io::Result<Step> {
        loop {
            if self.pending_from == self.pending.len() && !self.refill(spool)? {
                return Ok(Step::NotNow);
            }
            match Step::of(self.stream.write(&self.pending[self.pending_from..])) {
                Step::Moved(count) => self.pending_from += count,
                step @ (Step::NotNow | Step::Closed) => return Ok(step),
            }
        }
    }

    /// Prepares the next data to send. Returns false if there is none.
    fn refill(&mut self, spool: &Spool) -> io::Result<bool> {
        self.pending.clear();
        self.pending_from = 0;
        let Some(cursor) = &mut self.cursor else { return Ok(false) };
        if *cursor < spool.length() {
            self.pending = vec![0; 64 * 1_024];
            let count = spool.read_at(*cursor, &mut self.pending)?;
            self.pending.truncate(count);
            *cursor += count as u64;
        } else if let Some(last_report) = self.last_report.take() {
            self.pending = last_report;
        }
        Ok(!self.pending.is_empty())
    }

    /// Whether there is data that the other side has not read yet.
    pub(super) fn has_unsent(&self, spool: &Spool) -> bool {
        self.pending_from < self.pending.len()
            || self.last_report.is_some()
            || self.cursor.is_some_and(|it| it < spool.length())
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn parse<'a>(line: &Line<'a>) -> Option<Order<'a>> {
    match line {
        Line::Text(text) => serde_json::from_str(text).ok(),
        Line::Garbage { .. } => None,
    }
}
