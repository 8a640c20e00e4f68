//! Sweeps away what a killed git left in a repository that only we write to.

use crate::{files, holders};
use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// A lock that is there for so long is nobody's, or somebody has it open.
const LOCK_AGE_MIN: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Beside `refs`, what the next git would stumble over.
const LEFT_OVER: [&str; 7] = [
    "HEAD.lock",
    "config.lock",
    "packed-refs.lock",
    "packed-refs.new",
    "shallow.lock",
    "gc.pid",
    "gc.pid.lock",
];

/// Removes locks and half-written objects. To be called when no git of ours runs there: the
/// journal is locked by us, and whoever was left behind was ended. Somebody else's are left alone
/// as long as they are in use.
pub(crate) fn sweep(vault: &Path) {
    let mut left: Vec<PathBuf> = LEFT_OVER.iter().map(|it| vault.join(it)).collect();
    let is_lock = |it: &Path| it.extension().is_some_and(|it| it == "lock");
    collect(&vault.join("refs"), &is_lock, &mut left);
    collect(&vault.join("objects"), &is_half_written, &mut left);
    left.retain(|it| files::is_there(it));
    for path in left {
        if holders::who_has_open(&path).is_some() {
            continue;
        }
        // What stays is reported by whoever is blocked by it.
        if files::is_folder(&path) {
            files::remove_folder(&path).ok();
        } else {
            fs::remove_file(&path).ok();
        }
    }
}

/// Removes a lock in the vault that nobody works behind; whether it is gone. A git that is at work
/// has it open, but for the moment in which it puts the new file in the place of the old one.
#[expect(clippy::disallowed_methods, reason = "nobody tells when a file is removed")]
pub(crate) fn remove_left_lock(lock: &Path) -> bool {
    let until = Instant::now() + LOCK_AGE_MIN;
    while files::is_there(lock) {
        if Instant::now() >= until && holders::who_has_open(lock).is_none() {
            return fs::remove_file(lock).is_ok() || !files::is_there(lock);
        }
        if Instant::now() >= until + LOCK_AGE_MIN {
            return false;
        }
        thread::sleep(LOOK_AGAIN);
    }
    true
}

/// `tmp_obj_x` and `tmp_pack_x` of one object or pack, `.tmp-1-pack-x` of a repacking,
/// `tmp_objdir-x` and `incoming-x` of a whole folder.
fn is_half_written(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ["tmp_", ".tmp-", "incoming-"].iter().any(|it| name.starts_with(it))
}

fn collect(folder: &Path, wanted: &dyn Fn(&Path) -> bool, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if wanted(&path) {
            found.push(path);
        } else if files::is_folder(&path) {
            collect(&path, wanted, found);
        }
    }
}
