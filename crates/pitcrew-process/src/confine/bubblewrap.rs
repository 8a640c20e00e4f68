//! Tier T3: builds the bubblewrap command line that creates a box for one program.
//!
//! The environment is not part of it, because command lines are visible in the process table.

use super::{
    Wrapped,
    mounts::{Mount, Mounts},
    unboxed,
    user::User,
};
use crate::{ConfineSpec, Net, Policy, enclose::EncloseSpec, ends::Ends};
use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
};

/// Separate namespaces, no controlling terminal, and termination with the parent process.
const ALWAYS: &[&str] = &[
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
];

/// Parts of `/proc` that concern the whole machine: read-only.
const PROC_READ_ONLY: &[&str] = &[
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/acpi",
    "/proc/pressure",
];

/// Parts of `/proc` that reveal keys or memory of other programs. They are hidden.
const PROC_HIDDEN: &[&str] = &["/proc/keys", "/proc/key-users", "/proc/kcore", "/proc/timer_list"];

/// Folders that are empty at first and are removed with the box.
const EMPTY: &[&str] = &["/tmp", "/run", "/var/tmp"];

/// The configuration of the name resolver. It may be a link to a file that a service writes.
const RESOLVER: &str = "/etc/resolv.conf";

pub(super) fn wrap(
    policy: &Policy,
    program: &Path,
    rest: &[OsString],
    cwd: &Path,
    mut env: Vec<(OsString, OsString)>,
    ends: Ends,
) -> io::Result<Wrapped> {
    let Some(launcher) = &policy.launcher else {
        return Err(io::Error::other(
            "tier T3 needs our own executable, and the policy names none",
        ));
    };
    let home = env.iter().rev().find(|it| it.0 == "HOME").map(|it| PathBuf::from(&it.1));
    let mounts = mounts(policy, program, home.as_deref(), cwd).in_order();
    let (takes_ends, waits) = (ends == Ends::HandedOver, ends == Ends::Awaited);
    let mut spec = ConfineSpec { takes_ends, waits, ..ConfineSpec::boxed(policy, cwd) };
    let is_held = policy.guest && policy.inner.is_some();
    // A temporary folder that is outside the box or not writable is useless, so the variable is
    // removed.
    env.retain(|(name, value)| {
        let is_shared = || policy.write.iter().any(|it| Path::new(value).starts_with(it));
        name != "TMPDIR" || !is_held && is_shared()
    });
    // If only part of a checkout is writable, its parent folders are read-only. They may include
    // `/tmp`, and usually include the home.
    if let Some(private) = policy.home.as_ref().filter(|_| is_held) {
        let temporary = private.join(super::TEMPORARY);
        env.push(("TMPDIR".into(), temporary.clone().into()));
        spec.folders.push(temporary);
        if let Some(user) = home.filter(|it| cwd.starts_with(it)) {
            env.retain(|it| it.0 != "HOME");
            env.push(("HOME".into(), private.clone().into()));
            spec.home = Some(unboxed::shown(policy, private.clone(), user));
        }
    }
    let user = User::of_box();
    spec.user = user.switch(policy, &mounts);
    if spec.user.is_some() {
        // The kernel would count the processes of all boxes together. `ProcessCounter` counts each
        // box.
        spec.limits.processes = None;
    }
    let enclose = EncloseSpec {
        bubblewrap: policy.bubblewrap.clone(),
        calls: spec.calls,
        accounts: user.accounts(&env),
        mapping: user.mapping(&mounts),
    };
    let enclose = serde_json::to_string(&enclose).expect("a specification is plain data");
    let mut argv = vec![launcher.into(), "enclose".into(), enclose.into(), "--".into()];
    argv.extend(ALWAYS.iter().chain(&user.arguments(policy)).map(OsString::from));
    match policy.net {
        Net::Open => {}
        Net::None | Net::Proxy(_) => argv.push("--unshare-net".into()),
    }
    arguments(policy, &user, &mounts, &mut argv);
    argv.extend(["--chdir".into(), cwd.as_os_str().to_owned(), "--".into()]);
    argv.extend(super::launcher(launcher, &spec));
    argv.push(program.as_os_str().to_owned());
    argv.extend(rest.iter().cloned());
    Ok(Wrapped { argv, env, shared: shared(mounts) })
}

