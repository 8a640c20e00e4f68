//! Sweeps away what a killed git left in a repository that only we write to.

use crate::{files, holders};
use std::{
    fs,
    path::{Path, PathBuf},
};

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
