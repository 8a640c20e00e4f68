//! Real agents: where they are, and how they are told to use a scripted model and a home of their own.

mod scripted;

use scripted::Scripted;
use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// The agents and their versions, which `cargo xtask agents install` installs.
const LIST: &str = include_str!("../agents.txt");

/// An agent that is installed on this machine.
pub struct RealAgent {
    pub name: &'static str,
    pub version: &'static str,
    program: PathBuf,
}

impl RealAgent {
    /// The names of all that can be installed.
    pub fn names() -> Vec<&'static str> {
        listed().map(|it| it[0]).collect()
    }

    /// Finds it where `cargo xtask agents install` puts it; the error says what to do.
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
        let program = folder.join(format!("{name}-{version}")).join(programs).join(program);
        if program.exists() {
            Ok(Self { name, version, program })
        } else {
            let place = program.display();
            Err(format!("{place} is missing: run `cargo xtask agents install {name}`"))
        }
    }

    /// The settings of a backend of this name. Its home is made, and belongs to it alone.
    pub fn settings(&self, home: &Path, model: &str) -> String {
        let Scripted { arguments, variables, files } = Scripted::new(self.name, home, model);
        fs::create_dir_all(home).expect("a folder");
        for (path, text) in files {
            let path = home.join(path);
            fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let place = |name: &str| home.join(name).display().to_string();
        let homes = [
            ("HOME", home.display().to_string()),
            ("XDG_CONFIG_HOME", place(".config")),
            ("XDG_DATA_HOME", place(".local/share")),
            ("XDG_CACHE_HOME", place(".cache")),
            ("XDG_STATE_HOME", place(".local/state")),
        ];
        let mut command = vec![self.program.display().to_string()];
        command.extend(arguments.iter().map(ToString::to_string));
        let mut settings =
            format!("[backends.{0}]\ncommand = {command:?}\n[backends.{0}.env]\n", self.name);
        for (name, value) in homes.into_iter().chain(variables) {
            settings.extend([name, " = ", &format!("{value:?}"), "\n"]);
        }
        settings
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
