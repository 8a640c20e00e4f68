//! Runs a program in the foreground: it uses our terminal while we wait.

use crate::{command, environment};
use std::{ffi::OsString, io, path::Path};

/// Runs `argv` in `cwd` with our standard streams and our environment, `env` added.
///
/// Returns its exit code; nothing where a signal ended it. Signals of the terminal reach it as they
/// reach us, so it is not in a process group of its own.
pub fn run_attached(
    argv: &[OsString],
    cwd: &Path,
    env: Vec<(OsString, OsString)>,
) -> io::Result<Option<i32>> {
    let env = environment::trusted(env);
    Ok(command::command(argv, cwd, &env)?.status()?.code())
}
