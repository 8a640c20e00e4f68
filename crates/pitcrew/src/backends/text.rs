//! Texts about an agent: location, login and what is missing.

use super::{BackendStatus, Login, Program};
use pitcrew_config::{LoginEvidence, printable};
use std::path::Path;

impl BackendStatus {
    /// The location of the program, or that it was not found.
    pub fn place(&self) -> String {
        match &self.program {
            Program::Found(found) => short(&found.path),
            Program::AdapterMissing { .. } => "adapter not found".into(),
            Program::Missing => "not found".into(),
        }
    }

    /// How the login was detected.
    pub fn login_text(&self) -> String {
        match &self.login {
            Login::Found(LoginEvidence::Variable(name)) => format!("{name} is set"),
            Login::Found(LoginEvidence::File(path)) => short(path),
            Login::NoSign => "not found".into(),
            Login::Unknown => "unknown".into(),
        }
    }

    /// Why the agent cannot be started, and how to fix it. `None` if its program exists.
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
                let reason =
                    format!("`{vendor}` is installed, but its ACP adapter `{program}` is not");
                Some((reason, help))
            }
            Program::Missing => {
                let where_not = if program.contains('/') {
                    "is not an executable file"
                } else {
                    "was not found on your PATH or in the folders of npm and other installers"
                };
                Some((format!("`{program}` {where_not}"), help))
            }
        }
    }

    /// How to log in.
    pub fn login_help(&self) -> String {
        match &self.backend.login {
            Some(login) => format!("log in: {login}"),
            None => {
                format!("log in to {}; see its documentation", self.backend.title_or(&self.name))
            }
        }
    }
}

/// A path with `~` for the home folder.
fn short(path: &Path) -> String {
    let home = std::env::var_os("HOME").filter(|it| !it.is_empty());
    let below = home.as_ref().and_then(|home| path.strip_prefix(home).ok());
    printable(&below.map_or_else(|| path.display().to_string(), |it| format!("~/{}", it.display())))
}