fn shared(mounts: Vec<(PathBuf, Mount)>) -> Vec<PathBuf> {
    let shared = mounts.into_iter().filter(|(_, mount)| match mount {
        Mount::ReadOnly | Mount::Writable | Mount::Pinned => true,
        Mount::Empty | Mount::Hidden | Mount::Link(_) => false,
    });
    shared.map(|it| it.0).collect()
}

fn mounts(policy: &Policy, program: &Path, home: Option<&Path>, cwd: &Path) -> Mounts {
    let mut mounts = Mounts::default();
    for path in EMPTY.iter().map(Path::new).chain(home).filter(|it| it.parent().is_some()) {
        mounts.share(path, Mount::Empty);
    }
    for path in policy.read.iter().chain(&policy.launcher).map(PathBuf::as_path).chain([program]) {
        mounts.share(path, Mount::ReadOnly);
    }
    match policy.net {
        Net::Open => mounts.share(Path::new(RESOLVER), Mount::ReadOnly),
        Net::None | Net::Proxy(_) => {}
    }
    if let Some(way) = policy.way_out() {
        mounts.share(&way.socket, Mount::ReadOnly);
    }
    for path in policy.write.iter().chain(&policy.home) {
        mounts.share(path, Mount::Writable);
    }
    if let Some(zone) = policy.inner.as_ref().filter(|_| !policy.guest) {
        mounts.hold(policy.checkout(cwd), zone);
    }
    for path in &policy.deny {
        mounts.hide(path);
    }
    mounts
}

fn arguments(policy: &Policy, user: &User, mounts: &[(PathBuf, Mount)], argv: &mut Vec<OsString>) {
    let mut hidden = Vec::new();
    let mut say = |words: &[&OsStr]| argv.extend(words.iter().map(OsString::from));
    // The box creates these two itself. A checkout may be below one of them, in shared memory.
    if user.mounts_proc(policy) {
        say(&["--dir".as_ref(), "/proc".as_ref()]);
    } else {
        say(&["--proc".as_ref(), "/proc".as_ref()]);
    }
    say(&["--dev".as_ref(), "/dev".as_ref()]);
    // A nested box cannot mount its own `/proc` if part of this one is covered.
    let machines = PROC_READ_ONLY.iter().filter(|it| !policy.nests && Path::new(it).exists());
    for path in machines.map(OsStr::new) {
        say(&["--ro-bind".as_ref(), path, path]);
    }
    for path in PROC_HIDDEN.iter().filter(|it| !policy.nests && Path::new(it).exists()) {
        say(&["--ro-bind".as_ref(), "/dev/null".as_ref(), path.as_ref()]);
    }
    for folder in user.leads_to(mounts) {
        say(&["--perms".as_ref(), "0755".as_ref(), "--dir".as_ref(), folder.as_os_str()]);
    }
    for (path, mount) in mounts {
        let place = path.as_os_str();
        match mount {
            Mount::Empty => say(&["--tmpfs".as_ref(), place]),
            Mount::ReadOnly => say(&["--ro-bind".as_ref(), place, place]),
            Mount::Writable | Mount::Pinned => say(&["--bind".as_ref(), place, place]),
            Mount::Link(target) => say(&["--symlink".as_ref(), target.as_os_str(), place]),
            Mount::Hidden if path.is_dir() => {
                say(&["--tmpfs".as_ref(), place]);
                for folder in user.leads_below(path, mounts) {
                    let folder = folder.as_os_str();
                    say(&["--perms".as_ref(), "0755".as_ref(), "--dir".as_ref(), folder]);
                }
                hidden.push(place);
            }
            // Devices cannot be opened there, so the path acts like a file without read permission.
            Mount::Hidden => say(&["--ro-bind".as_ref(), "/dev/null".as_ref(), place]),
        }
    }
    for place in hidden {
        say(&["--remount-ro".as_ref(), place]);
    }
}
