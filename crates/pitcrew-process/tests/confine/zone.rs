//! The inner layer: only the zone of a checkout is writable.

use crate::scene::{Scene, describe, users};
use pitcrew_process::{ConfineSpec, Files, Zone};
use std::fs;

/// Creates a committed checkout with two folders and a file that tasks share.
fn scene(user: crate::scene::User) -> Scene {
    let scene = Scene::new(user);
    let script = "
        set -e; mkdir ui core home; echo a > ui/a; echo c > core/c; echo 1 > Cargo.lock
        git init -q .; git config user.name a; git config user.email a@b; echo home > .gitignore
        git add .; git commit -qm start";
    let finished = scene.free(script);
    assert!(finished.success(), "{}", describe(&finished));
    fs::create_dir(scene.path("tmp")).unwrap();
    scene.give();
    scene
}

fn spec(scene: &Scene, zone: &[&str]) -> ConfineSpec {
    let paths = zone.iter().map(|it| scene.path(&format!("checkout/{it}"))).collect();
    let spec = scene.spec();
    let files = Files {
        write: vec![scene.path("checkout"), scene.path("tmp")],
        zone: Some(Zone { checkout: scene.path("checkout"), paths, git: true }),
        ..spec.files.clone().unwrap()
    };
    ConfineSpec { files: Some(files), ..spec }
}

#[test]
fn only_the_zone_is_writable() {
    for user in users() {
        let scene = scene(user);
        let spec = spec(&scene, &["ui/", "Cargo.lock", "new/deep/"]);
        let works = "
            set -e; echo b > ui/b; mkdir -p ui/x; mv ui/b ui/x/b; rm ui/a; ln -s x/b ui/l
            echo 2 > Cargo.lock; echo n > new/deep/n; mv ui/x/b new/deep/b; echo t > ../tmp/t
            : > /dev/null; cat core/c; git add -A; git commit -qm work; git status --short | wc -l";
        let finished = scene.confined(&spec, works);
        assert!(finished.success(), "{}", describe(&finished));
        assert_eq!(String::from_utf8_lossy(&finished.stdout), "c\n0\n");
        for (name, script) in [
            ("write beside", "echo x > core/c"),
            ("create beside", "echo x > core/new"),
            ("create at the top", "echo x > top"),
            ("remove beside", "rm core/c; touch core/c 2> /dev/null; ls core/c && rm core/c"),
            ("move out", "echo x > ui/o; mv ui/o core/o"),
            ("link in", "echo x > core/c 2> /dev/null; ln core/c ui/c && echo x > ui/c"),
            ("the folder away", "mv core gone && mv gone core"),
            ("read outside", "cat ../outside/secret"),
            ("replace the shared file", "echo 3 > Cargo.tmp && mv Cargo.tmp Cargo.lock"),
        ] {
            scene.only_free(&spec, name, script);
        }
    }
}

/// A missing file cannot have a rule, so its parent folder is writable and the import gate covers
/// the rest.
#[test]
fn missing_shared_file_can_be_created() {
    for user in users() {
        let scene = scene(user);
        let spec = spec(&scene, &["ui/", "core/later.lock"]);
        let finished = scene.confined(&spec, "echo 1 > core/tmp && mv core/tmp core/later.lock");
        assert!(finished.success(), "{}", describe(&finished));
        scene.only_free(&spec, "beside both", "echo x > top");
    }
}
