//! The only place that builds a `Command`.

use std::{
    ffi::OsStr,
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
};

const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";

/// Builds a command that runs `argv` in `cwd` with exactly the environment `env`.
///
/// Fails with `NotFound` or `PermissionDenied` if there is no such program, and with `Other` if
/// there is no such folder. The system returns the same error for both.
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

/// Finds a program with the `PATH` of the environment `env`.
pub(crate) fn find_in<T: AsRef<OsStr>>(program: &OsStr, env: &[(T, T)]) -> io::Result<PathBuf> {
    let path = env.iter().rev().find(|(name, _)| name.as_ref() == "PATH");
    let path = path.map_or(OsStr::new(PATH_DEFAULT), |(_, value)| value.as_ref());
    find(program, path)
}

/// Searches here, because a search by the system requires copying this whole process. Skips folders
/// on `PATH` that are not absolute: they would be inside the tree that the program works on.
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
