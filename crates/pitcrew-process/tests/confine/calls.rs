//! System calls that are refused by their number or their arguments.

use crate::scene::{Bystander, Scene, describe, users};
use pitcrew_process::ConfineSpec;

/// Builds a Perl command that makes a system call and exits with its error number, or with 0.
fn call(number: i64, arguments: &str) -> String {
    let prepare = "my ($zeros, $name, $none) = (\"\\0\" x 120, \"none\", \"/none\");";
    format!("perl -e '{prepare} syscall({number}, {arguments}) == -1 and exit $! + 0'")
}

/// Checks that a call under `spec` fails with `error`, and that it does not fail with that error
/// without confinement.
fn refused(scene: &Scene, spec: &ConfineSpec, name: &str, script: &str, error: i32) {
    let freely = scene.free(script);
    assert_ne!(freely.code, Some(error), "{name} proves nothing: {}", describe(&freely));
    let held = scene.confined(spec, script);
    assert_eq!(held.code, Some(error), "{name}: {}", describe(&held));
}

/// System calls that create boxes. The kernel rejects their arguments if it evaluates them.
fn name_spaces() -> Vec<(&'static str, String)> {
    vec![
        ("setns", call(libc::SYS_setns, "-1, 0")),
        ("open_tree", call(libc::SYS_open_tree, "-100, $none, 0")),
        ("a user's namespace", call(libc::SYS_unshare, "0x10000000")),
        ("a time namespace", call(libc::SYS_unshare, "0x81")),
        ("a clone in one", call(libc::SYS_clone, "0x10000000 | 17, 0, 0, 0, 0")),
    ]
}

#[test]
fn calls_that_bypass_the_rules_are_refused() {
    for user in users() {
        let scene = Scene::new(user);
        let spec = scene.spec();
        let bystander = Bystander::new(&scene);
        let pid = bystander.pid();
        for (name, script) in [
            ("io_uring", call(libc::SYS_io_uring_setup, "8, $zeros")),
            ("io_uring_enter", call(libc::SYS_io_uring_enter, "-1, 0, 0, 0, 0, 0")),
            ("ptrace", call(libc::SYS_ptrace, "0, 0, 0, 0")),
            (
                "process_vm_readv",
                call(libc::SYS_process_vm_readv, &format!("{pid}, 0, 0, 0, 0, 0")),
            ),
            ("keyctl", call(libc::SYS_keyctl, "0, -3, 0")),
            ("a lease", call(libc::SYS_fcntl, "0, 1024, 0")),
            ("userfaultfd", call(libc::SYS_userfaultfd, "1")),
            ("typing into a terminal", call(libc::SYS_ioctl, "0, 0x5412, $name")),
            ("copying from a terminal", call(libc::SYS_ioctl, "0, 0x541c, $name")),
            ("with the other half set", call(libc::SYS_ioctl, "0, 0x7700005412, $name")),
        ] {
            refused(&scene, &spec, name, &script, libc::EPERM);
        }
        for (name, script) in name_spaces() {
            refused(&scene, &spec, name, &script, libc::EPERM);
        }
        let clone3 = call(libc::SYS_clone3, "$zeros, 1");
        refused(&scene, &spec, "clone3", &clone3, libc::ENOSYS);
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn alternative_call_numbers_are_refused() {
    let scene = Scene::new(crate::scene::User::Current);
    // `ptrace` and `getpid` of the x32 ABI.
    for number in [0x4000_0000 + 521, 0x4000_0000 + 39] {
        let finished = scene.confined(&scene.spec(), &call(number, "0, 0, 0, 0"));
        assert_eq!(finished.code, Some(libc::ENOSYS), "{}", describe(&finished));
    }
}
