//! Tier T2: only the launcher confines the program, in the machine's own file tree.

use super::{TEMPORARY, Wrapped, launcher};
use crate::{ConfineSpec, Home, Policy};
use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

/// A home that does not exist. Some programs fail if the home exists but cannot be read.
const NO_HOME: &str = "/nonexistent";

pub(super) fn wrap(
    policy: &Policy,
    program: &Path,
    rest: &[OsString],
    cwd: &Path,
    mut env: Vec<(OsString, OsString)>,
) -> io::Result<Wrapped> {
    let Some(ours) = &policy.launcher else {
        return Err(io::Error::other(
            "tier T2 needs our own executable, and the policy names none",
        ));
    };
    let ports: Vec<u16> = policy.proxy_port().into_iter().collect();
    let sockets = sockets(policy, &env);
    let mut spec = ConfineSpec::unboxed(policy, program, cwd, &ports, &sockets);
    let temporary = policy.home.as_ref().map(|it| it.join(TEMPORARY));
    let is_shared = |path: &OsStr| {
        // A program that is limited to a zone cannot use the parent folders of the checkout.
        let is_held = |it: &Path| policy.inner.is_some() && policy.checkout(cwd).starts_with(it);
        let written = policy.write.iter().filter(|it| !is_held(it));
        written.chain(&policy.home).any(|it| Path::new(path).starts_with(it))
    };
    let user = env.iter().rev().find(|it| it.0 == "HOME").map(|it| PathBuf::from(&it.1));
    env.retain(|(name, value)| !(name == "TMPDIR" || name == "HOME") || is_shared(value));
    let has = |env: &[(OsString, OsString)], wanted: &str| env.iter().any(|it| it.0 == wanted);
    if !has(&env, "HOME") {
        let home = policy.home.clone().unwrap_or_else(|| NO_HOME.into());
        env.push(("HOME".into(), home.into()));
        spec.home =
            policy.home.clone().zip(user).map(|(private, user)| shown(policy, private, user));
    }
    if let (false, Some(temporary)) = (has(&env, "TMPDIR"), temporary) {
        env.push(("TMPDIR".into(), temporary.clone().into()));
        spec.folders.push(temporary);
    }
    let mut argv = launcher(ours, &spec).to_vec();
    argv.push(program.into());
    argv.extend(rest.iter().cloned());
    Ok(Wrapped { argv, env, shared: Vec::new() })
}

/// The shared sockets that the environment names. They connect the program to us.
fn sockets(policy: &Policy, env: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let is_shared = |path: &Path| {
        policy.read.iter().chain(&policy.write).any(|it| path.starts_with(it))
            && path.metadata().is_ok_and(|it| it.file_type().is_socket())
    };
    env.iter().map(|it| PathBuf::from(&it.1)).filter(|it| is_shared(it)).collect()
}

/// Links the shared parts of the user's home into the private home.
pub(super) fn shown(policy: &Policy, private: PathBuf, user: PathBuf) -> Home {
    let below = |it: &&PathBuf| it.starts_with(&user) && !private.starts_with(it);
    let shown = policy.read.iter().chain(&policy.write).filter(below).cloned().collect();
    Home { private, user, shown }
}
