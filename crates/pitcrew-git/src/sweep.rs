//! Removes files that a killed git left in a repository that only Pitcrew writes to.

use crate::{files, holders};
use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// A lock of this age is either abandoned or held by a running git.
const LOCK_AGE_MIN: Duration = Duration::from_secs(2);
/// How long to wait until no git is running there.
const WAIT_MAX: Duration = Duration::from_secs(6);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Files outside `refs` that would block the next git.
const LEFT_OVER: [&str; 7] = [
    "HEAD.lock",
    "config.lock",
    "packed-refs.lock",
    "packed-refs.new",
    "shallow.lock",
    "gc.pid",
    "gc.pid.lock",
];

/// Removes locks and half-written objects. Must be called only when no git of Pitcrew runs there:
/// the caller has locked the journal and ended the processes of an earlier orchestrator. Files that
/// another process has open are kept.
pub(crate) fn sweep(vault: &Path) {
    let mut left: Vec<PathBuf> = LEFT_OVER.iter().map(|it| vault.join(it)).collect();
    let is_lock = |it: &Path| it.extension().is_some_and(|it| it == "lock");
    collect(vault.join("refs"), &is_lock, &mut left);
    collect(vault.join("objects"), &is_half_written, &mut left);
    left.retain(|it| files::is_there(it));
    // Git closes some of these files as soon as it has created them.
    if left.is_empty() || holders::is_git_at_work(vault) {
        return;
    }
    for path in left {
        if holders::who_has_open(&path).is_some() {
            continue;
        }
        // If this fails, the next command that the file blocks reports it.
        if files::is_folder(&path) {
            files::remove_folder(&path).ok();
        } else {
            fs::remove_file(&path).ok();
        }
    }
}

/// Removes an abandoned lock in the vault. Returns whether it is gone.
///
/// Git closes some lock files as soon as it has created them, so any git that runs there may hold
/// it.
#[expect(clippy::disallowed_methods, reason = "there is no event to wait for")]
pub(crate) fn remove_left_lock(vault: &Path, lock: &Path) -> bool {
    let begun = Instant::now();
    while files::is_there(lock) {
        let is_held = || holders::is_git_at_work(vault) || holders::who_has_open(lock).is_some();
        if begun.elapsed() >= LOCK_AGE_MIN && !is_held() {
            return fs::remove_file(lock).is_ok() || !files::is_there(lock);
        }
        if begun.elapsed() >= WAIT_MAX {
            return false;
        }
        thread::sleep(LOOK_AGAIN);
    }
    true
}

/// `tmp_obj_x` and `tmp_pack_x` of a single object or pack, `.tmp-1-pack-x` of a repack,
/// `tmp_objdir-x` and `incoming-x` of a whole folder.
fn is_half_written(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ["tmp_", ".tmp-", "incoming-"].iter().any(|it| name.starts_with(it))
}

fn collect(folder: PathBuf, wanted: &dyn Fn(&Path) -> bool, found: &mut Vec<PathBuf>) {
    // Not recursive, because agents name refs, and each name may have thousands of parts.
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if wanted(&path) {
                found.push(path);
            } else if files::is_folder(&path) {
                folders.push(path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{Lab, make_executable, write};
    use pitcrew_process::{Run, run_trusted};

    /// This git holds `packed-refs.lock` while its hook runs, but has the file open only briefly.
    #[test]
    fn lock_of_a_running_git_is_kept() {
        let lab = Lab::new();
        let vault = lab.vault().layout().vault.clone();
        lab.git_in(&vault, &["update-ref", "refs/pitcrew/x", "refs/heads/main"]);
        lab.git_in(&vault, &["pack-refs", "--all"]);
        let hooks = lab.home().join("hooks");
        let hook = hooks.join("reference-transaction");
        let wait = "touch \"$HOME/waiting\"; while [ -e \"$HOME/waiting\" ]; do sleep 0.02; done";
        write(
            &hook,
            format!("#!/bin/sh\n[ \"$1\" = prepared ] && mkdir \"$HOME/once\" || exit 0\n{wait}\n"),
        );
        make_executable(&hook);
        let (waiting, lock) = (lab.home().join("waiting"), vault.join("packed-refs.lock"));
        thread::scope(|scope| {
            let delete = scope.spawn(|| {
                let run = Run::new("git", &vault)
                    .args(["-c", &format!("core.hooksPath={}", hooks.display())])
                    .args(["update-ref", "-d", "refs/pitcrew/x"])
                    .env("HOME", lab.home());
                run_trusted(run, &lab.cancel).expect("git starts")
            });
            while !waiting.exists() {
                assert!(!delete.is_finished(), "{:?}", delete.join());
                thread::yield_now();
            }
            let (is_locked, is_open) = (lock.exists(), holders::who_has_open(&lock).is_some());
            sweep(&vault);
            let is_swept = !lock.exists();
            let is_removed = remove_left_lock(&vault, &lock);
            let stays = lock.exists();
            fs::remove_file(&waiting).expect("it waits");
            assert!(delete.join().expect("it ends").success());
            assert!(is_locked && !is_open);
            assert!(!is_swept && !is_removed && stays);
        });
        write(&lock, "");
        assert!(remove_left_lock(&vault, &lock), "its holder has ended");
        assert!(!lock.exists());
    }
}
