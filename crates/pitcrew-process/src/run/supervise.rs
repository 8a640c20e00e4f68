//! Feeds and drains a started program until it ends or has to be ended.

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

/// How long the end of the output of a killed tree is waited for.
const END_MS_MAX: u64 = 2_000;

#[derive(PartialEq, Eq)]
enum End {
    ByItself,
    TimedOut,
    Cancelled,
    /// It wrote more than is kept.
    Overflowed,
    /// It was too many, in these words.
    Crowd(String),
}

/// Whatever breaks here, also the observer, the program is dropped and thereby ended.
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
    let crowd = process_counter.map(|it| (it, program.pid().as_raw_pid()));
    let end = flow.until_end(&exit, cancel, deadline, crowd)?;
    match &end {
        End::ByItself => program.end_rest(),
        End::TimedOut | End::Cancelled | End::Overflowed => program.end(),
        End::Crowd(words) => {
            if process_counter.is_some_and(|it| it.is_boxed) {
                program.kill();
            }
            program.end();
            flow.note(words);
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

/// The bytes that go in and come out.
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
        mut crowd: Option<(ProcessCounter, i32)>,
    ) -> io::Result<End> {
        let bell = cancel.bell()?;
        loop {
            let own = [(exit.as_fd(), PollFlags::IN), (bell.as_fd(), PollFlags::IN)];
            let look = crowd.map(|it| it.0.next());
            let ready = self.step(&own, [deadline, look].into_iter().flatten().min())?;
            if cancel.is_cancelled() {
                return Ok(End::Cancelled);
            }
            if ready[0] {
                return Ok(End::ByItself);
            }
            if deadline.is_some_and(|it| Instant::now() >= it) {
                return Ok(End::TimedOut);
            }
            if self.overflow == Overflow::Kill && self.is_truncated() {
                return Ok(End::Overflowed);
            }
            if let Some(words) = crowd.as_mut().and_then(|(count, root)| count.exceeded(*root)) {
                return Ok(End::Crowd(words));
            }
        }
    }

    fn is_truncated(&self) -> bool {
        self.stdout.1.is_truncated() || self.stderr.1.is_truncated()
    }

    /// Says something of ours where the program complains.
    fn note(&mut self, words: &str) {
        let line = format!("\npitcrew: {words}\n");
        let (pipe, tail) = &mut self.stderr;
        let tail = if pipe.is_some() { tail } else { &mut self.stdout.1 };
        tail.push(line.as_bytes());
        (self.observe)(line.as_bytes());
    }

    /// Takes what is still in the pipes of a tree that has ended. Somebody outside may hold an
    /// end of them for ever, so this is not waited for without limit.
    fn drain(&mut self) -> io::Result<()> {
        self.stdin = None;
        let until = Instant::now() + Duration::from_millis(END_MS_MAX);
        while (self.stdout.0.is_some() || self.stderr.0.is_some()) && Instant::now() < until {
            self.step(&[], Some(until))?;
        }
        Ok(())
    }

    /// Waits until something can be moved, moves it, and tells which of `others` are ready.
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
        take(&mut self.stdout, self.observe);
        take(&mut self.stderr, self.observe);
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
                // A program need not read what it is given.
                Step::Closed => true,
            };
        if is_done {
            self.stdin = None;
        }
    }
}

/// Takes one bufferful, so that no stream can keep the others waiting.
fn take((pipe, tail): &mut (Option<PipeReader>, Tail), observe: &mut dyn FnMut(&[u8])) {
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
