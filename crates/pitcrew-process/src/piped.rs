//! Starts a program and exchanges data with it over pipes while it runs.

use crate::{
    Owned, Policy, RunError, command, confine, confine::Scratch, egress::Outlet, ends::Ends,
    environment, marker::Mark,
};
use std::{
    ffi::OsString,
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Stdio},
};
use tokio::process::{ChildStdin, ChildStdout};

/// A running program and our ends of its pipes.
#[derive(Debug)]
pub struct Piped {
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
    pub program: Owned,
}

/// Starts `argv` in `cwd`, confined like `run_confined`, with pipes for its standard input and
/// output. Its standard error is ours.
///
/// Must be called within a runtime, and on a thread that lives as long as the program: a program in
/// a box dies with the thread that started it.
pub fn spawn_piped(policy: &Policy, argv: &[OsString], cwd: &Path) -> Result<Piped, RunError> {
    spawn(policy, argv, cwd).map_err(|error| RunError::new(argv, cwd, error))
}

fn spawn(policy: &Policy, argv: &[OsString], cwd: &Path) -> io::Result<Piped> {
    let (outlet, mut policy) = Outlet::open(policy)?;
    let home = Scratch::open(&mut policy)?;
    let mark = Mark::new(&policy);
    let env = environment::confined(&policy, Vec::new(), &mark.text);
    let wrapped = confine::wrap(&policy, argv, cwd, env, Ends::Inherited)?;
    let mut command = command::command(&wrapped.argv, cwd, &wrapped.env)?;
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child: Child = command.spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let program = Owned::new(child, Some(mark)).with(outlet, home);
    Ok(Piped {
        stdin: ChildStdin::from_std(stdin.expect("it is a pipe"))?,
        stdout: ChildStdout::from_std(stdout.expect("it is a pipe"))?,
        program,
    })
}
