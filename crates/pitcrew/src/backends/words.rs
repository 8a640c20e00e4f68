//! What people are told about an agent that is there, or is not.

use super::{Login, Looked, Program};
use pitcrew_config::{LoginEvidence, printable};
use std::path::Path;

impl Looked {
    /// Where it is, or that it is not there.
    pub fn place(&self) -> String {
        match &self.program {
            Program::Found(found) => short(&found.path),
            Program::AdapterMissing { .. } => "only the vendor's program".into(),
            Program::Missing => "not found".into(),
        }
    }

    /// How it is known that somebody is logged in.
    pub fn login_words(&self) -> String {
        match &self.login {
            Login::Found(LoginEvidence::Variable(name)) => format!("{name} is set"),
            Login::Found(LoginEvidence::File(path)) => short(path),
            Login::NoSign => "no sign of it".into(),
            Login::Unknown => "unknown".into(),
        }
    }

    /// Why it cannot be started, and what to do. None: its program is there.
    pub fn missing(&self) -> Option<(String, String)> {
        let program = self.backend.command.first().map(String::as_str).unwrap_or_default();
        let install = self.backend.install.as_deref();
        let help = install.map_or_else(
            || format!("install `{program}`, or correct the `command` of the backend"),
            |it| format!("install it: {it}"),
        );
        match &self.program {
            Program::Found(_) => None,
            Program::AdapterMissing { vendor } => {
                let vendor = short(vendor);
                let reason = format!(
                    "you have `{vendor}`, but not its adapter `{program}`, which speaks the protocol"
                );
                Some((reason, help))
            }
            Program::Missing => {
                let where_not = if program.contains('/') {
                    "is no program that you may execute"
                } else {
                    "is neither on your PATH nor where npm and others install"
                };
                Some((format!("`{program}` {where_not}"), help))
            }
        }
    }

    /// What to do to log in.
    pub fn login_help(&self) -> String {
        match &self.backend.login {
            Some(login) => format!("log in: {login}"),
            None => {
                format!("log in to {} as its documentation says", self.backend.title_or(&self.name))
            }
        }
    }
}

/// A path as people write it: below their home with a `~`.
fn short(path: &Path) -> String {
    let home = std::env::var_os("HOME").filter(|it| !it.is_empty());
    let below = home.as_ref().and_then(|home| path.strip_prefix(home).ok());
    printable(&below.map_or_else(|| path.display().to_string(), |it| format!("~/{}", it.display())))
}
