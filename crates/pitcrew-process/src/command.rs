//! The only place that builds a `Command`.

use std::{
    ffi::OsStr,
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
};

const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";

/// A command that will run `argv` in `cwd` with exactly the environment `env`.
///
/// Fails with `NotFound` or `PermissionDenied` when there is no such program, and with `Other`
/// when there is no such folder: the system's own answer could not tell these apart.
pub(crate) fn command<T: AsRef<OsStr>>(
    argv: &[T],
    cwd: &Path,
    env: &[(T, T)],
) -> io::Result<Command> {
    let Some((program, rest)) = argv.split_first() else {
        return Err(io::Error::other("no program is given"));
    };
    if !cwd.is_dir() {
        return Err(io::Error::other(format!("the folder `{}` does not exist", cwd.display())));
    }
    let mut command = new(&find_in(program.as_ref(), env)?);
    command.arg0(program).args(rest).current_dir(cwd);
    command.env_clear().envs(env.iter().map(|(name, value)| (name, value)));
    Ok(command)
}

/// Where a program with the environment `env` is.
pub(crate) fn find_in<T: AsRef<OsStr>>(program: &OsStr, env: &[(T, T)]) -> io::Result<PathBuf> {
    let path = env.iter().rev().find(|(name, _)| name.as_ref() == "PATH");
    let path = path.map_or(OsStr::new(PATH_DEFAULT), |(_, value)| value.as_ref());
    find(program, path)
}

/// Looked for here and not by the system, which has to copy our whole process to do it. A folder
/// on `PATH` that is not absolute is passed over: it would be one of the tree the program works on.
fn find(program: &OsStr, path: &OsStr) -> io::Result<PathBuf> {
    if program.as_encoded_bytes().contains(&b'/') {
        return Ok(program.into());
    }
    let mut missing = io::ErrorKind::NotFound;
    let folders = std::env::split_paths(path).filter(|it| it.is_absolute());
    for candidate in folders.map(|it| it.join(program)).filter(|it| it.is_file()) {
        match rustix::fs::access(&candidate, rustix::fs::Access::EXEC_OK) {
            Ok(()) => return Ok(candidate),
            Err(_) => missing = io::ErrorKind::PermissionDenied,
        }
    }
    Err(missing.into())
}

#[expect(clippy::disallowed_methods, reason = "this crate is the one that starts programs")]
fn new(program: &Path) -> Command {
    Command::new(program)
}
