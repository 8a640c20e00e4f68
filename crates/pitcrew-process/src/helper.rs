//! Helper processes: our own program, started to process untrusted bytes.
//!
//! A helper reads requests and writes responses over pipes. It confines itself before it reads the
//! first byte, and ends when its input ends. If it dies, its owner starts another one.

mod calls;

use crate::{
    Limits, command,
    launch::{drop_capabilities, limit},
    poll,
};
use rustix::{
    event::PollFlags,
    process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit},
    time::{ClockId, clock_gettime},
};
use std::{
    ffi::OsString,
    io::{self, ErrorKind, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::process::{CommandExt as _, ExitStatusExt as _},
    },
    path::Path,
    process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio},
    time::Instant,
};

/// A running helper. It is killed when this is dropped.
#[derive(Debug)]
pub struct Helper {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    until: Instant,
}

/// How a helper ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelperEnd {
    /// The helper exited by itself.
    Exit,
    /// The helper ran out of memory, or an assertion failed.
    Aborted,
    /// The helper exceeded its CPU time limit.
    OutOfTime,
    /// The helper was killed from outside.
    Killed,
    /// The helper was ended by any other signal.
    Crashed,
}

impl Helper {
    /// Starts `program` with the argument `part`. It must call [`confine_helper`] first.
    ///
    /// The helper has an empty environment and runs in the root folder. Its standard error is
    /// discarded, because it may contain untrusted bytes. Reads and writes fail with `TimedOut`
    /// after `until`.
    pub fn start(program: &Path, part: &str, until: Instant) -> io::Result<Self> {
        let argv: [OsString; 2] = [program.into(), part.into()];
        let mut command = command::command(&argv, Path::new("/"), &[])?;
        // Keeps terminal signals away from the helper.
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let stdin = child.stdin.take().expect("it is a pipe");
        let stdout = child.stdout.take().expect("it is a pipe");
        let helper = Self { child, stdin, stdout, until };
        poll::never_block(&helper.stdin)?;
        poll::never_block(&helper.stdout)?;
        Ok(helper)
    }

    /// Sets when reads and writes start to fail with `TimedOut`.
    pub fn set_deadline(&mut self, until: Instant) {
        self.until = until;
    }

    /// Kills the helper if it is still running, and returns how it ended.
    pub fn end(mut self) -> io::Result<HelperEnd> {
        // Has no effect on a process that has ended or is ending.
        self.child.kill().ok();
        self.child.wait().map(end_of)
    }

    /// Waits until a pipe is ready.
    fn wait(until: Instant, pipe: BorrowedFd<'_>, flags: PollFlags) -> io::Result<()> {
        poll::wait(&[(pipe, flags)], Some(until))?;
        if Instant::now() >= until { Err(ErrorKind::TimedOut.into()) } else { Ok(()) }
    }
}

fn end_of(status: ExitStatus) -> HelperEnd {
    match status.signal() {
        None => HelperEnd::Exit,
        Some(libc::SIGABRT) => HelperEnd::Aborted,
        Some(libc::SIGXCPU) => HelperEnd::OutOfTime,
        Some(libc::SIGKILL | libc::SIGTERM | libc::SIGINT | libc::SIGHUP | libc::SIGQUIT) => {
            HelperEnd::Killed
        }
        Some(_) => HelperEnd::Crashed,
    }
}

impl Read for Helper {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stdout.read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    Self::wait(self.until, self.stdout.as_fd(), PollFlags::IN)?;
                }
                done => return done,
            }
        }
    }
}

impl Write for Helper {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        loop {
            match self.stdin.write(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    Self::wait(self.until, self.stdin.as_fd(), PollFlags::OUT)?;
                }
                done => return done,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Drops all rights that a helper does not need. It can still use memory, up to a limit, and read
/// and write open files. Call it before another thread is started.
pub fn confine_helper(memory_bytes: u64) -> io::Result<()> {
    let limits = Limits {
        memory_bytes: Some(memory_bytes),
        processes: None,
        file_bytes: Some(0),
        open_files: Some(3),
    };
    limit(&limits)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    drop_capabilities()?;
    rustix::thread::set_no_new_privs(true)?;
    calls::apply().map_err(io::Error::other)
}

/// Limits the CPU time of this process: the kernel ends it after `more_seconds` more.
pub fn limit_time(more_seconds: u64) -> io::Result<()> {
    let used = clock_gettime(ClockId::ProcessCPUTime).tv_sec;
    let soft = u64::try_from(used).unwrap_or_default().saturating_add(more_seconds);
    let maximum = getrlimit(Resource::Cpu).maximum;
    let current = Some(maximum.map_or(soft, |it| it.min(soft)));
    Ok(setrlimit(Resource::Cpu, Rlimit { current, maximum })?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(30)
    }

    #[test]
    fn helper_can_be_written_to_and_read_from() {
        let mut helper = Helper::start(Path::new("/bin/cat"), "-", soon()).unwrap();
        let sent = vec![b'x'; 1 << 20];
        // Writing more than the pipes can hold before reading would block both sides.
        for part in sent.chunks(16 << 10) {
            helper.write_all(part).unwrap();
            let mut read = vec![0; part.len()];
            helper.read_exact(&mut read).unwrap();
            assert_eq!(read, part);
        }
        helper.set_deadline(Instant::now());
        let late = helper.read_exact(&mut [0]).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TimedOut);
        assert_eq!(helper.end().unwrap(), HelperEnd::Killed);
    }

    #[test]
    fn ended_helper_reports_how_it_ended() {
        for (word, end) in [("true", HelperEnd::Exit), ("false", HelperEnd::Exit)] {
            let mut helper = Helper::start(Path::new("/bin/sh"), "-s", soon()).unwrap();
            helper.write_all(format!("exec {word}\n").as_bytes()).unwrap();
            let gone = helper.read_exact(&mut [0]).unwrap_err();
            assert_eq!(gone.kind(), ErrorKind::UnexpectedEof);
            assert_eq!(helper.end().unwrap(), end, "{word}");
        }
        for (signal, end) in [
            ("ABRT", HelperEnd::Aborted),
            ("XCPU", HelperEnd::OutOfTime),
            ("KILL", HelperEnd::Killed),
            ("SEGV", HelperEnd::Crashed),
        ] {
            let mut helper = Helper::start(Path::new("/bin/sh"), "-s", soon()).unwrap();
            helper.write_all(format!("ulimit -c 0; kill -{signal} $$\n").as_bytes()).unwrap();
            let gone = helper.read_exact(&mut [0]).unwrap_err();
            assert_eq!(gone.kind(), ErrorKind::UnexpectedEof);
            assert_eq!(helper.end().unwrap(), end, "{signal}");
        }
    }
}
