//! The keys of a backend, and common synonyms for them.

use super::value::{
    CostReporting, ErrorKind, FileAccess, LoginFirst, McpServers, Resume, UsageScope,
};

/// The keys of a backend, in the order of the reference.
pub const BACKEND_KEYS: &[&str] = &[
    "title",
    "command",
    "env",
    "root_env",
    "pass_env",
    "install",
    "login",
    "vendor_program",
    "version_args",
    "login_env",
    "login_files",
    "login_expires",
    "login_account",
    "login_first",
    "state_env",
    "state_files",
    "state_first",
    "config_files",
    "inner_env",
    "inner_programs",
    "inner_answers",
    "unpack_to",
    "unpack_env",
    "egress_hosts",
    "proxy_env",
    "own_sandbox",
    "mode",
    "model",
    "model_option",
    "resume",
    "mcp",
    "files",
    "usage",
    "usage_method",
    "cost",
    "errors",
    "log_errors",
    "log_turn",
    "quirks",
];

pub(super) const BACKEND_ALIASES: &[(&str, &str)] = &[
    ("environment", "env"),
    ("program", "command"),
    ("cmd", "command"),
    ("name", "title"),
    ("permission_mode", "mode"),
    ("hosts", "egress_hosts"),
    ("state_dirs", "state_env"),
    ("sandbox", "own_sandbox"),
    ("error", "errors"),
    ("fs", "files"),
];

pub(super) const ERROR_KEYS: &[&str] = &["says", "kind"];

pub(super) const LOGINS: &[(&str, LoginFirst)] =
    &[("file", LoginFirst::File), ("variable", LoginFirst::Variable)];

pub(super) const RESUMES: &[(&str, Resume)] =
    &[("load", Resume::Load), ("resume", Resume::Resume), ("none", Resume::None)];

pub(super) const SERVERS: &[(&str, McpServers)] =
    &[("stdio", McpServers::Stdio), ("http", McpServers::Http), ("none", McpServers::None)];

pub(super) const FILES: &[(&str, FileAccess)] =
    &[("own", FileAccess::Own), ("client", FileAccess::Client)];

pub(super) const USAGES: &[(&str, UsageScope)] =
    &[("turn", UsageScope::Turn), ("session", UsageScope::Session), ("call", UsageScope::Call)];

pub(super) const COSTS: &[(&str, CostReporting)] = &[
    ("told", CostReporting::Full),
    ("partly", CostReporting::Partly),
    ("none", CostReporting::None),
];

pub(super) const KINDS: &[(&str, ErrorKind)] = &[
    ("auth", ErrorKind::Auth),
    ("quota", ErrorKind::Quota),
    ("unreachable", ErrorKind::Unreachable),
    ("model", ErrorKind::Model),
];
