//! Runs a program in the foreground: it uses our terminal until it ends.

use crate::{command, environment};
use std::{
    ffi::OsString,
    io::{self, Write},
    path::Path,
    process::{Child, Stdio},
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
    feed(&mut child, input)?;
    Ok(child.wait()?.code())
}

/// Runs `argv` in `cwd` with this input, and returns its exit code and its output.
///
/// Everything else is as for `run_attached`: the program may use the terminal to ask for a
/// passphrase.
pub fn run_in_terminal(
    argv: &[OsString],
    cwd: &Path,
    env: Vec<(OsString, OsString)>,
    input: &[u8],
) -> io::Result<(Option<i32>, Vec<u8>)> {
    let env = environment::trusted(env);
    let mut command = command::command(argv, cwd, &env)?;
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let fed = feed(&mut child, input);
    let output = child.wait_with_output()?;
    fed?;
    Ok((output.status.code(), output.stdout))
}

/// Writes the input. A program that ends early need not read everything.
fn feed(child: &mut Child, input: &[u8]) -> io::Result<()> {
    let mut stdin = child.stdin.take().expect("its input is a pipe");
    stdin.write_all(input).or_else(|error| {
        if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
    })
}
