//! `pitcrew confine`: takes rights from itself and becomes the program that shall not have them.
//!
//! Everything is applied by this small process to itself, and is inherited by all that it becomes
//! and starts. It is all or nothing: where one layer cannot be applied, it says so in one line and
//! ends, and the program never runs. It never gives a right that it did not have.
//!
//! ```text
//! the user of the box ─► ports go out ─► limits ─► capabilities go ─► Landlock ─► seccomp ─► exec
//!                                                                   where asked to, waits ┘
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

use crate::{WayOut, command, ends, lead_out, proxy_environment};
use std::{
    ffi::OsString,
    fmt::Display,
    io,
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::ExitCode,
};

/// A layer could not be applied, and the program was not run.
pub const CONFINE_FAILED: u8 = 125;
/// What its words begin with, where it does not become the program.
pub const CONFINE_SAYS: &str = "pitcrew confine: ";
/// As shells have it: the program may not be executed.
const NOT_EXECUTABLE: u8 = 126;
/// As shells have it: there is no such program.
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
    eprintln!("{CONFINE_SAYS}{}", refusal.line);
    ExitCode::from(refusal.code)
}

fn launch(spec: &str, argv: &[OsString]) -> Refusal {
    let spec = serde_json::from_str(spec);
    let spec = spec.map_err(|error| Refusal::layer("a specification", error));
    // The box may be made long before the program is to begin.
    let confined = spec.and_then(|it| Ok((become_confined(&it)?, taken(&it)?, let_go(&it)?)));
    match confined {
        Ok((more, ends, ())) => refused(argv, &execute(argv, more, ends)),
        Err(refusal) => refusal,
    }
}

/// Input and output of the program, where they are not ours. Waits until they are handed over.
fn taken(spec: &ConfineSpec) -> Result<Option<[OwnedFd; 2]>, Refusal> {
    let taken = spec.takes_ends.then(ends::take_over).transpose();
    taken.map_err(|error| Refusal::layer("input and output", error))
}

/// Waits for the byte that says that the program may begin, where there is to be one.
fn let_go(spec: &ConfineSpec) -> Result<(), Refusal> {
    if !spec.waits {
        return Ok(());
    }
    let read = rustix::io::retry_on_intr(|| rustix::io::read(io::stdin(), &mut [0_u8]));
    match read {
        Ok(1) => Ok(()),
        Ok(_) => Err(Refusal::layer("the program", "nobody let it go")),
        Err(error) => Err(Refusal::layer("the program", error)),
    }
}

/// Returns the variables that the program gets besides ours.
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
    // Before anything is taken away.
    let more = spec.way_out.as_ref().map_or(Ok(Vec::new()), led_out);
    let mut more = more.map_err(|error| Refusal::layer("the network", error))?;
    let (ports, led) =
        relays::start(&spec.relays).map_err(|error| Refusal::layer("the way to us", error))?;
    more.extend(led);
    limits::apply(&spec.limits).map_err(|error| Refusal::layer("the limits", error))?;
    capabilities::drop_all().map_err(|error| Refusal::layer("the capabilities", error))?;
    rustix::thread::set_no_new_privs(true)
        .map_err(|error| Refusal::layer("no_new_privs", error))?;
    landlock::apply(spec, &ports).map_err(|error| Refusal::layer("Landlock", error))?;
    // In a box the filter came before us, so that the first process there is under it too.
    if spec.calls == Calls::Unboxed {
        calls::apply(spec).map_err(|error| Refusal::layer("seccomp", error))?;
    }
    Ok(more)
}

fn led_out(way: &WayOut) -> io::Result<Vec<(String, String)>> {
    let port = lead_out(way)?;
    Ok(proxy_environment(&format!("http://127.0.0.1:{port}")))
}

/// Becomes the program. Returns why it did not.
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

fn refused(argv: &[OsString], error: &io::Error) -> Refusal {
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
