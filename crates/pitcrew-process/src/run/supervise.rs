//! Feeds and drains a started program until it ends or has to be ended.

use super::{Finished, Run, start::Started};
use crate::{
    Cancel, poll,
    poll::Step,
    tail::Tail,
    tree::{self, ProcessId},
};
use rustix::{
    event::PollFlags,
    process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open},
};
use std::{
    collections::BTreeSet,
    io::{self, PipeReader, PipeWriter, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::process::ExitStatusExt,
    },
    time::{Duration, Instant},
};

/// How long the end of a killed tree, and then of its output, is waited for.
const END_MS_MAX: u64 = 2_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    ByItself,
    TimedOut,
    Cancelled,
}

pub(super) fn supervise(mut started: Started, run: Run, cancel: &Cancel) -> io::Result<Finished> {
    let mut flow = Flow {
        stdin: started.stdin.take().map(|pipe| (pipe, run.stdin, 0)),
        stdout: (started.stdout.take(), Tail::new(run.output_bytes_max)),
        stderr: (started.stderr.take(), Tail::new(run.output_bytes_max)),
    };
    let group = Pid::from_child(&started.child);
    let exit = pidfd_open(group, PidfdFlags::empty())?;
    let deadline = started.at.checked_add(run.timeout);
    let end = flow.until_end(&exit, cancel, deadline)?;
    end_tree(group, end, started.marker.as_deref());
    flow.drain()?;
    let status = started.child.wait()?;
    Ok(Finished {
        code: status.code(),
        signal: status.signal(),
        timed_out: end == End::TimedOut,
        cancelled: end == End::Cancelled,
        truncated: flow.stdout.1.is_truncated() || flow.stderr.1.is_truncated(),
        stdout: flow.stdout.1.into_bytes(),
        stderr: flow.stderr.1.into_bytes(),
        took: started.at.elapsed(),
    })
}

/// Ends what is left. The program itself has not been waited for yet, so its number, which is
/// also the number of its group, cannot belong to anybody else.
fn end_tree(group: Pid, end: End, marker: Option<&str>) {
    let until = Instant::now() + Duration::from_millis(END_MS_MAX);
    if end != End::ByItself {
        kill_process_group(group, Signal::STOP).ok();
        let root = ProcessId::of(group.as_raw_pid());
        let family = || -> BTreeSet<ProcessId> {
            let mut family = tree::descendants(group.as_raw_pid());
            family.extend(root.filter(|it| it.is_alive()));
            family
        };
        tree::end(family, Some(until));
    }
    kill_process_group(group, Signal::KILL).ok();
    if let Some(marker) = marker {
        tree::end(|| tree::marked(marker), Some(until));
    }
}

/// The bytes that go in and come out.
struct Flow {
    stdin: Option<(PipeWriter, Vec<u8>, usize)>,
    stdout: (Option<PipeReader>, Tail),
    stderr: (Option<PipeReader>, Tail),
}

impl Flow {
    fn until_end(
        &mut self,
        exit: &OwnedFd,
        cancel: &Cancel,
        deadline: Option<Instant>,
    ) -> io::Result<End> {
        let bell = cancel.bell()?;
        loop {
            let own = [(exit.as_fd(), PollFlags::IN), (bell.as_fd(), PollFlags::IN)];
            let ready = self.step(&own, deadline)?;
            if cancel.is_cancelled() {
                return Ok(End::Cancelled);
            }
            if ready[0] {
                return Ok(End::ByItself);
            }
            if deadline.is_some_and(|it| Instant::now() >= it) {
                return Ok(End::TimedOut);
            }
        }
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
        take(&mut self.stdout);
        take(&mut self.stderr);
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
fn take((pipe, tail): &mut (Option<PipeReader>, Tail)) {
    let mut buffer = [0; poll::BUFFER_BYTES];
    let Some(reader) = pipe else { return };
    match Step::of(reader.read(&mut buffer)) {
        Step::Moved(count) => tail.push(&buffer[..count]),
        Step::NotNow => {}
        Step::Closed => *pipe = None,
    }
}
