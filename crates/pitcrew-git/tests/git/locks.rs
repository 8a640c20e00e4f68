//! A lock of a git that has ended is removed only if it belongs to Pitcrew.

use crate::lab::{Lab, land_order, make_executable, write};
use pitcrew_git::Vault;
use pitcrew_model::{CommitId, LandedAt, PlanBase};
use pitcrew_process::{Run, run_trusted};
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
};

struct Scene {
    lab: Lab,
    vault: Vault,
    base: PlanBase,
    head: CommitId,
}

impl Scene {
    fn new() -> Self {
        let lab = Lab::new();
        let vault = lab.vault();
        let base = lab.plan(&vault);
        let head = lab.integrate(&vault, 1, &base.start, |path| write(&path.join("core/a"), "a\n"));
        Self { lab, vault, base, head }
    }

    fn lock(&self) -> PathBuf {
        self.lab.user.join(".git/index.lock")
    }

    /// Writes the note of an interrupted change.
    fn note(&self, pid: u32, started: u64, locks: &[&Path]) {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let note = json!({
            "pid": pid, "started": started, "boot": boot.trim_end(),
            "root": self.lab.user, "git_dir": self.lab.user.join(".git"), "locks": locks,
        });
        let place = self.vault.layout().vault.join("pitcrew/underway/7-0.json");
        write(&place, note.to_string());
    }

    fn land(&self) -> LandedAt {
        let vault = self.lab.vault();
        let order = land_order(&self.base, &self.head);
        vault.land(&order, &self.lab.policy, &self.lab.cancel).expect("landed").at
    }

    #[track_caller]
    fn assert_aside(&self, words: &str) {
        match self.land() {
            LandedAt::Side { reason, .. } => assert!(reason.contains(words), "{reason}"),
            LandedAt::Base { .. } => panic!("it was landed over a lock"),
        }
        assert!(self.lock().exists(), "the lock of another program stays");
    }
}

fn start_of(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse().unwrap()
}

#[test]
fn lock_of_our_ended_git_is_removed() {
    let scene = Scene::new();
    fs::write(scene.lock(), "").unwrap();
    // This process is running, but it did not start at the recorded time.
    scene.note(std::process::id(), start_of(std::process::id()) + 1, &[&scene.lock()]);
    assert_eq!(scene.land(), LandedAt::Base { branch: "main".into() });
    assert!(!scene.lock().exists());
    let notes = fs::read_dir(scene.vault.layout().vault.join("pitcrew/underway")).unwrap();
    assert_eq!(notes.count(), 0, "a note is gone with its change");
}

#[test]
fn lock_without_a_note_is_kept() {
    let scene = Scene::new();
    fs::write(scene.lock(), "").unwrap();
    scene.note(1, 0, &[&scene.lab.user.join(".git/HEAD.lock")]);
    let named = format!("`{}` is there", scene.lock().display());
    scene.assert_aside(&named);
    scene.assert_aside("remove it, then try again");
}

#[test]
fn open_lock_is_kept_and_its_holder_is_named() {
    let scene = Scene::new();
    let held = fs::File::create(scene.lock()).unwrap();
    scene.note(1, 0, &[&scene.lock()]);
    scene.assert_aside(&format!("is held by process {}", std::process::id()));
    drop(held);
}

/// `git commit` holds the index without having it open while the person writes the message.
#[test]
fn lock_that_the_users_git_may_hold_is_kept() {
    let scene = Scene::new();
    let lab = &scene.lab;
    let waiting = lab.home().join("waiting");
    let editor = lab.home().join("editor");
    let steps = "touch \"$HOME/waiting\"; while [ -e \"$HOME/waiting\" ]; do sleep 0.02; done";
    write(&editor, format!("#!/bin/sh\n{steps}\nexit 1\n"));
    make_executable(&editor);
    lab.write("core/lib.rs", "changed\n");
    std::thread::scope(|scope| {
        let commit = scope.spawn(|| {
            let run = Run::new("git", &lab.user)
                .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
                .args(["commit", "--quiet", "--all"])
                .env("HOME", lab.home())
                .env("GIT_EDITOR", &editor);
            run_trusted(run, &lab.cancel).unwrap()
        });
        while !waiting.exists() {
            assert!(!commit.is_finished(), "{:?}", commit.join());
            std::thread::yield_now();
        }
        assert!(scene.lock().exists());
        scene.note(1, 0, &[&scene.lock()]);
        drop(lab.vault());
        let stays = scene.lock().exists();
        fs::remove_file(&waiting).unwrap();
        commit.join().unwrap();
        assert!(stays, "it is held by a git that is alive");
    });
}

#[test]
fn change_in_progress_keeps_its_lock() {
    let scene = Scene::new();
    fs::write(scene.lock(), "").unwrap();
    scene.note(std::process::id(), start_of(std::process::id()), &[&scene.lock()]);
    scene.assert_aside("index.lock");
}

#[test]
fn files_of_a_killed_git_are_swept_from_the_vault() {
    let scene = Scene::new();
    let vault = scene.vault.layout().vault.clone();
    let left = [
        "HEAD.lock",
        "packed-refs.lock",
        "gc.pid",
        "refs/pitcrew/saved/attempt-1.lock",
        "objects/tmp_objdir-incoming-1/pack/x",
        "objects/pack/tmp_pack_1",
        "objects/pack/.tmp-1-pack-2.pack",
        "objects/ab/tmp_obj_1",
    ];
    for path in left {
        write(&vault.join(path), "");
    }
    let held = fs::File::create(vault.join("shallow.lock")).unwrap();
    drop(scene.lab.vault());
    for path in left {
        assert!(!vault.join(path).exists(), "{path}");
    }
    assert!(!vault.join("objects/tmp_objdir-incoming-1").exists());
    assert!(vault.join("shallow.lock").exists(), "a process has it open");
    drop(held);
    scene.lab.vault_git(&scene.vault, &["fsck", "--strict", "--no-dangling"]);
}
