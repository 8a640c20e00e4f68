//! `pitcrew confine`: drops its own rights, then becomes the program to confine.
//!
//! This small process applies each layer to itself; the program and its descendants inherit them.
//! If a layer cannot be applied, it prints one line and exits, and the program never runs. It never
//! gains a right that it did not have.
//!
//! ```text
//! user of the box ─► network ports ─► limits ─► drop capabilities ─► Landlock ─► seccomp ─► exec
//!                                                            waits for the start, if asked to ┘
//! ```

mod spec;
mod limits;
mod user;
mod capabilities;
mod places;
mod landlock;
mod calls;
mod relays;

pub use self::landlock::{LANDLOCK_ABI_MIN, landlock_abi};
pub(crate) use calls::filters_of_box as filters;
pub(crate) use capabilities::drop_all as drop_capabilities;
pub(crate) use limits::{apply as limit, limit_memory};
pub use relays::relay_of;
pub use spec::{BoxUser, Calls, ConfineSpec, Files, Home, Unix, Zone};

use crate::{WayOut, command, enclose::detach_keyring, ends, lead_out, proxy_environment};
use std::{
    ffi::OsString,
    fmt::Display,
    io,
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::ExitCode,
};

/// The exit code if a layer could not be applied and the program was not run.
pub const CONFINE_FAILED: u8 = 125;
/// The prefix of its error messages if the program was not run.
pub const CONFINE_PREFIX: &str = "pitcrew confine: ";
/// The exit code of shells for a program that cannot be executed.
const NOT_EXECUTABLE: u8 = 126;
/// The exit code of shells for a program that does not exist.
const NOT_FOUND: u8 = 127;

/// Why the program was not run.
struct Refusal {
    code: u8,
    line: String,
}

impl Refusal {
    fn layer(name: &str, error: impl Display) -> Self {
        Self { code: CONFINE_FAILED, line: format!("cannot apply {name}: {error}") }
    }
}

/// The body of `pitcrew confine SPEC -- ARGV`. Returns only when the program was not run.
pub(crate) fn confine_main(spec: &str, argv: &[OsString]) -> ExitCode {
    let refusal = launch(spec, argv);
    eprintln!("{CONFINE_PREFIX}{}", refusal.line);
    ExitCode::from(refusal.code)
}

fn launch(spec: &str, argv: &[OsString]) -> Refusal {
    let spec = serde_json::from_str(spec);
    let spec = spec.map_err(|error| Refusal::layer("a specification", error));
    // The box may be created long before the program may start.
    let confined =
        spec.and_then(|it| Ok((become_confined(&it)?, receive_stdio(&it)?, wait_for_start(&it)?)));
    match confined {
        Ok((more, ends, ())) => not_executed(argv, &execute(argv, more, ends)),
        Err(refusal) => refusal,
    }
}

/// Receives the program's input and output, if they differ from our own. Blocks until they arrive.
fn receive_stdio(spec: &ConfineSpec) -> Result<Option<[OwnedFd; 2]>, Refusal> {
    let received = spec.takes_ends.then(ends::take_over).transpose();
    received.map_err(|error| Refusal::layer("input and output", error))
}

/// Waits for the byte that starts the program, if one is expected.
fn wait_for_start(spec: &ConfineSpec) -> Result<(), Refusal> {
    if !spec.waits {
        return Ok(());
    }
    let read = rustix::io::retry_on_intr(|| rustix::io::read(io::stdin(), &mut [0_u8]));
    match read {
        Ok(1) => Ok(()),
        Ok(_) => Err(Refusal::layer("the program", "the parent process is gone")),
        Err(error) => Err(Refusal::layer("the program", error)),
    }
}

/// Applies every layer. Returns the variables that the program gets in addition to ours.
fn become_confined(spec: &ConfineSpec) -> Result<Vec<(String, String)>, Refusal> {
    if let Some(user) = &spec.user {
        user::switch_to(user).map_err(|error| Refusal::layer("the user of the box", error))?;
    }
    for folder in &spec.folders {
        let made = std::fs::create_dir_all(folder);
        made.map_err(|error| Refusal::layer(&format!("`{}`", folder.display()), error))?;
    }
    if let Some(home) = &spec.home {
        places::show(home).map_err(|error| Refusal::layer("the home", error))?;
    }
    // In a box, `pitcrew enclose` has already replaced the keyring.
    if spec.calls == Calls::Unboxed {
        detach_keyring().map_err(|error| Refusal::layer("a session keyring", error))?;
    }
    // This must come before any right is dropped.
    let more = spec.way_out.as_ref().map_or(Ok(Vec::new()), open_egress);
    let mut more = more.map_err(|error| Refusal::layer("the network", error))?;
    let (ports, led) = relays::start(&spec.relays)
        .map_err(|error| Refusal::layer("the connection to pitcrew", error))?;
    more.extend(led);
    limits::apply(&spec.limits).map_err(|error| Refusal::layer("the limits", error))?;
    capabilities::drop_all().map_err(|error| Refusal::layer("the capabilities", error))?;
    rustix::thread::set_no_new_privs(true)
        .map_err(|error| Refusal::layer("no_new_privs", error))?;
    landlock::apply(spec, &ports).map_err(|error| Refusal::layer("Landlock", error))?;
    // In a box, bubblewrap has already installed the filter, so that it also covers the first
    // process.
    if spec.calls == Calls::Unboxed {
        calls::apply(spec).map_err(|error| Refusal::layer("seccomp", error))?;
    }
    Ok(more)
}

fn open_egress(way: &WayOut) -> io::Result<Vec<(String, String)>> {
    let port = lead_out(way)?;
    Ok(proxy_environment(&format!("http://127.0.0.1:{port}")))
}

/// Executes the program. Returns only on failure.
fn execute(
    argv: &[OsString],
    more: Vec<(String, String)>,
    ends: Option<[OwnedFd; 2]>,
) -> io::Error {
    let more = more.into_iter().map(|(name, value)| (name.into(), value.into()));
    let env: Vec<(OsString, OsString)> = std::env::vars_os().chain(more).collect();
    let cwd = match std::env::current_dir() {
        Ok(cwd) => cwd,
        Err(error) => return error,
    };
    let mut command = match command::command(argv, &cwd, &env) {
        Ok(command) => command,
        Err(error) => return error,
    };
    if let Some([stdin, stdout]) = ends {
        command.stdin(stdin).stdout(stdout);
    }
    command.exec()
}

fn not_executed(argv: &[OsString], error: &io::Error) -> Refusal {
    let program = argv.first().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let kind = error.kind();
    let (code, reason) = if kind == io::ErrorKind::NotFound {
        (NOT_FOUND, "it was not found in the box".to_owned())
    } else if kind == io::ErrorKind::PermissionDenied {
        (NOT_EXECUTABLE, "it may not be executed in the box".to_owned())
    } else {
        (NOT_EXECUTABLE, error.to_string())
    };
    Refusal { code, line: format!("cannot execute `{program}`: {reason}") }
}
