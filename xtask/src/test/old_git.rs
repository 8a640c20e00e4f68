//! Runs what depends on git again, with the git that Debian's packages offer.
//!
//! The git that is first on the PATH may be much newer than the one that people have.

use super::{Place, install, parse_git_version};
use crate::program::{Failure, read, run_cargo};
use std::{
    ffi::{OsStr, OsString},
    path::Path,
    time::Instant,
};

/// Where Debian's package puts it.
const FOLDER: &str = "/usr/bin";

/// The part of the suite that relies on what git answers: merging, filling, checking and landing. The rest
/// is about locks, crashes and removal. Then the demo, through the binary. The packages are those of the
/// whole run, so that nothing is compiled again.
const RUNS: &[&[&str]] = &[
    &[
        "test",
        "--workspace",
        "--test",
        "git",
        "--",
        "prepare_plan::",
        "user_snapshot::",
        "checkout::",
        "submodules::",
        "collect::",
        "evil_trees::",
        "pull::",
        "merges::",
        "verify::",
        "land::",
    ],
    &["test", "--workspace", "--test", "cli", "--", "demo::"],
];

pub(super) fn run() -> Result<(), Failure> {
    let packaged = Path::new(FOLDER).join("git");
    if !packaged.exists() && !install("git") {
        let missing = format!("`{}` is not there and cannot be installed", packaged.display());
        println!("WARNING: {missing}");
        return match Place::current() {
            Place::Here => Ok(()),
            Place::Ci => Err(Failure(missing)),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let Some(path) = with_folder_first(FOLDER, &path) else {
        println!("\n== git of the packages: every test ran with it");
        return Ok(());
    };
    let version = read(packaged, &["--version"])?;
    println!("\n== {}", version.trim());
    let (major, minor) = super::GIT_VERSION_MIN;
    if parse_git_version(&version).is_none_or(|it| it < super::GIT_VERSION_MIN) {
        println!("it is older than {major}.{minor} and not tried");
        return Ok(());
    }
    let path = path.to_str().ok_or_else(|| Failure("the PATH is not UTF-8".into()))?;
    let began = Instant::now();
    let results: Vec<_> = RUNS.iter().map(|it| run_cargo(it, &[("PATH", path)])).collect();
    println!("{} took {:.1} s", version.trim(), began.elapsed().as_secs_f64());
    results.into_iter().collect()
}

/// A PATH on which the git of this folder is the first; nothing where it is the first anyway.
fn with_folder_first(folder: &str, path: &OsStr) -> Option<OsString> {
    let real = |it: &Path| it.join("git").canonicalize().ok();
    let first = std::env::split_paths(path).find_map(|it| real(&it));
    if first.is_some() && first == real(Path::new(folder)) {
        return None;
    }
    let folders = [folder.into()].into_iter().chain(std::env::split_paths(path));
    std::env::join_paths(folders).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn the_git_of_the_packages_comes_first_where_another_one_did() {
        let root = std::env::temp_dir().join(format!("pitcrew-old-git-{}", std::process::id()));
        let folder = |name: &str| root.join(name).display().to_string();
        for name in ["own", "packaged", "linked", "empty"] {
            fs::create_dir_all(folder(name)).expect("a folder");
        }
        for name in ["own", "packaged"] {
            fs::write(root.join(name).join("git"), name).expect("a program");
        }
        symlink(root.join("packaged/git"), root.join("linked/git")).expect("a link");
        let packaged = folder("packaged");
        let first = |names: &[&str]| {
            let path = std::env::join_paths(names.iter().map(|it| folder(it))).expect("a PATH");
            with_folder_first(&packaged, &path).map(|it| it.to_string_lossy().into_owned())
        };
        let changed = [folder("packaged"), folder("empty"), folder("own")].join(":");
        assert_eq!(first(&["empty", "own"]), Some(changed));
        assert_eq!(first(&["empty", "packaged", "own"]), None);
        assert_eq!(first(&["linked", "packaged"]), None, "it is the same program");
        fs::remove_dir_all(&root).expect("the folder");
    }
}
