//! What is known about a backend.

use crate::LoginFormat;
use std::{collections::BTreeMap, ffi::OsString, fmt};

/// How an agent is started, kept apart from others, spoken to and understood.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct BackendSettings {
    /// What people call it. Empty: its name says it all.
    pub title: String,
    /// The program and its arguments. Never empty.
    pub command: Vec<String>,
    /// Variables that are set for it.
    pub env: BTreeMap<String, String>,
    /// Variables that are set for it when it runs as root.
    pub root_env: BTreeMap<String, String>,
    /// Variables that it gets from the user's environment, beside those of `login_env` and `proxy_env`.
    pub pass_env: Vec<String>,
    /// One line that installs it.
    pub install: Option<String>,
    /// One line that logs in.
    pub login: Option<String>,
    /// The vendor's own program, where the backend is an adapter to it.
    pub vendor_program: Option<String>,
    /// Arguments that print the version. Absent: the npm package says it, else `--version`.
    pub version_args: Option<Vec<String>>,
    /// Variables of which each means that somebody is logged in.
    pub login_env: Vec<String>,
    /// Files below HOME of which each means that somebody is logged in.
    pub login_files: Vec<String>,
    /// Where in these files it is written when an access token expires, such as `oauth.expires_at`.
    pub login_expires: Vec<String>,
    /// Places in these files that say whose login it is.
    pub login_account: Vec<String>,
    pub login_first: LoginFirst,
    /// Variables that move its state, and the place below HOME that each stands for.
    pub state_env: BTreeMap<String, String>,
    /// Files below HOME with settings that it should find in a state of its own.
    pub state_files: Vec<String>,
    /// Files below HOME that a private state begins with where nothing else brings them, and their text.
    pub state_first: BTreeMap<String, String>,
    /// Files and folders of a repository that configure it, wherever they lie.
    pub config_files: Vec<String>,
    /// The variable by which an adapter is told where the program is that it starts for itself.
    pub inner_env: Option<String>,
    /// Where that program is among the packages that the adapter finds.
    pub inner_programs: Vec<String>,
    /// What the adapter asks that program for, in a process of its own each time, and the answer that does
    /// as well.
    pub inner_answers: BTreeMap<String, String>,
    /// The variable that says where the program unpacks itself.
    pub unpack_to: Option<String>,
    /// Variables with which the program unpacks itself and does nothing else.
    pub unpack_env: BTreeMap<String, String>,
    /// Hosts that it needs.
    pub egress_hosts: Vec<String>,
    /// Variables by which it finds a proxy.
    pub proxy_env: Vec<String>,
    /// How a sandbox of its own works and is switched off. Absent: it has none, and a box holds it to
    /// its zone.
    pub own_sandbox: Option<String>,
    /// The session mode that is set before the first prompt.
    pub mode: Option<String>,
    /// The model that is set before the first prompt. Absent: the agent's own choice.
    pub model: Option<String>,
    /// The id or the category of the session's option for the model.
    pub model_option: Option<String>,
    pub resume: Resume,
    pub mcp: McpServers,
    pub files: FileAccess,
    pub usage: UsageScope,
    /// The method that it tells the totals of a session by, where it has one of its own.
    pub usage_method: Option<String>,
    pub cost: CostTold,
    /// How its words for trouble are understood; the first that fits holds.
    pub errors: Vec<ErrorRule>,
    /// How a line of its error output is known that says what it waits out by itself.
    pub log_errors: Vec<ErrorRule>,
    /// What each line of its error output has that tells of its turns. Absent: all of them may.
    pub log_turn: Option<String>,
    /// What people should know about it.
    pub quirks: Vec<String>,
}

/// What it uses where both a variable and a file hold a login.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoginFirst {
    #[default]
    File,
    Variable,
}

/// How a session of an earlier process is taken up again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resume {
    /// `session/load`, which tells the whole conversation again.
    Load,
    /// `session/resume`.
    Resume,
    #[default]
    None,
}

