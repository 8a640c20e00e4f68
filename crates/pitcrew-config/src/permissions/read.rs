//! Reads permissions files. Everything else about permissions is pure.

use super::PermissionEntries;
use crate::dirs::Dirs;
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// The permissions file of a repository.
const WORKSPACE_FILE: &str = ".github/agents/orchestrator/permissions.md";
const FILE_BYTES_MAX: u64 = 256 * 1_024;

/// All inputs of `Permissions::load`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PermissionSources {
    pub workspace: Option<PermissionText>,
    pub user: Option<PermissionText>,
    /// `[permissions]` of the user's settings.
    pub settings: PermissionEntries,
}

/// A file that exists: its text, or why it cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionText {
    /// Its name in messages.
    pub file: String,
    pub text: Result<String, String>,
}

/// The paths of a repository's and a user's permissions files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionPaths {
    pub workspace: PathBuf,
    pub user: PathBuf,
}

impl PermissionPaths {
    pub fn new(dirs: &Dirs, root: &Path) -> Self {
        Self { workspace: root.join(WORKSPACE_FILE), user: dirs.config.join("permissions.md") }
    }
}

/// Reads the files that exist. `Permissions` reports problems with them.
pub fn read_permissions(
    dirs: &Dirs,
    root: &Path,
    settings: &PermissionEntries,
) -> PermissionSources {
    let paths = PermissionPaths::new(dirs, root);
    PermissionSources {
        workspace: read(&paths.workspace, WORKSPACE_FILE.to_owned()),
        user: read(&paths.user, paths.user.display().to_string()),
        settings: settings.clone(),
    }
}

fn read(path: &Path, file: String) -> Option<PermissionText> {
    match read_text(path) {
        Ok(text) => Some(PermissionText { file, text: Ok(text) }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(PermissionText { file, text: Err(error.to_string()) }),
    }
}

fn read_text(path: &Path) -> io::Result<String> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("it has more than {FILE_BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8"))
}
