//! The settings of a backend.

use crate::LoginFormat;
use std::{collections::BTreeMap, ffi::OsString, fmt};

/// How to start an agent, isolate it, talk to it and interpret its errors.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct BackendSettings {
    /// The display name. If empty, the backend's name is used.
    pub title: String,
    /// The program and its arguments. Never empty.
    pub command: Vec<String>,
    /// Variables set for it.
    pub env: BTreeMap<String, String>,
    /// Variables set for it when it runs as root.
    pub root_env: BTreeMap<String, String>,
    /// Variables that it inherits from the user's environment, in addition to `login_env` and
    /// `proxy_env`.
    pub pass_env: Vec<String>,
    /// A one-line command that installs it.
    pub install: Option<String>,
    /// A one-line command that logs in.
    pub login: Option<String>,
    /// The vendor's own program, if the backend is an adapter for it.
    pub vendor_program: Option<String>,
    /// Arguments that print the version. If absent, the version comes from the npm package, else
    /// from `--version`.
    pub version_args: Option<Vec<String>>,
    /// Variables each of which proves a login.
    pub login_env: Vec<String>,
    /// Files below HOME each of which proves a login.
    pub login_files: Vec<String>,
    /// The path in these files to the expiry time of an access token, such as `oauth.expires_at`.
    pub login_expires: Vec<String>,
    /// The paths in these files that identify the account.
    pub login_account: Vec<String>,
    pub login_first: LoginFirst,
    /// Variables that relocate its state, and the path below HOME that each replaces.
    pub state_env: BTreeMap<String, String>,
    /// Settings files below HOME that it should find in a private state folder.
    pub state_files: Vec<String>,
    /// Files below HOME, with their text, that a private state starts with unless something else
    /// provides them.
    pub state_first: BTreeMap<String, String>,
    /// Files and folders of a repository that configure it, at any depth.
    pub config_files: Vec<String>,
    /// The variable that gives an adapter the path of the program it starts.
    pub inner_env: Option<String>,
    /// The path of that program among the packages that the adapter finds.
    pub inner_programs: Vec<String>,
    /// Queries that the adapter runs in a separate process each time, and the prepared answer to
    /// each.
    pub inner_answers: BTreeMap<String, String>,
    /// The variable that names the folder where the program unpacks itself.
    pub unpack_to: Option<String>,
    /// Variables that make the program unpack itself and do nothing else.
    pub unpack_env: BTreeMap<String, String>,
    /// Hosts that it needs to reach.
    pub egress_hosts: Vec<String>,
    /// Variables that set its proxy.
    pub proxy_env: Vec<String>,
    /// How its own sandbox works and is switched off. If absent, it has none and our sandbox
    /// enforces its zone.
    pub own_sandbox: Option<String>,
    /// The session mode to set before the first prompt.
    pub mode: Option<String>,
    /// The model to set before the first prompt. If absent, the agent chooses.
    pub model: Option<String>,
    /// The id or the category of the session option that selects the model.
    pub model_option: Option<String>,
    pub resume: Resume,
    pub mcp: McpServers,
    pub files: FileAccess,
    pub usage: UsageScope,
    /// The vendor-specific method that reports the totals of a session, if there is one.
    pub usage_method: Option<String>,
    pub cost: CostReporting,
    /// Rules that classify its error messages. The first match applies.
    pub errors: Vec<ErrorRule>,
    /// The text that marks a stderr line about a wait that the agent handles itself.
    pub log_errors: Vec<ErrorRule>,
    /// The text that each stderr line about a turn contains. If absent, any line may be about a
    /// turn.
    pub log_turn: Option<String>,
    /// Notes for people.
    pub quirks: Vec<String>,
}

/// Which login it uses if both a variable and a file provide one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoginFirst {
    #[default]
    File,
    Variable,
}

/// How to resume a session of an earlier process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resume {
    /// `session/load`, which replays the whole conversation.
    Load,
    /// `session/resume`.
    Resume,
    #[default]
    None,
}

/// How it connects to the MCP server of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum McpServers {
    /// It starts the server itself.
    #[default]
    Stdio,
    /// Over HTTP on the loopback if it supports that; otherwise it starts the server.
    Http,
    /// It starts no server, or hides the server's tools. It completes tasks with `pitcrew tool`.
    None,
}

/// Who opens files for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileAccess {
    /// It opens files itself.
    #[default]
    Own,
    /// It reads and writes through us, so that its zone is enforced immediately.
    Client,
}

/// What the token counts at the end of a turn cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UsageScope {
    #[default]
    Turn,
    /// All turns so far.
    Session,
    /// The last model call only.
    Call,
}

/// Whether it reports its cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CostReporting {
    Full,
    /// For the models that it knows.
    Partly,
    #[default]
    None,
}

/// How to recognize an error, and its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorRule {
    pub says: ErrorPattern,
    pub kind: ErrorKind,
}

/// A number never matches text: agents often write about line 500.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorPattern {
    /// The code of the JSON-RPC error.
    Code(i64),
    /// A part of the message, ignoring case. After a turn that ended well, the start of a line of
    /// the last message, matching case; a single word is a marker that the agent sets.
    Text(String),
}

impl ErrorPattern {
    pub(super) fn parse(text: String) -> Self {
        text.trim().parse().map_or(Self::Text(text), Self::Code)
    }
}

impl fmt::Display for ErrorPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "{code}"),
            Self::Text(text) => write!(f, "{text:?}"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// There is no login, or the provider rejected the key.
    Auth,
    /// A limit of the provider was reached.
    Quota,
    /// The provider cannot be reached.
    Unreachable,
    /// The model failed.
    Model,
}

impl BackendSettings {
    /// A program that we know nothing else about.
    pub fn of_command(command: Vec<String>) -> Self {
        Self { command, ..Self::default() }
    }

    /// The title, or `name` if there is none.
    pub fn title_or<'a>(&'a self, name: &'a str) -> &'a str {
        if self.title.is_empty() { name } else { &self.title }
    }

    /// The kind of an error with this code and message, or `None` if no rule matches.
    pub fn error_kind(&self, code: Option<i64>, message: &str) -> Option<ErrorKind> {
        let message = message.to_lowercase();
        let fits = |it: &&ErrorRule| match &it.says {
            ErrorPattern::Code(wanted) => code == Some(*wanted),
            ErrorPattern::Text(part) => message.contains(&part.to_lowercase()),
        };
        self.errors.iter().find(fits).map(|it| it.kind)
    }

    /// The variables to start it with, in addition to the usual ones. `user` is the user's
    /// environment.
    ///
    /// The backend's own values override inherited ones. The value `""` removes a variable.
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

    /// The layout of its credential files.
    pub fn login_format(&self) -> LoginFormat {
        LoginFormat { expires: self.login_expires.clone(), account: self.login_account.clone() }
    }

    /// The same, using the environment of this process.
    pub fn environment_here(&self) -> BTreeMap<String, String> {
        self.environment(&user_environment(), rustix::process::geteuid().is_root())
    }
}

/// The environment of this process. Values that are not UTF-8 cannot be keys or addresses and are
/// left out.
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
