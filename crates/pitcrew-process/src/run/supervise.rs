//! Writes a program's input and reads its output until it exits or is terminated.

use super::{Finished, Overflow, Run, Stdin, start::Started};
use crate::{Cancel, poll, poll::Step, process_counter::ProcessCounter, tail::Tail};
use rustix::{
    event::PollFlags,
    process::{PidfdFlags, pidfd_open},
};
use std::{
    io::{self, PipeReader, PipeWriter, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::process::ExitStatusExt,
    },
    time::{Duration, Instant},
};

/// How long to wait for the remaining output after the process tree has ended.
const END_MS_MAX: u64 = 2_000;

#[derive(PartialEq, Eq)]
enum End {
    Exited,
    TimedOut,
    Cancelled,
    /// The program wrote more output than is kept.
    Overflowed,
    /// There were too many processes. Contains the message for the user.
    TooManyProcesses(String),
}

/// On any error or panic, including a panic of the observer, the program is dropped, which ends it.
pub(super) fn supervise(
    started: Started,
    run: Run,
    process_counter: Option<ProcessCounter>,
    cancel: &Cancel,
    observe: &mut dyn FnMut(&[u8]),
) -> io::Result<Finished> {
    let program = started.program;
    let bytes = match run.stdin {
        Stdin::Bytes(bytes) => bytes,
        Stdin::File(..) => Vec::new(),
    };
    let mut flow = Flow {
        stdin: started.stdin.map(|pipe| (pipe, bytes, 0)),
        stdout: (started.stdout, Tail::new(run.output_bytes_max)),
        stderr: (started.stderr, Tail::new(run.output_bytes_max)),
        overflow: run.overflow,
        observe,
    };
    let exit = pidfd_open(program.pid(), PidfdFlags::empty())?;
    let deadline = started.at.checked_add(run.timeout);
    let counted = process_counter.map(|it| (it, program.pid().as_raw_pid()));
    let end = flow.until_end(&exit, cancel, deadline, counted)?;
    match &end {
        End::Exited => program.end_rest(),
        End::TimedOut | End::Cancelled | End::Overflowed => program.end(),
        End::TooManyProcesses(message) => {
            if process_counter.is_some_and(|it| it.is_boxed) {
                program.kill();
            }
            program.end();
            flow.note(message);
        }
    }
    flow.drain()?;
    let status = program.wait()?;
    Ok(Finished {
        code: status.code(),
        signal: status.signal(),
        timed_out: end == End::TimedOut,
        cancelled: end == End::Cancelled,
        truncated: flow.is_truncated(),
        stdout: flow.stdout.1.into_bytes(),
        stderr: flow.stderr.1.into_bytes(),
        took: started.at.elapsed(),
    })
}

/// The program's input and output.
struct Flow<'a> {
    stdin: Option<(PipeWriter, Vec<u8>, usize)>,
    stdout: (Option<PipeReader>, Tail),
    stderr: (Option<PipeReader>, Tail),
    overflow: Overflow,
    observe: &'a mut dyn FnMut(&[u8]),
}

impl Flow<'_> {
    fn until_end(
        &mut self,
        exit: &OwnedFd,
        cancel: &Cancel,
        deadline: Option<Instant>,
        mut counted: Option<(ProcessCounter, i32)>,
    ) -> io::Result<End> {
        let cancelled = cancel.readable_fd()?;
        loop {
            let own = [(exit.as_fd(), PollFlags::IN), (cancelled.as_fd(), PollFlags::IN)];
            let next_count = counted.map(|it| it.0.next());
            let ready = self.step(&own, [deadline, next_count].into_iter().flatten().min())?;
            if cancel.is_cancelled() {
                return Ok(End::Cancelled);
            }
            if ready[0] {
                return Ok(End::Exited);
            }
            if deadline.is_some_and(|it| Instant::now() >= it) {
                return Ok(End::TimedOut);
            }
            if self.overflow == Overflow::Kill && self.is_truncated() {
                return Ok(End::Overflowed);
            }
            let exceeded = counted.as_mut().and_then(|(counter, root)| counter.exceeded(*root));
            if let Some(message) = exceeded {
                return Ok(End::TooManyProcesses(message));
            }
        }
    }

    fn is_truncated(&self) -> bool {
        self.stdout.1.is_truncated() || self.stderr.1.is_truncated()
    }

    /// Appends a message from Pitcrew to stderr, or to stdout if stderr is not open.
    fn note(&mut self, message: &str) {
        let line = format!("\npitcrew: {message}\n");
        let (pipe, tail) = &mut self.stderr;
        let tail = if pipe.is_some() { tail } else { &mut self.stdout.1 };
        tail.push(line.as_bytes());
        (self.observe)(line.as_bytes());
    }

    /// Reads what is left in the pipes after the process tree has ended. A process outside the tree
    /// may keep a pipe open forever, so the time is limited.
    fn drain(&mut self) -> io::Result<()> {
        self.stdin = None;
        let until = Instant::now() + Duration::from_millis(END_MS_MAX);
        while (self.stdout.0.is_some() || self.stderr.0.is_some()) && Instant::now() < until {
            self.step(&[], Some(until))?;
        }
        Ok(())
    }

    /// Waits until data can be transferred, transfers it, and returns which of `others` are ready.
    fn step(
        &mut self,
        others: &[(BorrowedFd<'_>, PollFlags)],
        until: Option<Instant>,
    ) -> io::Result<Vec<bool>> {
        let mut interests = others.to_vec();
        interests.extend(self.stdin.as_ref().map(|it| (it.0.as_fd(), PollFlags::OUT)));
        for (pipe, _) in [&self.stdout, &self.stderr] {
            interests.extend(pipe.as_ref().map(|it| (it.as_fd(), PollFlags::IN)));
        }
        let ready = poll::wait(&interests, until)?;
        self.feed();
        read_some(&mut self.stdout, self.observe);
        read_some(&mut self.stderr, self.observe);
        Ok(ready)
    }

    fn feed(&mut self) {
        let Some((pipe, bytes, written)) = &mut self.stdin else { return };
        let is_done = *written == bytes.len()
            || match Step::of(pipe.write(&bytes[*written..])) {
                Step::Moved(count) => {
                    *written += count;
                    *written == bytes.len()
                }
                Step::NotNow => false,
                // A program need not read its input.
                Step::Closed => true,
            };
        if is_done {
            self.stdin = None;
        }
    }
}

/// Reads at most one buffer, so that no stream can block the others.
fn read_some((pipe, tail): &mut (Option<PipeReader>, Tail), observe: &mut dyn FnMut(&[u8])) {
    let mut buffer = [0; poll::BUFFER_BYTES];
    let Some(reader) = pipe else { return };
    match Step::of(reader.read(&mut buffer)) {
        Step::Moved(count) => {
            tail.push(&buffer[..count]);
            observe(&buffer[..count]);
        }
        Step::NotNow => {}
        Step::Closed => *pipe = None,
    }
}
