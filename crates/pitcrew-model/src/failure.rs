//! Why an attempt did not succeed: typed, so that it can be decided on and told.

use crate::{Spending, TaskId, Timestamp, text};
use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;
use serde::{Deserialize, Serialize};

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Success,
    Partial,
    Failed,
    Timeout,
    Cancelled,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Success => "success",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
        })
    }
}

/// Why an attempt did not succeed. `Display` is one line; `detail` is what the next prompt tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Failure {
    /// The checkout could not be made, or is gone.
    Checkout {
        message: String,
    },
    /// A setup command failed in the fresh checkout.
    Setup {
        command: String,
        code: Option<i32>,
        output: String,
    },
    /// The backend is not configured, or its program does not exist or cannot be started.
    AgentMissing {
        program: String,
        message: String,
    },
    /// The agent does not offer the model that it is to work with.
    ModelMissing {
        agent: String,
        message: String,
    },
    /// The agent's process ended before its turn did.
    AgentExited {
        exit: String,
        output: String,
    },
    /// What the agent sent is not the protocol, or it refused a step of it.
    Protocol {
        message: String,
    },
    /// The agent is not logged in, or its key is refused. A person has to see to it.
    Auth {
        message: String,
    },
    /// A limit of the agent's provider.
    Quota {
        until: Option<Timestamp>,
        message: String,
    },
    /// A limit of the agent's provider that was waited for long enough. A person has to see to it.
    LimitStays {
        backend: String,
        waits_count: u32,
        waited_ms: u64,
        message: String,
    },
    /// The agent's model could not or would not answer.
    Model {
        message: String,
    },
    /// A person did not grant more than the cap.
    Budget(Spending),
    /// Two turns ended without a word of completion.
    NoCompletion,
    /// The agent says that it failed.
    GaveUp {
        summary: String,
    },
    Timeout {
        after_ms: u64,
    },
    /// The work touches what it must not.
    Gate {
        refusals: Vec<Refusal>,
        refusals_count: u64,
    },
    /// Files that had to be touched were not.
    ExpectedFiles {
        missing: Vec<String>,
    },
    Checks {
        failed: Vec<CheckFailure>,
    },
    /// The work does not merge with what was integrated meanwhile.
    Conflict {
        paths: Vec<String>,
        with: Vec<TaskId>,
    },
    /// The orchestrator or the machine went down under the agent. Not the agent's fault.
    Interrupted,
    Cancelled {
        by: String,
    },
    /// The disk has less room than the floor.
    DiskLow {
        path: String,
        free_bytes: u64,
    },
    /// A git step of ours failed.
    Git {
        message: String,
    },
    /// The machine does not offer the confinement that is wanted, or nobody agreed to less.
    Sandbox {
        message: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckFailure {
    pub command: String,
    /// Absent: killed at the time-out.
    pub code: Option<i32>,
    /// The end of its output.
    pub output: String,
    /// It failed on the base too, before any task.
    pub red_on_base: bool,
}

/// One path that the import gate did not let in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub path: String,
    pub kind: RefusalKind,
    /// Which rule says so, and how to allow the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

impl Refusal {
    pub fn new(path: impl Into<String>, kind: RefusalKind) -> Self {
        Self { path: path.into(), kind, rule: None }
    }

    /// The rule in brackets, where one is known.
    fn why(&self) -> String {
        self.rule.as_ref().map(|it| alloc::format!(" ({it})")).unwrap_or_default()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    OutsideZone,
    GitDir,
    SymlinkLeaves,
    Gitlink,
    TooLarge,
    TooMany,
    /// A file that makes others execute: attributes, CI, agent configuration, hooks.
    Executes,
    /// A name that is not portable: not UTF-8, control characters, `..`.
    BadName,
    BadMode,
    /// A path that no task of the plan may change.
    Denied,
    /// Whoever changed it is there to find something out.
    OnlyReads,
}

impl fmt::Display for RefusalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutsideZone => "outside the zone",
            Self::GitDir => "inside a .git folder",
            Self::SymlinkLeaves => "a symbolic link that leaves the repository",
            Self::Gitlink => "a nested repository",
            Self::TooLarge => "too large",
            Self::TooMany => "too many changed files",
            Self::Executes => "a file that makes others execute code",
            Self::BadName => "not a portable file name",
            Self::BadMode => "an unknown file mode",
            Self::Denied => "in a path that no task may change",
            Self::OnlyReads => "changed by a sub-task that only reads and may change nothing",
        })
    }
}

