//! The workspace's secret token: created once, readable only by its owner.

use crate::{exit::Exit, report::Report};
use pitcrew_api::Token;
use pitcrew_config::WorkspaceDirs;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

/// Reads the token, if it exists.
pub fn read(dirs: &WorkspaceDirs) -> Result<Option<Token>, Report> {
    let path = dirs.token();
    match read_file(&path) {
        Ok(token) => Ok(Some(token)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", &path, &error)),
    }
}

/// Reads the token, or creates it. The folder must exist.
pub fn read_or_create(dirs: &WorkspaceDirs) -> Result<Token, Report> {
    if let Some(token) = read(dirs)? {
        return Ok(token);
    }
    let path = dirs.token();
    create(&path).map_err(|error| failed("write", &path, &error))?;
    // Another process may have created it first.
    read_file(&path).map_err(|error| failed("read", &path, &error))
}

fn failed(what: &str, path: &Path, error: &io::Error) -> Report {
    let message = format!("failed to {what} the workspace's token at `{}`", path.display());
    Report::new(Exit::Unreachable, message).because(error.to_string())
}

fn read_file(path: &Path) -> io::Result<Token> {
    let mut file = File::open(path)?;
    let found = file.metadata()?;
    if found.mode() & 0o077 != 0 {
        return Err(io::Error::other(
            "other users can read it; delete it, and the next command creates a new one",
        ));
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    text.trim_end().parse().map_err(io::Error::other)
}

/// Creates the file atomically, and never replaces an existing one.
fn create(path: &Path) -> io::Result<()> {
    let mut secret = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut secret)?;
    let draft = path.with_extension(format!("{}.new", std::process::id()));
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    let written = writeln!(file, "{}", Token::from_bytes(secret).reveal());
    let linked = written.and_then(|()| file.sync_all()).and_then(|()| fs::hard_link(&draft, path));
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn dirs(folder: &Path) -> WorkspaceDirs {
        let id = "0123456789abcdef".parse().expect("an id");
        WorkspaceDirs { id, state: folder.to_owned(), runtime: folder.to_owned() }
    }

    #[test]
    fn token_is_created_once_and_private() {
        let folder = tempfile::tempdir().expect("a folder");
        let dirs = dirs(folder.path());
        assert!(read(&dirs).expect("nothing is wrong").is_none());
        let token = read_or_create(&dirs).expect("it is made");
        assert_eq!(read_or_create(&dirs).expect("it is read"), token);
        let mode = fs::metadata(dirs.token()).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "no draft is left");
    }

    #[test]
    fn token_readable_by_others_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let dirs = dirs(folder.path());
        read_or_create(&dirs).expect("it is made");
        fs::set_permissions(dirs.token(), fs::Permissions::from_mode(0o644)).expect("chmod");
        assert!(read(&dirs).is_err());
    }
}
