//! A program that cannot be confined completely is not run.

use crate::scene::{Scene, describe, users};
use pitcrew_process::CONFINE_FAILED;

#[test]
fn program_is_not_run_if_a_layer_cannot_be_applied() {
    for user in users() {
        let scene = Scene::new(user);
        let spec = scene.spec();
        // The kernel supports at most sixteen nested layers.
        let words: Vec<String> = (0..17).flat_map(|_| scene.launch(&spec)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (first, rest) = words.split_at(4);
        assert_eq!(first[1], "confine");
        let argv = [rest, &["touch", "ran"]].concat();
        let finished = scene.confined_program(&spec, &argv);
        assert_eq!(finished.code, Some(i32::from(CONFINE_FAILED)), "{}", describe(&finished));
        let said = String::from_utf8_lossy(&finished.stderr);
        assert!(said.starts_with("pitcrew confine: cannot apply Landlock: "), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(!scene.path("checkout/ran").exists());
    }
}

#[test]
fn program_is_not_run_with_an_invalid_specification() {
    let scene = Scene::new(crate::scene::User::Current);
    let [launcher, word, spec, dashes] = scene.launch(&scene.spec());
    for wrong in ["", "{}", &spec.replace("Unboxed", "Free"), &spec[..spec.len() - 1]] {
        let words = [launcher.clone(), word.clone(), wrong.to_owned(), dashes.clone()];
        let run = scene.run(&words).args(["touch", "ran"]);
        let finished = pitcrew_process::run_confined(
            &pitcrew_process::Policy::unconfined(),
            run,
            &pitcrew_process::Cancel::default(),
        );
        let finished = finished.unwrap();
        assert_eq!(finished.code, Some(i32::from(CONFINE_FAILED)), "{}", describe(&finished));
        assert!(!scene.path("checkout/ran").exists());
    }
}

#[test]
fn program_is_not_run_without_its_folders() {
    let scene = Scene::new(crate::scene::User::Current);
    let mut spec = scene.spec();
    spec.folders = vec![scene.path("checkout/own/folder")];
    let finished = scene.confined(&spec, "touch ran");
    assert_eq!(finished.code, Some(i32::from(CONFINE_FAILED)), "{}", describe(&finished));
    assert!(!scene.path("checkout/ran").exists());
}

#[test]
fn missing_program_differs_from_one_that_may_not_run() {
    let scene = Scene::new(crate::scene::User::Current);
    let spec = scene.spec();
    assert_eq!(scene.confined_program(&spec, &["no-such-program"]).code, Some(127));
    let outside = scene.path("outside/run");
    std::fs::copy("/bin/true", &outside).unwrap();
    let finished = scene.confined_program(&spec, &[outside.to_str().unwrap()]);
    assert_eq!(finished.code, Some(126), "{}", describe(&finished));
}
