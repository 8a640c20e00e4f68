//! Real agents: where they are installed, and how a sandbox uses them.

mod scripted;

use crate::Sandbox;
use scripted::Scripted;
use std::{env, fs, path::PathBuf};

/// The agents and versions that `cargo xtask agents install` installs.
const LIST: &str = include_str!("../agents.txt");

/// An agent that is installed on this machine.
pub struct RealAgent {
    pub name: &'static str,
    pub version: &'static str,
    /// The path of its program.
    folder: PathBuf,
}

impl RealAgent {
    /// The names of all agents in the list.
    pub fn names() -> Vec<&'static str> {
        listed().map(|it| it[0]).collect()
    }

    /// Finds an agent installed by `cargo xtask agents install`; the error explains how to install
    /// it.
    pub fn find(name: &str) -> Result<Self, String> {
        let line = listed().find(|it| it[0] == name).unwrap_or_default();
        let [name, package, version, program, ..] = line[..] else {
            return Err(format!("the list of agents has no `{name}`"));
        };
        let programs = match package.split_once(':') {
            Some(_) => "venv/bin",
            None => "node_modules/.bin",
        };
        let folder = folder().ok_or("neither PITCREW_AGENTS nor HOME is set")?;
        let folder = folder.join(format!("{name}-{version}")).join(programs);
        if folder.join(program).exists() {
            Ok(Self { name, version, folder })
        } else {
            let place = folder.join(program).display().to_string();
            Err(format!("{place} is missing: run `cargo xtask agents install {name}`"))
        }
    }

    /// Makes it available in the sandbox, and points it to the model at `url`.
    pub fn join(&self, sandbox: &mut Sandbox, url: &str) {
        let Scripted { variables, files } = Scripted::new(self.name, url);
        for (path, text) in files {
            let path = sandbox.home().join(path);
            fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        for (name, value) in variables {
            sandbox.set(name, &value);
        }
        sandbox.add_to_path(&self.folder);
    }
}

fn listed() -> impl Iterator<Item = Vec<&'static str>> {
    let lines = LIST.lines().filter(|it| !it.starts_with('#'));
    lines.map(|it| it.split_whitespace().collect::<Vec<_>>()).filter(|it| !it.is_empty())
}

fn folder() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let cache = || set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    set("PITCREW_AGENTS").or_else(|| Some(cache()?.join("pitcrew/agents")))
}