/// How it gets at the MCP server that a session is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum McpServers {
    /// It starts it.
    #[default]
    Stdio,
    /// Over HTTP on the loopback, where it says that it can; else it starts it.
    Http,
    /// It starts none, or hides their tools: it completes with `pitcrew tool`.
    None,
}

/// Whose file system it works with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileAccess {
    /// It opens files itself.
    #[default]
    Own,
    /// It reads and writes through us, so that its zone holds at once.
    Client,
}

/// What the tokens are the sum of that an agent tells at the end of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UsageScope {
    #[default]
    Turn,
    /// All turns so far.
    Session,
    /// The last call of the model only.
    Call,
}

/// Whether it says what its work costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CostTold {
    Told,
    /// Of the models that it knows.
    Partly,
    #[default]
    None,
}

/// How trouble is recognised, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorRule {
    pub says: ErrorSays,
    pub kind: ErrorKind,
}

/// A number is never looked for in a text: agents write about line 500 all day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorSays {
    /// The code of the JSON-RPC error.
    Code(i64),
    /// A part of the message, in any case. Of a turn that ended well it is how a line of the last
    /// message begins, letter by letter; a single word is a mark that the agent sets.
    Text(String),
}

impl ErrorSays {
    pub(super) fn parse(text: String) -> Self {
        text.trim().parse().map_or(Self::Text(text), Self::Code)
    }
}

impl fmt::Display for ErrorSays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "{code}"),
            Self::Text(text) => write!(f, "{text:?}"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Nobody is logged in, or the key is refused.
    Auth,
    /// A limit of the provider is reached.
    Quota,
    /// The model failed.
    Model,
}

impl BackendSettings {
    /// A program about which nothing else is known.
    pub fn of_command(command: Vec<String>) -> Self {
        Self { command, ..Self::default() }
    }

    /// The title, or the name where there is none.
    pub fn title_or<'a>(&'a self, name: &'a str) -> &'a str {
        if self.title.is_empty() { name } else { &self.title }
    }

    /// What kind of trouble an error of this code and message is; none where no rule fits.
    pub fn error_kind(&self, code: Option<i64>, message: &str) -> Option<ErrorKind> {
        let message = message.to_lowercase();
        let fits = |it: &&ErrorRule| match &it.says {
            ErrorSays::Code(wanted) => code == Some(*wanted),
            ErrorSays::Text(part) => message.contains(&part.to_lowercase()),
        };
        self.errors.iter().find(fits).map(|it| it.kind)
    }

    /// The variables that it is started with, on top of the usual ones; `user` is the user's environment.
    ///
    /// What the backend sets wins over what is passed on; a value of `""` takes a variable away.
    pub fn environment(
        &self,
        user: &BTreeMap<String, String>,
        is_root: bool,
    ) -> BTreeMap<String, String> {
        let names = [&self.pass_env, &self.login_env, &self.proxy_env].into_iter().flatten();
        let names = names.chain(self.state_env.keys());
        let passed = names.filter_map(|it| Some((it.clone(), user.get(it)?.clone())));
        let root = self.root_env.iter().filter(|_| is_root);
        let set = self.env.iter().chain(root).map(|(name, value)| (name.clone(), value.clone()));
        passed.chain(set).filter(|(_, value)| !value.is_empty()).collect()
    }

    /// Where its credential files say what.
    pub fn login_format(&self) -> LoginFormat {
        LoginFormat { expires: self.login_expires.clone(), account: self.login_account.clone() }
    }

    /// The same, for the user who runs this process.
    pub fn environment_here(&self) -> BTreeMap<String, String> {
        self.environment(&user_environment(), rustix::process::geteuid().is_root())
    }
}

/// The environment of this process. What is not text is no key and no address, and left out.
pub fn user_environment() -> BTreeMap<String, String> {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

// The values of `env` may be keys to a paid service, and `Debug` ends up in logs.
impl fmt::Debug for BackendSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackendSettings")
            .field("command", &self.command)
            .field("env", &self.env.keys())
            .field("mode", &self.mode)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
