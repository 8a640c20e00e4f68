//! Where a backend's files are in the user's home.

use super::{BackendSettings, LoginFirst};
use crate::Credential;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// A file with a login or settings: where the user keeps it, and its path in a private home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginFile {
    /// The path of the user's own file.
    pub source: PathBuf,
    /// The path below a private folder that replaces the home.
    pub below: PathBuf,
}

/// Evidence that the user is logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginEvidence {
    /// This variable is set.
    Variable(String),
    /// This file exists.
    File(PathBuf),
}

impl BackendSettings {
    /// The files each of which proves a login.
    pub fn login_places(&self, user: &BTreeMap<String, String>) -> Vec<LoginFile> {
        self.places(&self.login_files, user)
    }

    /// The credential files that a private home should contain. Empty if an API key takes
    /// precedence. A credential file that also holds settings is included.
    pub fn credential_places(&self, user: &BTreeMap<String, String>) -> Vec<LoginFile> {
        let has_key = matches!(self.login_evidence(user), Some(LoginEvidence::Variable(_)));
        match self.login_first {
            LoginFirst::Variable if has_key => Vec::new(),
            LoginFirst::Variable | LoginFirst::File => {
                let files = self.login_files.iter().filter(|it| !self.state_files.contains(it));
                self.places(&files.cloned().collect::<Vec<_>>(), user)
            }
        }
    }

    /// The settings files that a private home should contain.
    pub fn state_places(&self, user: &BTreeMap<String, String>) -> Vec<LoginFile> {
        self.places(&self.state_files, user)
    }

    /// Files of other programs that this backend's variables also relocate.
    pub fn moved_places(&self, paths: &[&str], user: &BTreeMap<String, String>) -> Vec<LoginFile> {
        let is_moved = |path: &&&str| {
            let folders = self.state_env.values();
            folders.into_iter().any(|it| it == "." || Path::new(path).starts_with(it))
        };
        let moved: Vec<String> = paths.iter().filter(is_moved).map(ToString::to_string).collect();
        self.places(&moved, user)
    }

    /// The values of the `state_env` variables for a private folder that replaces the home.
    pub fn private_state(&self, folder: &Path) -> BTreeMap<String, PathBuf> {
        let place = |path: &str| if path == "." { folder.to_owned() } else { folder.join(path) };
        self.state_env.iter().map(|(name, path)| (name.clone(), place(path))).collect()
    }

    /// The first evidence of a login. `None` means that there is no login, or that it is stored
    /// where we cannot look.
    pub fn login_evidence(&self, user: &BTreeMap<String, String>) -> Option<LoginEvidence> {
        let is_set = |name: &&String| {
            let value = self.env.get(*name).or_else(|| user.get(*name));
            value.is_some_and(|it| !it.is_empty())
        };
        if let Some(name) = self.login_env.iter().find(is_set) {
            return Some(LoginEvidence::Variable(name.clone()));
        }
        // Some agents leave the file behind after a logout.
        let is_login = |it: &PathBuf| {
            let bytes = std::fs::read(it).unwrap_or_default();
            Credential::read(&bytes, &self.login_format()).is_some()
        };
        let files = self.login_places(user).into_iter().map(|it| it.source);
        files.into_iter().find(is_login).map(LoginEvidence::File)
    }

    /// If the user relocated the agent's folder with the agent's own variable, the files are there.
    fn places(&self, paths: &[String], user: &BTreeMap<String, String>) -> Vec<LoginFile> {
        let value = |name: &str| {
            let value = self.env.get(name).or_else(|| user.get(name))?;
            Some(PathBuf::from(value)).filter(|it| it.is_absolute())
        };
        let Some(home) = value("HOME") else { return Vec::new() };
        let source = |path: &str| {
            let moved = self.state_env.iter().filter_map(|(name, stands_for)| {
                let rest = match stands_for.as_str() {
                    "." => path,
                    folder => path.strip_prefix(folder)?.strip_prefix('/')?,
                };
                Some((stands_for.len(), value(name)?.join(rest)))
            });
            moved.max_by_key(|(length, _)| *length).map_or_else(|| home.join(path), |it| it.1)
        };
        let file = |path: &String| LoginFile { source: source(path), below: path.into() };
        paths.iter().map(file).collect()
    }
}
