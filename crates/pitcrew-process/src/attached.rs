//! Runs a program in the foreground: it uses our terminal until it ends.

use crate::{command, environment};
use std::{
    ffi::OsString,
    io::{self, Write},
    path::Path,
    process::Stdio,
};

/// Runs `argv` in `cwd` with our standard streams, and with our environment plus `env`.
///
/// Returns the exit code, or nothing if a signal ended the program. The program stays in our
/// process group, so that it receives the same terminal signals as this process.
pub fn run_attached(
    argv: &[OsString],
    cwd: &Path,
    env: Vec<(OsString, OsString)>,
) -> io::Result<Option<i32>> {
    let env = environment::trusted(env);
    Ok(command::command(argv, cwd, &env)?.status()?.code())
}

/// The same for a program that reads `input` instead of our standard input.
pub fn run_fed(
    argv: &[OsString],
    cwd: &Path,
    env: Vec<(OsString, OsString)>,
    input: &[u8],
) -> io::Result<Option<i32>> {
    let env = environment::trusted(env);
    let mut child = command::command(argv, cwd, &env)?.stdin(Stdio::piped()).spawn()?;
    if let Some(mut pipe) = child.stdin.take() {
        // The program may end before it has read everything.
        pipe.write_all(input).ok();
    }
    Ok(child.wait()?.code())
}
