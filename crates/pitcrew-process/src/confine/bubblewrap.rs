//! Tier T3: the command line of bubblewrap that makes a box for one program.
//!
//! The environment is not on it: whoever may look at processes reads command lines.

use super::{
    Wrapped,
    mounts::{Mount, Mounts},
    unboxed,
};
use crate::{ConfineSpec, Net, Policy, ends::Ends};
use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// Name spaces of its own, no rights of root, no terminal of ours, and no life without whoever
/// started it. A program may still make name spaces within its own: agents bring sandboxes.
const ALWAYS: &[&str] = &[
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
];

/// Root without its rights is a trap: tools give files away and fail, and sandboxes within the box
/// may not be made for it. Files of root's are nobody's in there. Either way the rights are the same:
/// none.
const AS_NOBODY: &[&str] = &["--uid", "65534", "--gid", "65534"];

/// Folders that are empty at first and gone with the box.
const EMPTY: &[&str] = &["/tmp", "/run", "/var/tmp"];

/// Where the names of the network are looked up. It may be a link to what a service writes.
const RESOLVER: &str = "/etc/resolv.conf";

pub(super) fn wrap(
    policy: &Policy,
    program: &Path,
    rest: &[OsString],
    cwd: &Path,
    mut env: Vec<(OsString, OsString)>,
    ends: Ends,
) -> Wrapped {
    let mut argv = vec![policy.bubblewrap.clone().into_os_string()];
    argv.extend(ALWAYS.iter().map(OsString::from));
    match policy.net {
        Net::Open => {}
        Net::None | Net::Proxy(_) => argv.push("--unshare-net".into()),
    }
    if rustix::process::geteuid().is_root() && !policy.keeps_owners {
        argv.extend(AS_NOBODY.iter().map(OsString::from));
    }
    let home = env.iter().rev().find(|it| it.0 == "HOME").map(|it| PathBuf::from(&it.1));
    let mounts = mounts(policy, program, home.as_deref(), cwd).in_order();
    arguments(&mounts, &mut argv);
    argv.extend(["--chdir".into(), cwd.as_os_str().to_owned(), "--".into()]);
    let is_held = policy.guest && policy.inner.is_some() && policy.launcher.is_some();
    // A folder for temporary files that is not in the box, or cannot be written, is as good as none.
    env.retain(|(name, value)| {
        let is_shared = || policy.write.iter().any(|it| Path::new(value).starts_with(it));
        name != "TMPDIR" || !is_held && is_shared()
    });
    if let Some(launcher) = &policy.launcher {
        let (takes_ends, waits) = (ends == Ends::HandedOver, ends == Ends::Awaited);
        let mut spec = ConfineSpec { takes_ends, waits, ..ConfineSpec::boxed(policy, cwd) };
        // What is above a checkout of which but a part can be written cannot be written at all, and
        // that may be `/tmp`, and mostly is the home.
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
        argv.extend(super::launcher(launcher, &spec));
    }
    argv.push(program.as_os_str().to_owned());
    argv.extend(rest.iter().cloned());
    Wrapped { argv, env, shared: shared(mounts) }
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

fn arguments(mounts: &[(PathBuf, Mount)], argv: &mut Vec<OsString>) {
    let mut hidden = Vec::new();
    let mut say = |words: &[&OsStr]| argv.extend(words.iter().map(OsString::from));
    // These two are made by the box itself. A checkout may lie below one of them, in shared memory.
    say(&["--proc".as_ref(), "/proc".as_ref(), "--dev".as_ref(), "/dev".as_ref()]);
    for (path, mount) in mounts {
        let place = path.as_os_str();
        match mount {
            Mount::Empty => say(&["--tmpfs".as_ref(), place]),
            Mount::ReadOnly => say(&["--ro-bind".as_ref(), place, place]),
            Mount::Writable | Mount::Pinned => say(&["--bind".as_ref(), place, place]),
            Mount::Link(target) => say(&["--symlink".as_ref(), target.as_os_str(), place]),
            Mount::Hidden if path.is_dir() => {
                say(&["--tmpfs".as_ref(), place]);
                hidden.push(place);
            }
            // A device cannot be opened there, so this reads as a file that may not be read.
            Mount::Hidden => say(&["--ro-bind".as_ref(), "/dev/null".as_ref(), place]),
        }
    }
    for place in hidden {
        say(&["--remount-ro".as_ref(), place]);
    }
}
