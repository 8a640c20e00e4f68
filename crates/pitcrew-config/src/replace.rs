//! Replaces files atomically.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown},
    path::{Path, PathBuf},
};

/// Replaces a file and keeps its mode, or creates it with the user's default mode. A symbolic link
/// stays a link.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let Ok(before) = path.metadata() else { return put(&path, bytes, 0o666, |_| Ok(())) };
    put(&path, bytes, 0o600, |new| {
        let own = fs::symlink_metadata(new)?;
        if (own.uid(), own.gid()) != (before.uid(), before.gid()) {
            chown(new, Some(before.uid()), Some(before.gid()))?;
        }
        fs::set_permissions(new, fs::Permissions::from_mode(before.mode() & 0o777))
    })
}

/// The same for a file that only this user can read, whatever its mode was.
pub fn replace_private_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put(path, bytes, 0o600, |_| Ok(()))
}

/// The file is complete at any moment, even after a power failure.
fn put(
    path: &Path,
    bytes: &[u8],
    mode: u32,
    dress: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let new = beside(path);
    // A leftover of a process that was killed.
    fs::remove_file(&new).ok();
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)?;
        file.write_all(bytes)?;
        dress(&new)?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        // Only after this sync does the new file survive a power failure.
        path.parent().map_or(Ok(()), |it| File::open(it)?.sync_all())
    })();
    written.inspect_err(|_| {
        fs::remove_file(&new).ok();
    })
}

/// One name is enough: no two processes replace the same file at the same time.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.pitcrew-new"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o777
    }

    #[test]
    fn replacing_keeps_the_mode_and_the_link() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("real", &link).unwrap();
        replace_file(&link, b"new").unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(mode(&real), 0o640);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "no temporary file is left");
    }

    #[test]
    fn a_new_file_has_the_default_mode_unless_it_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let [made, new, private] = ["made", "new", "private"].map(|it| dir.path().join(it));
        fs::write(&made, "").unwrap();
        replace_file(&new, b"x").unwrap();
        assert_eq!(mode(&new), mode(&made));
        // An incomplete earlier attempt.
        fs::write(beside(&private), "half").unwrap();
        fs::write(&private, "old").unwrap();
        replace_private_file(&private, b"x").unwrap();
        assert_eq!((fs::read(&private).unwrap(), mode(&private)), (b"x".to_vec(), 0o600));
        assert!(replace_file(&dir.path().join("no/folder"), b"x").is_err());
    }
}
