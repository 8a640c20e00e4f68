//! Starts a detached program: the only kind of program that is never waited for.

use crate::{command, environment};
use std::{
    ffi::OsString,
    fs::File,
    io,
    path::Path,
    process::{Child, Stdio},
};

/// A program that outlives this process.
pub struct Detached {
    child: Child,
}

impl Detached {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its exit code, once it has ended; the inner option is empty where a signal ended it.
    pub fn ended(&mut self) -> io::Result<Option<Option<i32>>> {
        Ok(self.child.try_wait()?.map(|status| status.code()))
    }
}

/// Starts `argv` with our environment, in the root folder, with both outputs to `log`.
///
/// The program leaves our session by calling `leave_session` first thing: only it can.
pub fn spawn_detached(argv: &[OsString], log: File) -> io::Result<Detached> {
    let env = environment::trusted(Vec::new());
    let mut command = command::command(argv, Path::new("/"), &env)?;
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    Ok(Detached { child: command.spawn()? })
}

/// Leaves the session of our parent process, so that its terminal and signals do not reach us.
pub fn leave_session() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}
