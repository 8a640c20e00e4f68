//! `pitcrew enclose`: prepares what bubblewrap cannot, then becomes bubblewrap.
//!
//! ```text
//! session keyring ─► mounts with mapped owners (root) ─► seccomp filter, /etc/passwd ─► exec bwrap
//! ```
//!
//! The filter is passed to bubblewrap, so that it also applies to the first process of the box. If
//! we are root, the program runs under a separate user id that owns nothing on the machine. The
//! folders that are shared with it are mounted so that root's files in them belong to that id;
//! nothing on the disk changes. If any step fails, it prints one line and exits, and the program
//! never runs.

mod accounts;
mod owners;

pub(crate) use accounts::Accounts;

use crate::{Calls, command, launch};
use rustix::{
    fs::{MemfdFlags, SeekFrom, memfd_create, seek},
    io::Errno,
};
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsString,
    fmt::Display,
    fs::File,
    io::{self, Write},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::process::CommandExt,
    },
    path::{Path, PathBuf},
    process::ExitCode,
};

/// The user and group of every box that root starts, from a range that distributions, containers
/// and directory services do not use. It is constant because a git index records the owner of
/// files.
pub(crate) const BOX_ID: u32 = 0x7000_0000;

/// The steps of `pitcrew enclose` before it becomes bubblewrap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EncloseSpec {
    pub(crate) bubblewrap: PathBuf,
    pub(crate) calls: Calls,
    pub(crate) accounts: Accounts,
    /// Present if we are the machine's root.
    pub(crate) mapping: Option<Mapping>,
}

/// The folders that belong to the user of the box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mapping {
    /// These must be mapped, because the program writes there.
    pub(crate) write: Vec<PathBuf>,
    /// These stay as they are if their file system does not support mappings.
    pub(crate) read: Vec<PathBuf>,
}

/// Whether programs outside a box run as root, of the machine or of a container.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether we are root of the machine. Root of a container with separate user ids is an ordinary
/// user outside it.
pub fn is_machine_root() -> bool {
    let maps_all = || {
        let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        map.split_ascii_whitespace().eq(["0", "0", "4294967295"])
    };
    is_root() && maps_all()
}

/// The body of `pitcrew enclose SPEC -- ARGUMENTS`, with the arguments of bubblewrap. Returns only
/// if no box was created.
pub(crate) fn enclose_main(spec: &str, arguments: &[OsString]) -> ExitCode {
    let spec = serde_json::from_str(spec).map_err(|error| failed("the specification", error));
    let line = match spec.and_then(|it| enclose(&it, arguments)) {
        Ok(never) => match never {},
        Err(line) => line,
    };
    eprintln!("{}{line}", launch::CONFINE_PREFIX);
    ExitCode::from(launch::CONFINE_FAILED)
}

fn failed(step: &str, error: impl Display) -> String {
    format!("cannot apply {step}: {error}")
}

fn enclose(spec: &EncloseSpec, arguments: &[OsString]) -> Result<std::convert::Infallible, String> {
    detach_keyring().map_err(|it| failed("a session keyring", it))?;
    if let Some(mapping) = &spec.mapping {
        owners::map(mapping)?;
    }
    // Kept open until bubblewrap has read them.
    let mut files = Vec::new();
    let mut argv = vec![spec.bubblewrap.clone().into_os_string()];
    let filters = launch::filters(spec.calls).map_err(|it| failed("seccomp", it))?;
    for filter in filters {
        let file = in_memory(&filter).map_err(|it| failed("seccomp", it))?;
        argv.extend(["--add-seccomp-fd".into(), file.as_raw_fd().to_string().into()]);
        files.push(file);
    }
    let end = arguments.iter().position(|it| it == "--").unwrap_or(arguments.len());
    argv.extend(arguments[..end].iter().cloned());
    for (path, text) in spec.accounts.files() {
        let file = in_memory(text.as_bytes()).map_err(|it| failed(path, it))?;
        argv.extend([
            "--perms".into(),
            "0444".into(),
            "--ro-bind-data".into(),
            file.as_raw_fd().to_string().into(),
            path.into(),
        ]);
        files.push(file);
    }
    argv.extend(arguments[end..].iter().cloned());
    let env: Vec<_> = std::env::vars_os().collect();
    let command = command::command(&argv, Path::new("/"), &env);
    let error = command.map_or_else(|error| error, |mut it| it.exec());
    Err(format!("cannot execute `{}`: {error}", spec.bubblewrap.display()))
}

/// An anonymous file that stays open across `exec`.
fn in_memory(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("pitcrew", MemfdFlags::empty())?);
    file.write_all(bytes)?;
    seek(&file, SeekFrom::Start(0))?;
    Ok(file.into())
}

/// Starts a new session keyring, so that the program cannot use the user's keys. The kernel or a
/// container may not support keyrings.
pub(crate) fn detach_keyring() -> io::Result<()> {
    match join_keyring() {
        Ok(()) | Err(Errno::NOSYS | Errno::PERM) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[expect(unsafe_code, reason = "the call has no safe form")]
fn join_keyring() -> rustix::io::Result<()> {
    const JOIN_SESSION_KEYRING: libc::c_long = 1;
    // SAFETY: the call takes a name or nothing, and does not access our memory.
    let result = unsafe {
        libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, std::ptr::null::<libc::c_char>())
    };
    if result < 0 { Err(last_error()) } else { Ok(()) }
}

fn last_error() -> Errno {
    let error = io::Error::last_os_error();
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}
