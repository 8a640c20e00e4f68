//! Finds the program and the login of a backend.

use pitcrew_config::{BackendSettings, LoginEvidence, Settings, user_environment};
use pitcrew_process::{FoundProgram, find_program};
use std::{collections::BTreeMap, path::PathBuf};

/// What was seen of one backend.
#[derive(Clone, Debug)]
pub struct Looked {
    pub name: String,
    pub backend: BackendSettings,
    pub program: Program,
    pub login: Login,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    Found(FoundProgram),
    /// The vendor's own program is there, and the adapter that speaks the protocol is not.
    AdapterMissing {
        vendor: PathBuf,
    },
    Missing,
}

/// Whether somebody is logged in, as far as it can be seen from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    Found(LoginEvidence),
    /// Nothing of what is known for this backend. It may be kept where nobody can look.
    NoSign,
    /// Nothing is known about where this backend keeps it.
    Unknown,
}

impl Looked {
    pub fn found(&self) -> Option<&FoundProgram> {
        match &self.program {
            Program::Found(found) => Some(found),
            Program::AdapterMissing { .. } | Program::Missing => None,
        }
    }

    /// It can be given work, as far as can be seen.
    pub fn is_ready(&self) -> bool {
        self.found().is_some() && self.login != Login::NoSign
    }
}

/// Looks for every backend of the settings.
pub fn look(settings: &Settings) -> Vec<Looked> {
    let user = user_environment();
    settings.backends.iter().map(|(name, backend)| look_at(name, backend, &user)).collect()
}

fn look_at(name: &str, backend: &BackendSettings, user: &BTreeMap<String, String>) -> Looked {
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
    Looked { name: name.to_owned(), backend: backend.clone(), program, login }
}
