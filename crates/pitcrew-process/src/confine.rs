//! Turns a policy into what is started: the program itself, or a launcher that confines it first.
//!
//! Every start of a program that is not ours goes through `wrap`. It only names what is to be
//! started; it starts nothing and never creates anything on the machine.

mod mounts;
mod bubblewrap;
mod roots;

pub use roots::{Roots, program_roots, roots};

use crate::{Policy, Tier, command};
use std::{ffi::OsString, io, path::Path};

/// What is started in the place of a program.
#[derive(Debug)]
pub(crate) struct Wrapped {
    pub(crate) argv: Vec<OsString>,
    /// The whole environment.
    pub(crate) env: Vec<(OsString, OsString)>,
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
) -> io::Result<Wrapped> {
    match policy.tier {
        Tier::T1 => Ok(Wrapped { argv: argv.to_vec(), env }),
        Tier::T2 => Err(io::Error::other("this build cannot confine by tier T2")),
        Tier::T3 => {
            let Some((name, rest)) = argv.split_first() else {
                return Err(io::Error::other("no program is given"));
            };
            let program = command::find_in(name, &env)?;
            Ok(bubblewrap::wrap(policy, &program, rest, cwd, env))
        }
    }
}
