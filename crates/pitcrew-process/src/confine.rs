//! Turns a policy into a command line: the program itself, or a launcher that confines it first.
//!
//! Every foreign program is started through `wrap`, which only builds the command line. It starts
//! no process and creates no files.

mod mounts;
mod user;
mod bubblewrap;
mod unboxed;
mod scratch;
mod roots;
mod tools;
mod probe;

pub use probe::{Obstacle, find_box, try_without_box};
pub use roots::{Roots, program_roots, roots};
pub(crate) use scratch::{Scratch, remove_left_behind};
pub use tools::tool_variables;

use crate::{ConfineSpec, Policy, Tier, command, ends::Ends};
use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

/// A folder for temporary files in the private home. Used if `/tmp` is shared with other programs
/// or is not writable.
const TEMPORARY: &str = ".tmp";

/// The command to start in place of a program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrapped {
    pub(crate) argv: Vec<OsString>,
    /// The whole environment.
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Paths of the machine that are visible inside the box.
    pub(crate) shared: Vec<PathBuf>,
}

/// Returns how a program ended, given how its launcher ended.
///
/// bubblewrap can report a signal that ended the program only as an exit code.
pub(crate) fn decode_exit(
    policy: &Policy,
    code: Option<i32>,
    signal: Option<i32>,
) -> (Option<i32>, Option<i32>) {
    match (policy.tier, code) {
        (Tier::T3, Some(code @ 129..=192)) => (None, Some(code - 128)),
        (Tier::T1 | Tier::T2 | Tier::T3, code) => (code, signal),
    }
}

/// Builds the command that runs `argv` in `cwd` with the environment `env` and the policy's rights.
///
/// Fails with `NotFound` or `PermissionDenied` if there is no such program.
pub(crate) fn wrap(
    policy: &Policy,
    argv: &[OsString],
    cwd: &Path,
    env: Vec<(OsString, OsString)>,
    ends: Ends,
) -> io::Result<Wrapped> {
    match policy.tier {
        Tier::T1 => Ok(Wrapped { argv: argv.to_vec(), env, shared: Vec::new() }),
        Tier::T2 => {
            let (program, rest) = found(argv, &env)?;
            unboxed::wrap(policy, &program, rest, cwd, env)
        }
        Tier::T3 => {
            let (program, rest) = found(argv, &env)?;
            bubblewrap::wrap(policy, &program, rest, cwd, env, ends)
        }
    }
}

/// Returns the program's path and its arguments.
fn found<'a>(
    argv: &'a [OsString],
    env: &[(OsString, OsString)],
) -> io::Result<(PathBuf, &'a [OsString])> {
    let Some((name, rest)) = argv.split_first() else {
        return Err(io::Error::other("no program is given"));
    };
    Ok((command::find_in(name, env)?, rest))
}

/// The arguments that make our own executable confine itself before it executes the program.
fn launcher(launcher: &Path, spec: &ConfineSpec) -> [OsString; 4] {
    let spec = serde_json::to_string(spec).expect("a specification is plain data");
    [launcher.into(), "confine".into(), spec.into(), "--".into()]
}