impl Failure {
    /// Another attempt may do better without anybody changing anything.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::AgentMissing { .. }
            | Self::ModelMissing { .. }
            | Self::Auth { .. }
            | Self::LimitStays { .. }
            | Self::Budget(_)
            | Self::Cancelled { .. }
            | Self::DiskLow { .. }
            | Self::Sandbox { .. } => false,
            Self::Checkout { .. }
            | Self::Setup { .. }
            | Self::AgentExited { .. }
            | Self::Protocol { .. }
            | Self::Quota { .. }
            | Self::Model { .. }
            | Self::NoCompletion
            | Self::GaveUp { .. }
            | Self::Timeout { .. }
            | Self::Gate { .. }
            | Self::ExpectedFiles { .. }
            | Self::Checks { .. }
            | Self::Conflict { .. }
            | Self::Interrupted
            | Self::Git { .. } => true,
        }
    }

    /// The next attempt starts from the integration head, not from this attempt's work.
    pub fn wants_fresh_start(&self) -> bool {
        matches!(self, Self::Conflict { .. } | Self::Gate { .. })
    }

    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Timeout { .. } => Outcome::Timeout,
            Self::Cancelled { .. } => Outcome::Cancelled,
            Self::Checkout { .. }
            | Self::Setup { .. }
            | Self::AgentMissing { .. }
            | Self::ModelMissing { .. }
            | Self::AgentExited { .. }
            | Self::Protocol { .. }
            | Self::Auth { .. }
            | Self::Quota { .. }
            | Self::LimitStays { .. }
            | Self::Model { .. }
            | Self::Budget(_)
            | Self::NoCompletion
            | Self::GaveUp { .. }
            | Self::Gate { .. }
            | Self::ExpectedFiles { .. }
            | Self::Checks { .. }
            | Self::Conflict { .. }
            | Self::Interrupted
            | Self::DiskLow { .. }
            | Self::Git { .. }
            | Self::Sandbox { .. } => Outcome::Failed,
        }
    }

    /// Output that belongs to the failure, to be shown below it.
    pub fn detail(&self) -> String {
        match self {
            Self::Setup { output, .. } | Self::AgentExited { output, .. } => output.clone(),
            Self::Checks { failed } => {
                let parts: Vec<String> = failed
                    .iter()
                    .map(|it| alloc::format!("$ {}\n{}", it.command, it.output.trim_end()))
                    .collect();
                parts.join("\n\n")
            }
            Self::Gate { refusals, .. } => {
                let parts: Vec<String> = refusals
                    .iter()
                    .map(|it| alloc::format!("{}: {}{}", it.path, it.kind, it.why()))
                    .collect();
                parts.join("\n")
            }
            Self::Checkout { .. }
            | Self::AgentMissing { .. }
            | Self::ModelMissing { .. }
            | Self::Protocol { .. }
            | Self::Auth { .. }
            | Self::Quota { .. }
            | Self::LimitStays { .. }
            | Self::Model { .. }
            | Self::Budget(_)
            | Self::NoCompletion
            | Self::GaveUp { .. }
            | Self::Timeout { .. }
            | Self::ExpectedFiles { .. }
            | Self::Conflict { .. }
            | Self::Interrupted
            | Self::Cancelled { .. }
            | Self::DiskLow { .. }
            | Self::Git { .. }
            | Self::Sandbox { .. } => String::new(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checkout { message } => write!(f, "the checkout cannot be used: {message}"),
            Self::Setup { command, code, .. } => {
                write!(f, "setup `{command}` {}", ended(*code))
            }
            Self::AgentMissing { program, message } => {
                write!(f, "agent `{program}` cannot be started: {message}")
            }
            Self::ModelMissing { agent, message } => write!(f, "{agent}: {message}"),
            Self::AgentExited { exit, output } => {
                write!(f, "the agent ended before its turn: {exit}")?;
                match output.lines().rev().find(|it| !it.trim().is_empty()) {
                    Some(last) => write!(f, " ({})", text::cut(last.trim(), 200)),
                    None => Ok(()),
                }
            }
            Self::Protocol { message } => write!(f, "protocol: {message}"),
            Self::Auth { message } => {
                write!(f, "the agent is not logged in: {message}; log in, then `pitcrew retry`")
            }
            Self::Quota { message, .. } => write!(f, "a limit of the provider: {message}"),
            Self::LimitStays { backend, waits_count, waited_ms, message } => {
                let hours = waited_ms / (60 * 60 * 1_000);
                write!(f, "a limit of {backend} does not end: {message}; ")?;
                write!(
                    f,
                    "waited {waits_count} times in {hours} hours, `pitcrew retry` tries again"
                )
            }
            Self::Model { message } => write!(f, "the model failed: {message}"),
            Self::Budget(spending) => write!(f, "{spending}, and no more was granted"),
            Self::NoCompletion => f.write_str("no completion: two turns ended without it"),
            Self::GaveUp { summary } => write!(f, "the agent gave up: {}", text::cut(summary, 300)),
            Self::Timeout { after_ms } => write!(f, "timed out after {} s", after_ms / 1_000),
            Self::Gate { refusals, refusals_count } => gate(f, refusals, *refusals_count),
            Self::ExpectedFiles { missing } => {
                write!(f, "expected files were not touched: {}", missing.join(", "))
            }
            Self::Checks { failed } => checks(f, failed),
            Self::Conflict { paths, with } => {
                write!(f, "conflict in {}", paths.join(", "))?;
                let with: Vec<String> = with.iter().map(ToString::to_string).collect();
                if with.is_empty() { Ok(()) } else { write!(f, " with {}", with.join(", ")) }
            }
            Self::Interrupted => f.write_str("interrupted before it was done"),
            Self::Cancelled { by } => write!(f, "cancelled by {by}"),
            Self::Sandbox { message } => f.write_str(message),
            Self::DiskLow { path, free_bytes } => {
                write!(f, "only {} MiB free at {path}", free_bytes / (1_024 * 1_024))
            }
            Self::Git { message } => write!(f, "git: {message}"),
        }
    }
}

fn ended(code: Option<i32>) -> String {
    match code {
        Some(code) => alloc::format!("failed with exit code {code}"),
        None => "was stopped at its time-out".into(),
    }
}

fn gate(f: &mut fmt::Formatter<'_>, refusals: &[Refusal], count: u64) -> fmt::Result {
    f.write_str("refused at the gate: ")?;
    match refusals.first() {
        Some(first) => write!(f, "{} is {}{}", first.path, first.kind, first.why())?,
        None => f.write_str("nothing is listed")?,
    }
    if count > 1 { write!(f, " and {} more", count - 1) } else { Ok(()) }
}

fn checks(f: &mut fmt::Formatter<'_>, failed: &[CheckFailure]) -> fmt::Result {
    for (index, check) in failed.iter().enumerate() {
        if index > 0 {
            f.write_str("; ")?;
        }
        write!(f, "check `{}` {}", check.command, ended(check.code))?;
        if check.red_on_base {
            f.write_str(" (it fails on the base too)")?;
        }
    }
    Ok(())
}
