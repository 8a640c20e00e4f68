//! The names a plan may use, and what holds where a plan says nothing.

use crate::{backend::known_names, diagnostic::Severity};
use pitcrew_model::{AgentRef, Caps, HouseRules, Reads, RepoPath, limits};
use std::collections::{BTreeMap, BTreeSet};

pub use pitcrew_model::{BACKEND_BUILTIN, BACKEND_COMMAND};

/// The keys at the top of a plan file, in the order of the reference.
pub const PLAN_KEYS: &[&str] = &[
    "name",
    "description",
    "base",
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

/// Words that people use at the top of a plan for something else's name.
pub(super) const PLAN_ALIASES: &[(&str, &str)] = &[
    ("title", "name"),
    ("branch", "base"),
    ("steps", "task"),
    ("retries", "max_attempts"),
    ("deny", "denied"),
];

/// Words that people use in a task for something else's name.
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

/// Paths that every task may change where a plan does not say: manifests and lock files at the root.
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

/// What a plan file may be at most. Far above any plan that was written by hand.
pub(super) const PLAN_FILE_BYTES_MAX: usize = 16 * 1_024 * 1_024;
/// Elements of one list of a plan: checks, paths, criteria.
pub(super) const LIST_ITEMS_MAX: usize = 1_000;

/// What holds where a plan says nothing: it comes from the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanDefaults {
    /// Who does a task that names nobody.
    pub agent: Option<AgentRef>,
    pub attempts_max: u32,
    pub timeout_ms: u64,
    /// What a whole plan may use.
    pub caps: Caps,
    /// What no task of any plan may change.
    pub denied: Vec<RepoPath>,
    /// A plan can only be stricter.
    pub reads: Reads,
    /// The backends that are configured. They tell an agent's name from an ordinary word.
    pub backends: BTreeSet<String>,
    /// The model of the built-in agent. Without one it does scripts and commands only.
    pub model: Option<String>,
    /// What to do where a task names nobody and nobody is there for it. Absent: the usual advice.
    pub nobody: Option<String>,
    /// Backends whose program is not there.
    pub missing: BTreeMap<String, Missing>,
    /// What it is that a task names one of them.
    pub missing_is: Severity,
}

impl PlanDefaults {
    /// What of it holds for a plan that nobody has written down.
    pub fn house_rules(&self) -> HouseRules {
        HouseRules {
            caps: self.caps,
            shared: shared_default(),
            denied: self.denied.clone(),
            reads: self.reads,
        }
    }
}

/// Why a backend cannot be started, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    pub reason: String,
    pub help: String,
}

impl Default for PlanDefaults {
    fn default() -> Self {
        Self {
            agent: None,
            attempts_max: limits::ATTEMPTS_PER_TASK_DEFAULT,
            timeout_ms: limits::TASK_TIMEOUT_MS_DEFAULT,
            caps: Caps::NONE,
            denied: Vec::new(),
            reads: Reads::Guided,
            backends: known_names().map(str::to_owned).collect(),
            model: None,
            nobody: None,
            missing: BTreeMap::new(),
            missing_is: Severity::Error,
        }
    }
}
