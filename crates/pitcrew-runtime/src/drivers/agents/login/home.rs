//! The private home of one agent, removed with it.
//!
//! A home has the layout of the user's home, and contains only what the agent needs.

use super::{
    files,
    record::{Copied, Record},
    sync,
};
use crate::secrets::without_secrets;
use pitcrew_process::remove_tree;
use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// The largest number of copied settings files and folders, and their total size.
const SETTINGS_COUNT_MAX: usize = 2_000;
const SETTINGS_BYTES_MAX: u64 = 64 * 1_024 * 1_024;
/// The largest settings file.
const SETTING_BYTES_MAX: u64 = 4 * 1_024 * 1_024;
/// The deepest settings folder.
const DEPTH_MAX: usize = 8;

/// Tools that keep programs or downloads in the home, which builds need, with the variable that
/// sets their folder.
const TOOLS: &[(&str, &str)] = &[
    ("CARGO_HOME", ".cargo"),
    ("RUSTUP_HOME", ".rustup"),
    ("GOPATH", "go"),
    ("GRADLE_USER_HOME", ".gradle"),
    ("npm_config_cache", ".npm"),
    ("NVM_DIR", ".nvm"),
    ("VOLTA_HOME", ".volta"),
    ("BUN_INSTALL", ".bun"),
    ("PYENV_ROOT", ".pyenv"),
    ("ASDF_DATA_DIR", ".asdf"),
    ("MISE_DATA_DIR", ".local/share/mise"),
    ("UV_CACHE_DIR", ".cache/uv"),
    ("UV_PYTHON_INSTALL_DIR", ".local/share/uv/python"),
    ("PIP_CACHE_DIR", ".cache/pip"),
    ("GOCACHE", ".cache/go-build"),
    ("PRE_COMMIT_HOME", ".cache/pre-commit"),
    ("PLAYWRIGHT_BROWSERS_PATH", ".cache/ms-playwright"),
    ("DENO_DIR", ".cache/deno"),
];

/// Tool settings that every agent uses. They are copied without secrets, because agents often
/// change them; a backend names the logins that it needs.
pub const TOOL_SETTINGS: &[&str] =
    &[".config/git/ignore", ".config/git/attributes", ".npmrc", ".config/pip/pip.conf"];

/// The contents of a private home.
pub struct Plan {
    pub record: Record,
    /// Settings of tools: the user's path and the path in the home.
    pub tools: Vec<(PathBuf, PathBuf)>,
    /// Settings of the agent: the user's path and the path in the home.
    pub settings: Vec<(PathBuf, PathBuf)>,
    /// Folders that must exist.
    pub folders: Vec<PathBuf>,
    /// Initial files, with their text, unless the settings contain them.
    pub first: Vec<(PathBuf, String)>,
}

/// Creates the home. An incomplete one is created again.
pub fn make(plan: Plan, now_ms: u64) -> io::Result<Record> {
    let Plan { mut record, tools, settings, folders, first } = plan;
    remove_tree(&record.home)?;
    files::private_folder(&record.home)?;
    for folder in &folders {
        files::private_folder(folder)?;
    }
    for (user, own) in &tools {
        copy_tool_settings(user, own)?;
    }
    let mut left = Left::default();
    for (user, own) in &settings {
        copy_settings(user, own, DEPTH_MAX, &mut left)?;
    }
    for (own, text) in first.iter().filter(|it| !it.0.exists()) {
        own.parent().map_or(Ok(()), files::private_folder)?;
        fs::write(own, text)?;
        let mode = if text.starts_with("#!") { 0o700 } else { 0o600 };
        fs::set_permissions(own, fs::Permissions::from_mode(mode))?;
    }
    for index in 0..record.copies.len() {
        let Copied { user, copy, .. } = &record.copies[index];
        record.copies[index].from = sync::put(user, copy, &record, now_ms)?;
    }
    Ok(record)
}

/// The remaining limits for copying.
struct Left {
    count: usize,
    bytes: u64,
}

impl Default for Left {
    fn default() -> Self {
        Self { count: SETTINGS_COUNT_MAX, bytes: SETTINGS_BYTES_MAX }
    }
}

/// Copies a file if it exists.
fn copy_tool_settings(user: &Path, own: &Path) -> io::Result<()> {
    let Some(user) = files::UserFile::open(user) else { return Ok(()) };
    let text = String::from_utf8_lossy(&user.content.bytes);
    files::write_private(own, without_secrets(&text).as_bytes())
}

/// Copies a file or a folder if it exists. Entries that are too large, too deep or of another type
/// are left out.
fn copy_settings(user: &Path, own: &Path, depth: usize, left: &mut Left) -> io::Result<()> {
    // Follows links: settings are often stored elsewhere.
    let Ok(found) = fs::metadata(user) else { return Ok(()) };
    if left.count == 0 || depth == 0 {
        return Ok(());
    }
    left.count -= 1;
    if found.is_dir() {
        files::private_folder(own)?;
        for entry in fs::read_dir(user).into_iter().flatten().flatten() {
            copy_settings(&entry.path(), &own.join(entry.file_name()), depth - 1, left)?;
        }
    } else if found.is_file() && found.len() <= SETTING_BYTES_MAX.min(left.bytes) {
        left.bytes -= found.len();
        own.parent().map_or(Ok(()), files::private_folder)?;
        // A file that cannot be read is treated as missing.
        if fs::copy(user, own).is_ok() {
            // A hook stays executable; only the user can read it.
            let mode = 0o600 | (found.permissions().mode() & 0o100);
            fs::set_permissions(own, fs::Permissions::from_mode(mode))?;
        }
    }
    Ok(())
}

