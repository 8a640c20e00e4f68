//! Resource limits of a program.

use crate::scene::{Scene, User, describe, is_root, users};
use pitcrew_process::{ConfineSpec, Limits};

fn limited(scene: &Scene, limits: Limits) -> ConfineSpec {
    ConfineSpec { limits, ..scene.spec() }
}

#[test]
fn file_size_is_limited() {
    for user in users() {
        let scene = Scene::new(user);
        let spec = limited(&scene, Limits { file_bytes: Some(1_048_576), ..Limits::default() });
        let script = "head -c 2000000 /dev/zero > big";
        scene.only_free(&spec, "a big file", script);
        assert_eq!(scene.path("checkout/big").metadata().unwrap().len(), 1_048_576);
        let finished = scene.confined(&spec, "head -c 1000000 /dev/zero > small");
        assert!(finished.success(), "{}", describe(&finished));
    }
}

#[test]
fn memory_is_limited() {
    for user in users() {
        let scene = Scene::new(user);
        let limits = Limits { memory_bytes: Some(64 << 20), ..Limits::default() };
        let spec = limited(&scene, limits);
        scene.only_free(&spec, "memory", "perl -e '$x = \"x\" x (128 << 20)'");
    }
}

/// The kernel does not limit the processes of root: see docs/sandbox.md.
#[test]
fn process_count_is_limited() {
    let scene = Scene::new(if is_root() { User::Ordinary } else { User::Current });
    let spec = limited(&scene, Limits { processes: Some(20), ..Limits::default() });
    let bomb =
        "perl -e 'for (1..60) { my $p = fork; defined $p or exit 1; $p or (sleep 600, exit) }'";
    scene.only_free(&spec, "many processes", bomb);
    assert!(scene.confined(&spec, "sh -c true & sh -c true & wait").success());
}

#[test]
fn crash_leaves_no_core_dump() {
    for user in users() {
        let scene = Scene::new(user);
        let finished = scene.confined(&scene.spec(), "ulimit -H -c");
        assert_eq!(finished.stdout, b"0\n", "{}", describe(&finished));
    }
}
