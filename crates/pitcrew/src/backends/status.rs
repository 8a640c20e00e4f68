//! Finds the program and the login of a backend.

use pitcrew_config::{BackendSettings, LoginEvidence, Settings, user_environment};
use pitcrew_process::{FoundProgram, find_program};
use std::{collections::BTreeMap, path::PathBuf};

/// The state of one backend on this machine.
#[derive(Clone, Debug)]
pub struct BackendStatus {
    pub name: String,
    pub backend: BackendSettings,
    pub program: Program,
    pub login: Login,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    Found(FoundProgram),
    /// The vendor's own program is installed, but the adapter that speaks the protocol is not.
    AdapterMissing {
        vendor: PathBuf,
    },
    Missing,
}

/// Whether the user is logged in, as far as it can be detected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    Found(LoginEvidence),
    /// No known place has a login. It may be in a place that cannot be read, such as a keyring.
    NoSign,
    /// The settings of the backend do not say where its login is stored.
    Unknown,
}

impl BackendStatus {
    pub fn found(&self) -> Option<&FoundProgram> {
        match &self.program {
            Program::Found(found) => Some(found),
            Program::AdapterMissing { .. } | Program::Missing => None,
        }
    }

    /// Whether the backend appears to be usable.
    pub fn is_ready(&self) -> bool {
        self.found().is_some() && self.login != Login::NoSign
    }
}

/// Inspects every backend in the settings.
pub fn inspect_backends(settings: &Settings) -> Vec<BackendStatus> {
    let user = user_environment();
    settings.backends.iter().map(|(name, backend)| inspect(name, backend, &user)).collect()
}

fn inspect(
    name: &str,
    backend: &BackendSettings,
    user: &BTreeMap<String, String>,
) -> BackendStatus {
    let program = backend.command.first().map(String::as_str).unwrap_or_default();
    let vendor = || Some(find_program(backend.vendor_program.as_deref()?, user)?.path);
    let program = match (find_program(program, user), vendor) {
        (Some(found), _) => Program::Found(found),
        (None, vendor) => {
            vendor().map_or(Program::Missing, |vendor| Program::AdapterMissing { vendor })
        }
    };
    let is_known = !(backend.login_env.is_empty() && backend.login_files.is_empty());
    let login = match backend.login_evidence(user) {
        Some(found) => Login::Found(found),
        None if is_known => Login::NoSign,
        None => Login::Unknown,
    };
    BackendStatus { name: name.to_owned(), backend: backend.clone(), program, login }
}
