//! Real agents: where they are, and how they are told to use a scripted model and a home of their own.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// The agents and their versions, which `cargo xtask agents install` installs.
const LIST: &str = include_str!("../agents.txt");

/// An agent that is installed on this machine.
pub struct RealAgent {
    name: String,
    program: PathBuf,
}

impl RealAgent {
    /// Finds it where `cargo xtask agents install` puts it; the error says what to do.
    pub fn find(name: &str) -> Result<Self, String> {
        let mut lines = LIST.lines().map(|it| it.split_whitespace().collect::<Vec<_>>());
        let line = lines.find(|it| it.first() == Some(&name)).unwrap_or_default();
        let [_, _, version, program, ..] = line[..] else {
            return Err(format!("the list of agents has no `{name}`"));
        };
        let folder = folder().ok_or("neither PITCREW_AGENTS nor HOME is set")?;
        let program = folder.join(format!("{name}-{version}/node_modules/.bin")).join(program);
        if program.exists() {
            Ok(Self { name: name.to_owned(), program })
        } else {
            let place = program.display();
            Err(format!("{place} is missing: run `cargo xtask agents install {name}`"))
        }
    }

    /// The settings of a backend of this name. Its home is made, and belongs to it alone.
    pub fn settings(&self, home: &Path, model: &str) -> String {
        fs::create_dir_all(home).expect("a folder");
        let (arguments, variables) = self.command(model);
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

    /// Its arguments, and the variables that send it to the model and keep it quiet otherwise.
    fn command(&self, model: &str) -> (&'static [&'static str], Vec<(&'static str, String)>) {
        let set = |pairs: &[(&'static str, &str)]| {
            pairs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
        };
        match self.name.as_str() {
            "goose" => (
                &["acp"],
                set(&[
                    ("GOOSE_PROVIDER", "openai"),
                    ("GOOSE_MODEL", "scripted"),
                    ("GOOSE_MODE", "approve"),
                    ("GOOSE_DISABLE_KEYRING", "1"),
                    ("GOOSE_TELEMETRY_ENABLED", "false"),
                    ("OPENAI_HOST", model),
                    ("OPENAI_API_KEY", "none"),
                ]),
            ),
            "claude" => (
                &[],
                set(&[
                    ("ANTHROPIC_BASE_URL", model),
                    ("ANTHROPIC_API_KEY", "none"),
                    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                    ("DISABLE_AUTOUPDATER", "1"),
                    ("DISABLE_ERROR_REPORTING", "1"),
                    ("DISABLE_TELEMETRY", "1"),
                    // Tools are offered at once, instead of behind a search.
                    ("ENABLE_TOOL_SEARCH", "false"),
                    // It refuses to work as root unless told that nothing can be harmed.
                    ("IS_SANDBOX", "1"),
                ]),
            ),
            name => panic!("nothing is known of how {name} is started"),
        }
    }
}

fn folder() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let cache = || set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    set("PITCREW_AGENTS").or_else(|| Some(cache()?.join("pitcrew/agents")))
}
