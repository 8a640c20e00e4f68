//! Keeps paths beneath the session's folder, wherever links lead.

use pitcrew_model::RepoPath;
use std::{
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
};

/// The path of a file beneath `root`, relative to it; why it is none.
///
/// It need not exist, but what exists of it must not lead out, nor into a `.git`, at whatever depth.
pub(super) fn inside(root: &Path, path: &str) -> Result<String, String> {
    let outside = |reason: &str| {
        let root = root.display();
        Err(format!("`{path}` cannot be used: {reason}; use a path beneath {root}"))
    };
    let Ok(real_root) = root.canonicalize() else {
        return outside("the session's folder is gone");
    };
    let below = |it: &Path| Some(Path::new(path).strip_prefix(it).ok()?.to_str()?.to_owned());
    let relative = if Path::new(path).is_absolute() {
        match below(root).or_else(|| below(&real_root)) {
            Some(relative) => relative,
            None => return outside("it is outside"),
        }
    } else {
        path.to_owned()
    };
    let relative = if relative.is_empty() { "." } else { &relative };
    let relative = match RepoPath::parse(relative) {
        Ok(relative) => relative,
        Err(reason) => return outside(&reason.to_string()),
    };
    let mut existing: PathBuf = real_root.join(relative.as_str());
    let real = loop {
        match existing.canonicalize() {
            Ok(real) => break real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if existing.symlink_metadata().is_ok() {
                    return outside("it is a link that leads nowhere");
                }
                if !existing.pop() {
                    return outside("nothing of it exists");
                }
            }
            Err(error) => return outside(&error.to_string()),
        }
    };
    match real.strip_prefix(&real_root) {
        Err(_) => outside("it leads outside"),
        Ok(below) if below.iter().any(is_git) => outside("it leads into `.git`"),
        Ok(_) => Ok(relative.as_str().to_owned()),
    }
}

/// In any case of its letters: there are file systems to which it is the same.
fn is_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn no_path_leads_out_of_the_folder() {
        let home = tempfile::tempdir().expect("a folder");
        let root = home.path().join("checkout");
        fs::create_dir_all(root.join("src")).expect("a folder");
        fs::create_dir_all(root.join(".git")).expect("a folder");
        fs::write(root.join("src/a.rs"), "").expect("a file");
        fs::write(home.path().join("secret"), "").expect("a file");
        symlink("../secret", root.join("out")).expect("a link");
        symlink("..", root.join("up")).expect("a link");
        symlink("../nowhere", root.join("hanging")).expect("a link");
        symlink(".git", root.join("git")).expect("a link");
        symlink("src", root.join("in")).expect("a link");
        fs::create_dir_all(root.join("sub/.git/hooks")).expect("a folder");
        symlink("sub/.git", root.join("deep")).expect("a link");
        symlink("../sub/.git/hooks", root.join("src/hooks")).expect("a link");
        let absolute = |path: &str| root.join(path).display().to_string();
        for (path, expected) in [
            ("src/a.rs", "src/a.rs"),
            ("./src//a.rs", "src/a.rs"),
            ("src/new/deep.rs", "src/new/deep.rs"),
            ("in/a.rs", "in/a.rs"),
            (&absolute("src/a.rs"), "src/a.rs"),
            ("", ""),
            (".", ""),
            (&absolute(""), ""),
        ] {
            assert_eq!(inside(&root, path).as_deref(), Ok(expected), "{path}");
        }
        for path in [
            "../secret",
            "src/../../secret",
            "/etc/passwd",
            "out",
            "up/secret",
            "up/new",
            "hanging",
            "hanging/x",
            "git/config",
            ".git/config",
            "deep",
            "deep/config",
            "src/hooks/pre-commit",
            "src/.git/hooks/x",
            "a\0b",
            &absolute("../secret"),
        ] {
            let refused = inside(&root, path).expect_err(path);
            assert!(refused.contains("cannot be used"), "{refused}");
        }
    }
}
