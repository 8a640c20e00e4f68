//! Leaks that are planted in the boxes at the places where a bug of the product would cause them.

use crate::scene::{Scene, write_program};
use std::{fs, os::unix::fs::PermissionsExt};

/// Replaces bubblewrap with a wrapper that omits the network namespace and the system call filters,
/// and adds a folder, a service, a file of kernel settings, an open descriptor and a variable.
pub fn in_boxes(scene: &Scene) {
    let root = scene.sandbox.root();
    plant(scene);
    let shown = |path: &str| root.join(path).display().to_string();
    let more = format!(
        "--bind {0} {0} --ro-bind {1} {1} --bind {0}/setting /proc/sys/kernel/core_pattern",
        shown("leak"),
        shown("services"),
    );
    stand_in(scene, "--unshare-net", &more);
    open_descriptor(scene);
}

/// bubblewrap and our launcher close open descriptors, so this one is opened after both.
fn open_descriptor(scene: &Scene) {
    let tools = scene.sandbox.root().join("bin");
    let (probe, real) = (tools.join("survey_probe"), tools.join("real/survey_probe"));
    fs::create_dir(tools.join("real")).expect("a folder");
    fs::rename(&probe, &real).expect("the probe");
    write_program(&probe, &format!("#!/bin/sh\nexec 9< /\nexec {} \"$@\"\n", real.display()));
}

/// Omits the process namespace.
pub fn processes_in_boxes(scene: &Scene) {
    stand_in(scene, "--unshare-pid", "");
}

fn stand_in(scene: &Scene, left_out: &str, more: &str) {
    let keeps_filters = if more.is_empty() { "kept" } else { "" };
    let script = format!(
        "#!/bin/sh\n\
         count=$# is_ours=1\n\
         while [ $count -gt 0 ]; do\n\
         \tword=$1; shift; count=$((count - 1))\n\
         \tcase $is_ours$word in\n\
         \t1{left_out}) continue ;;\n\
         \t1--add-seccomp-fd{keeps_filters}) shift; count=$((count - 1)); continue ;;\n\
         \t1--) is_ours=0; set -- \"$@\" {more} ;;\n\
         \tesac\n\
         \tset -- \"$@\" \"$word\"\n\
         done\n\
         export LEAKED=1\n\
         exec /usr/bin/bwrap \"$@\"\n"
    );
    write_program(&scene.sandbox.root().join("bin/bwrap"), &script);
}

/// The entries that the probe then finds. An agent with its own sandbox mounts `/proc` later.
pub fn found_in_boxes(kind: &str) -> &'static [&'static str] {
    if kind == "nesting" { &FOUND_IN_BOXES[1..] } else { FOUND_IN_BOXES }
}

pub const FOUND_PROCESSES: &[&str] =
    &["namespace: pid of the machine", "process bystander: its arguments can be read"];

const FOUND_IN_BOXES: &[&str] = &[
    "kernel rw: /proc/sys/kernel/core_pattern",
    "path rw: <root>/leak 0777 runs",
    "mount of the machine rw nosuid nodev: <root>/leak",
    "descriptor: 9 read /",
    "variable: LEAKED",
    "call: keyctl",
    "call: io_uring_setup",
    "may call: socket vsock stream",
    "namespace: net of the machine",
    "connect: tcp of the machine's loopback",
    "connect: udp of the machine's loopback",
    "socket rw: <root>/services/stream.sock",
];

/// Without a box, the user's settings share too much.
pub fn without_boxes(scene: &mut Scene) {
    plant(scene);
    let shown = |path: &str| scene.sandbox.root().join(path).display().to_string();
    let (written, read) = (shown("leak"), shown("services"));
    scene.sandbox.set("PITCREW_SANDBOX_WRITE", &written);
    scene.sandbox.set("PITCREW_SANDBOX_READ", &read);
}

/// Git does not get the write access that the user's settings grant to others.
pub fn found_without_boxes(kind: &str) -> &'static [&'static str] {
    const FOUND: &[&str] = &["path r: <root>/services", "path rw: <root>/leak 0777 runs"];
    if kind.starts_with("git") { &FOUND[..1] } else { FOUND }
}

fn plant(scene: &Scene) {
    let leak = scene.sandbox.root().join("leak");
    fs::create_dir(&leak).expect("a folder");
    fs::write(leak.join("setting"), "").expect("a file");
    for path in [leak.join("setting"), leak] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("a mode");
    }
}
