//! Keeps paths beneath the session's folder, also through links.

use pitcrew_model::RepoPath;
use pitcrew_process::Beneath;
use std::path::Path;

/// Opens the session's folder and resolves a path in it.
///
/// The path need not exist, but its existing part must not lead out of the folder or into a `.git`.
pub(super) fn inside(root: &Path, path: &str) -> Result<(Beneath, RepoPath), String> {
    let outside = |reason: &str| {
        let root = root.display();
        format!("`{path}` cannot be used: {reason}; use a path beneath {root}")
    };
    let beneath = Beneath::open(root).map_err(|_| outside("the session's folder is gone"))?;
    let path = if path.is_empty() { "." } else { path };
    let place = beneath.locate(path).map_err(|it| outside(&it.to_string()))?;
    Ok((beneath, place))
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
        fs::write(root.join("src/a.rs"), "").expect("a file");
        symlink("../secret", root.join("out")).expect("a link");
        symlink("src", root.join("in")).expect("a link");
        let place = |path: &str| Ok::<_, String>(inside(&root, path)?.1.as_str().to_owned());
        for (path, expected) in [
            ("src/a.rs", "src/a.rs"),
            ("src/new/b", "src/new/b"),
            ("in/a.rs", "src/a.rs"),
            ("", ""),
        ] {
            assert_eq!(place(path).as_deref(), Ok(expected), "{path}");
        }
        for path in ["../secret", "/etc/passwd", "out", ".git/config", "a\0b"] {
            let refused = place(path).expect_err(path);
            assert!(refused.contains("cannot be used"), "{refused}");
        }
        let gone = inside(&home.path().join("none"), "a").expect_err("the folder is gone");
        assert!(gone.contains("is gone"), "{gone}");
    }
}
