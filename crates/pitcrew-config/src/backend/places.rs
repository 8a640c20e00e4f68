//! Where the files of a backend are in a user's home.

use super::{BackendSettings, LoginFirst};
use crate::Credential;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// A file with a login or with settings: where the user has it, and its place in a private state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginFile {
    /// Where the user's own is.
    pub source: PathBuf,
    /// Its place below a private folder that stands for the home.
    pub below: PathBuf,
}

/// How we know that somebody is logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginFound {
    /// A variable is set.
    Variable(String),
    /// A file is there.
    File(PathBuf),
}

impl BackendSettings {
    /// The files of which each means that somebody is logged in.
    pub fn login_places(&self, user: &BTreeMap<String, String>) -> Vec<LoginFile> {
        self.places(&self.login_files, user)
    }

    /// The files with credentials that a private state should have: none where a key is used anyway.
    /// One that is a file with settings as well is treated as such.
    pub fn credential_places(&self, user: &BTreeMap<String, String>) -> Vec<LoginFile> {
        let has_key = matches!(self.login_found(user), Some(LoginFound::Variable(_)));
        match self.login_first {
            LoginFirst::Variable if has_key => Vec::new(),
            LoginFirst::Variable | LoginFirst::File => {
                let files = self.login_files.iter().filter(|it| !self.state_files.contains(it));
                self.places(&files.cloned().collect::<Vec<_>>(), user)
            }
        }
    }

    /// The files with settings that a private state should have.
    pub fn state_places(&self, user: &BTreeMap<String, String>) -> Vec<LoginFile> {
        self.places(&self.state_files, user)
    }

    /// Files of other programs that this backend's variables move as well.
    pub fn moved_places(&self, paths: &[&str], user: &BTreeMap<String, String>) -> Vec<LoginFile> {
        let is_moved = |path: &&&str| {
            let folders = self.state_env.values();
            folders.into_iter().any(|it| it == "." || Path::new(path).starts_with(it))
        };
        let moved: Vec<String> = paths.iter().filter(is_moved).map(ToString::to_string).collect();
        self.places(&moved, user)
    }

    /// Where the variables of `state_env` point in a private folder that stands for the home.
    pub fn private_state(&self, folder: &Path) -> BTreeMap<String, PathBuf> {
        let place = |path: &str| if path == "." { folder.to_owned() } else { folder.join(path) };
        self.state_env.iter().map(|(name, path)| (name.clone(), place(path))).collect()
    }

    /// The first sign of a login. None: nobody is logged in, or it is kept where we cannot look.
    pub fn login_found(&self, user: &BTreeMap<String, String>) -> Option<LoginFound> {
        let is_set = |name: &&String| {
            let value = self.env.get(*name).or_else(|| user.get(*name));
            value.is_some_and(|it| !it.is_empty())
        };
        if let Some(name) = self.login_env.iter().find(is_set) {
            return Some(LoginFound::Variable(name.clone()));
        }
        // What an agent leaves when somebody logs out is a file as well.
        let is_login = |it: &PathBuf| {
            let bytes = std::fs::read(it).unwrap_or_default();
            Credential::read(&bytes, &self.login_format()).is_some()
        };
        let files = self.login_places(user).into_iter().map(|it| it.source);
        files.into_iter().find(is_login).map(LoginFound::File)
    }

    /// A user who moved the agent's folder with its own variable has the files there.
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
