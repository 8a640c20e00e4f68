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

    /// Returns the exit code once the program has ended. The inner option is empty if a signal
    /// ended it.
    pub fn ended(&mut self) -> io::Result<Option<Option<i32>>> {
        Ok(self.child.try_wait()?.map(|status| status.code()))
    }
}

/// Starts `argv` with our environment in the root folder. Both outputs go to `log`.
///
/// The program must call `leave_session` first to leave our session: only the program itself can do
/// so.
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
