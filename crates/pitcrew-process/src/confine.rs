//! Turns a policy into what is started: the program itself, or a launcher that confines it first.
//!
//! Every start of a program that is not ours goes through `wrap`. It only names what is to be
//! started; it starts nothing and never creates anything on the machine.

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

/// Of the private home: for temporary files, where those of all others are in `/tmp`, or it cannot be
/// written.
const TEMPORARY: &str = ".tmp";

/// What is started in the place of a program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrapped {
    pub(crate) argv: Vec<OsString>,
    /// The whole environment.
    pub(crate) env: Vec<(OsString, OsString)>,
    /// What of the machine is in a box.
    pub(crate) shared: Vec<PathBuf>,
}

/// How a program ended, of which the system told this of what was started in its place.
///
/// Whoever holds a box can only say in an exit code that a signal ended the program.
pub(crate) fn told(
    policy: &Policy,
    code: Option<i32>,
    signal: Option<i32>,
) -> (Option<i32>, Option<i32>) {
    match (policy.tier, code) {
        (Tier::T3, Some(code @ 129..=192)) => (None, Some(code - 128)),
        (Tier::T1 | Tier::T2 | Tier::T3, code) => (code, signal),
    }
}

/// What to start so that `argv` runs in `cwd` with the environment `env` and no more rights than
/// the policy has.
///
/// Fails with `NotFound` or `PermissionDenied` when there is no such program.
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

/// Where the program is, and its arguments.
fn found<'a>(
    argv: &'a [OsString],
    env: &[(OsString, OsString)],
) -> io::Result<(PathBuf, &'a [OsString])> {
    let Some((name, rest)) = argv.split_first() else {
        return Err(io::Error::other("no program is given"));
    };
    Ok((command::find_in(name, env)?, rest))
}

/// The words before a program with which our own executable takes rights from itself first.
fn launcher(launcher: &Path, spec: &ConfineSpec) -> [OsString; 4] {
    let spec = serde_json::to_string(spec).expect("a specification is plain data");
    [launcher.into(), "confine".into(), spec.into(), "--".into()]
}