/// The folders where the user's tools keep programs and downloads.
pub fn tool_folders(user: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let home = user.get("HOME").map(PathBuf::from);
    let place = |it: &(&str, &str)| {
        let own = user.get(it.0).map(PathBuf::from).filter(|it| it.is_absolute());
        own.or_else(|| home.as_ref().map(|home| home.join(it.1)))
    };
    TOOLS.iter().filter_map(place).filter(|it| it.is_dir()).collect()
}

/// The variables that point tools to the user's folders, unless the user has set them.
pub fn tool_variables(user: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let Some(home) = user.get("HOME").map(PathBuf::from) else { return Vec::new() };
    let is_there = |it: &&(&str, &str)| !user.contains_key(it.0) && home.join(it.1).is_dir();
    let place = |it: &(&str, &str)| (it.0.to_owned(), home.join(it.1).display().to_string());
    TOOLS.iter().filter(is_there).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_config::LoginFormat;

    #[test]
    fn copied_settings_are_private() {
        let dir = tempfile::tempdir().unwrap();
        let (user, own) = (dir.path().join("user"), dir.path().join("own"));
        fs::create_dir_all(user.join("hooks/deep")).unwrap();
        fs::write(user.join("settings.json"), "{}").unwrap();
        fs::write(user.join("hooks/deep/run.sh"), "true").unwrap();
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(user.join("hooks/deep/run.sh"), executable).unwrap();
        std::os::unix::fs::symlink("..", user.join("hooks/loop")).unwrap();
        let mut left = Left::default();
        copy_settings(&user, &own, DEPTH_MAX, &mut left).unwrap();
        copy_settings(&user.join("none"), &own.join("none"), DEPTH_MAX, &mut left).unwrap();
        assert_eq!(fs::read(own.join("settings.json")).unwrap(), b"{}");
        let mode = |path: &str| own.join(path).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("settings.json"), mode("hooks/deep/run.sh")), (0o600, 0o700));
        assert!(!own.join("none").exists() && left.count > 0);
        let (none, mut left) = (dir.path().join("small"), Left { count: 9, bytes: 5 });
        copy_settings(&user, &none, DEPTH_MAX, &mut left).unwrap();
        assert!(left.bytes < 5, "files within the limit are copied");
        let mut left = Left { count: 9, bytes: 1 };
        copy_settings(&user.join("settings.json"), &none.join("more"), 1, &mut left).unwrap();
        assert!(!none.join("more").exists() && left.bytes == 1);
    }

    #[test]
    fn a_home_has_the_backends_initial_files_unless_the_user_has_them() {
        let dir = tempfile::tempdir().unwrap();
        let (user, home) = (dir.path().join("user"), dir.path().join("home"));
        fs::create_dir(&user).unwrap();
        fs::write(user.join("own.json"), "the user's").unwrap();
        let record = Record {
            backend: "mine".into(),
            sooner_ms: 0,
            format: LoginFormat::default(),
            copies: Vec::new(),
            home: home.clone(),
        };
        let settings = vec![(user.join("own.json"), home.join(".mine/own.json"))];
        let first = ["own.json", "deep/state.json"];
        let first = first.map(|it| (home.join(".mine").join(it), "first".to_owned())).to_vec();
        make(Plan { record, tools: Vec::new(), settings, folders: Vec::new(), first }, 0).unwrap();
        assert_eq!(fs::read(home.join(".mine/own.json")).unwrap(), b"the user's");
        let made = home.join(".mine/deep/state.json");
        assert_eq!(fs::read(&made).unwrap(), b"first");
        assert_eq!(made.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn an_agent_gets_the_users_registries_without_tokens() {
        let dir = tempfile::tempdir().unwrap();
        let [user, own] = ["user", "own/.npmrc"].map(|it| dir.path().join(it));
        fs::write(&user, "registry=https://npm.example/\n//npm.example/:_authToken=hidden\n")
            .unwrap();
        copy_tool_settings(&user, &own).unwrap();
        copy_tool_settings(&dir.path().join("none"), &dir.path().join("own/none")).unwrap();
        assert_eq!(fs::read_to_string(&own).unwrap(), "registry=https://npm.example/\n");
        assert_eq!(own.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!dir.path().join("own/none").exists());
    }

    #[test]
    fn tools_use_the_users_existing_folders() {
        let dir = tempfile::tempdir().unwrap();
        for folder in [".cargo", ".rustup"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        let home = dir.path().display().to_string();
        let user = [("HOME", &*home), ("RUSTUP_HOME", "/opt/rustup")];
        let user = user.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let variables = tool_variables(&user.into());
        assert_eq!(variables, [("CARGO_HOME".to_owned(), format!("{home}/.cargo"))]);
    }
}
