//! The keys of a plan, and the defaults for missing ones.

use crate::{backend::known_names, diagnostic::Severity};
use pitcrew_model::{AgentRef, Caps, Crew, HouseRules, Reads, RepoPath, limits};
use std::collections::BTreeSet;

pub use pitcrew_model::{BACKEND_BUILTIN, BACKEND_COMMAND};

/// The keys at the top of a plan file, in the order of the reference.
pub const PLAN_KEYS: &[&str] = &[
    "name",
    "description",
    "base",
    "include",
    "deploy",
    "overlap",
    "effort",
    "shared",
    "denied",
    "reads",
    "setup",
    "setup_inputs",
    "max_attempts",
    "timeout",
    "max_tokens",
    "max_cost",
    "task",
];

/// The keys of a `[[task]]`, in the order of the reference.
pub const TASK_KEYS: &[&str] = &[
    "id",
    "prompt",
    "region",
    "depends_on",
    "agent",
    "backend",
    "model",
    "command",
    "script",
    "checks",
    "expected_files",
    "criteria",
    "max_attempts",
    "timeout",
    "max_tokens",
    "max_cost",
];

/// Common synonyms for the keys at the top of a plan.
pub(super) const PLAN_ALIASES: &[(&str, &str)] = &[
    ("title", "name"),
    ("branch", "base"),
    ("steps", "task"),
    ("retries", "max_attempts"),
    ("deny", "denied"),
];

/// Common synonyms for the keys of a task.
pub(super) const TASK_ALIASES: &[(&str, &str)] = &[
    ("name", "id"),
    ("key", "id"),
    ("description", "prompt"),
    ("needs", "depends_on"),
    ("after", "depends_on"),
    ("requires", "depends_on"),
    ("dependencies", "depends_on"),
    ("paths", "region"),
    ("files", "region"),
    ("scope", "region"),
    ("run", "command"),
    ("shell", "command"),
    ("cmd", "command"),
    ("tests", "checks"),
    ("retries", "max_attempts"),
    ("attempts", "max_attempts"),
];

/// Paths that every task may change unless the plan sets others: manifests and lock files at the
/// root.
pub const SHARED_DEFAULT: &[&str] = &[
    "Cargo.toml",
    "Cargo.lock",
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "deno.json",
    "deno.lock",
    "go.mod",
    "go.sum",
    "go.work",
    "go.work.sum",
    "pyproject.toml",
    "requirements.txt",
    "poetry.lock",
    "uv.lock",
    "Pipfile",
    "Pipfile.lock",
    "Gemfile",
    "Gemfile.lock",
    "composer.json",
    "composer.lock",
    "mix.exs",
    "mix.lock",
    "pubspec.yaml",
    "pubspec.lock",
    "Package.swift",
    "Package.resolved",
    "flake.lock",
];

pub(super) fn shared_default() -> Vec<RepoPath> {
    let parse = |it: &&str| RepoPath::parse(it).expect("the default shared paths are plain names");
    SHARED_DEFAULT.iter().map(parse).collect()
}

/// The largest plan file. Far above any plan that was written by hand.
pub(super) const PLAN_FILE_BYTES_MAX: usize = 16 * 1_024 * 1_024;
/// Elements of one list of a plan: checks, paths, criteria.
pub(super) const LIST_ITEMS_MAX: usize = 1_000;

/// The values for keys that a plan leaves out, from the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanDefaults {
    /// The agent of a task that names none. Set by a plan, not by the settings.
    pub agent: Option<AgentRef>,
    /// Who can do tasks. Tasks that none of them can do are problems; the orchestrator resolves
    /// the names. Absent: names are not checked.
    pub crew: Option<Crew>,
    pub attempts_max: u32,
    pub timeout_ms: u64,
    /// The spending caps of a whole plan.
    pub caps: Caps,
    /// The paths that no task of any plan may change.
    pub denied: Vec<RepoPath>,
    /// A plan can only be stricter.
    pub reads: Reads,
    /// The configured backends. They distinguish an agent's name from an ordinary word.
    pub backends: BTreeSet<String>,
    /// The help for a task without an agent. If absent, the usual advice.
    pub no_agent_help: Option<String>,
    /// Whether it is an error that the program of a task's agent is not installed.
    pub missing_is: Severity,
}

impl PlanDefaults {
    /// The values that apply to a plan without a plan file.
    pub fn house_rules(&self) -> HouseRules {
        HouseRules {
            caps: self.caps,
            shared: shared_default(),
            denied: self.denied.clone(),
            reads: self.reads,
        }
    }
}

impl Default for PlanDefaults {
    fn default() -> Self {
        Self {
            agent: None,
            crew: None,
            attempts_max: limits::ATTEMPTS_PER_TASK_DEFAULT,
            timeout_ms: limits::TASK_TIMEOUT_MS_DEFAULT,
            caps: Caps::NONE,
            denied: Vec::new(),
            reads: Reads::Guided,
            backends: known_names().map(str::to_owned).collect(),
            no_agent_help: None,
            missing_is: Severity::Error,
        }
    }
}
