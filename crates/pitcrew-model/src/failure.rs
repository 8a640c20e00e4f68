//! Why an attempt did not succeed, as typed data.

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

/// Why no agent of a backend starts or continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldCause {
    /// A limit of the provider.
    #[default]
    Limit,
    /// The provider cannot be reached.
    Unreachable,
}

impl HoldCause {
    /// Returns whether it is the only cause of journals from before causes were recorded.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(crate) fn is_limit(&self) -> bool {
        *self == Self::Limit
    }
}

/// Why an attempt did not succeed. `Display` is one line; `detail` is the output to show below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Failure {
    /// The checkout could not be created, or is missing.
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
    /// The agent does not offer the requested model.
    ModelMissing {
        agent: String,
        message: String,
    },
    /// The agent's process ended before its turn did.
    AgentExited {
        exit: String,
        output: String,
    },
    /// The agent violated the protocol, or refused a step of it.
    Protocol {
        message: String,
    },
    /// The agent is not logged in, or its key is refused. Only a person can fix this.
    Auth {
        message: String,
    },
    /// A limit of the agent's provider.
    Quota {
        until: Option<Timestamp>,
        message: String,
    },
    /// The agent's provider cannot be reached over the network.
    Unreachable {
        message: String,
    },
    /// What holds the backend did not end in time. Only a person can fix this.
    LimitStays {
        backend: String,
        waits_count: u32,
        waited_ms: u64,
        message: String,
        #[serde(default, skip_serializing_if = "HoldCause::is_limit")]
        cause: HoldCause,
    },
    /// The agent's model failed or refused to answer.
    Model {
        message: String,
    },
    /// The cap was reached, and no person raised it.
    Budget(Spending),
    /// Two turns ended without a report of completion.
    NoCompletion,
    /// The agent reported that it failed.
    GaveUp {
        summary: String,
    },
    /// The command of the task failed.
    Command {
        summary: String,
    },
    Timeout {
        after_ms: u64,
    },
    /// The work changes paths that it must not change.
    Gate {
        refusals: Vec<Refusal>,
        refusals_count: u64,
    },
    /// Expected files were not changed.
    ExpectedFiles {
        missing: Vec<String>,
    },
    Checks {
        failed: Vec<CheckFailure>,
    },
    /// Checks cannot run, because their programs do not exist in the sandbox of checks.
    CheckPrograms {
        missing: Vec<MissingProgram>,
    },
    /// The work conflicts with work that was integrated meanwhile.
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
    /// A git hook of the user refused a landing.
    Hook {
        hook: String,
        code: Option<i32>,
        output: String,
    },
    /// A git step of ours failed.
    Git {
        message: String,
    },
    /// The machine lacks the required sandbox, and no person agreed to a weaker one.
    Sandbox {
        message: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckFailure {
    pub command: String,
    /// Absent if it was killed at its timeout.
    pub code: Option<i32>,
    /// The end of its output.
    pub output: String,
    /// It also failed on the base, before any task.
    pub red_on_base: bool,
}

/// A check whose program does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingProgram {
    pub check: String,
    pub program: String,
    /// The existing program with the most similar name, if one is near.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
}

/// One path that the import gate refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub path: String,
    pub kind: RefusalKind,
    /// The rule, and how to allow the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

impl Refusal {
    pub fn new(path: impl Into<String>, kind: RefusalKind) -> Self {
        Self { path: path.into(), kind, rule: None }
    }

    /// Returns the rule in parentheses, if it is known.
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
    /// A file that makes other programs execute code: attributes, CI, agent configuration, hooks.
    Executes,
    /// A name that is not portable: not UTF-8, control characters, `..`.
    BadName,
    BadMode,
    /// A path that no task of the plan may change.
    Denied,
    /// A change by a sub-task that may only read.
    OnlyReads,
}

impl fmt::Display for RefusalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutsideZone => "outside the region",
            Self::GitDir => "inside a .git folder",
            Self::SymlinkLeaves => "a symbolic link that leaves the repository",
            Self::Gitlink => "a nested repository",
            Self::TooLarge => "too large",
            Self::TooMany => "too many changed files",
            Self::Executes => "a file that makes other programs execute code",
            Self::BadName => "not a portable file name",
            Self::BadMode => "an unknown file mode",
            Self::Denied => "in a path that no task may change",
            Self::OnlyReads => "a change by a sub-task that may only read",
        })
    }
}

impl Failure {
    /// Returns whether another attempt may succeed without any other change.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::AgentMissing { .. }
            | Self::ModelMissing { .. }
            | Self::Auth { .. }
            | Self::LimitStays { .. }
            | Self::Budget(_)
            | Self::Cancelled { .. }
            | Self::DiskLow { .. }
            | Self::CheckPrograms { .. }
            | Self::Sandbox { .. } => false,
            Self::Checkout { .. }
            | Self::Setup { .. }
            | Self::AgentExited { .. }
            | Self::Protocol { .. }
            | Self::Quota { .. }
            | Self::Unreachable { .. }
            | Self::Model { .. }
            | Self::NoCompletion
            | Self::GaveUp { .. }
            | Self::Command { .. }
            | Self::Timeout { .. }
            | Self::Gate { .. }
            | Self::ExpectedFiles { .. }
            | Self::Checks { .. }
            | Self::Conflict { .. }
            | Self::Interrupted
            | Self::Hook { .. }
            | Self::Git { .. } => true,
        }
    }

    /// Returns whether the next attempt starts from the integration head instead of this attempt's work.
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
            | Self::Unreachable { .. }
            | Self::LimitStays { .. }
            | Self::Model { .. }
            | Self::Budget(_)
            | Self::NoCompletion
            | Self::GaveUp { .. }
            | Self::Command { .. }
            | Self::Gate { .. }
            | Self::ExpectedFiles { .. }
            | Self::Checks { .. }
            | Self::CheckPrograms { .. }
            | Self::Conflict { .. }
            | Self::Interrupted
            | Self::DiskLow { .. }
            | Self::Hook { .. }
            | Self::Git { .. }
            | Self::Sandbox { .. } => Outcome::Failed,
        }
    }

    /// Returns the output to show below the failure.
    pub fn detail(&self) -> String {
        match self {
            Self::Setup { output, .. }
            | Self::AgentExited { output, .. }
            | Self::Hook { output, .. } => output.clone(),
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
            | Self::Unreachable { .. }
            | Self::LimitStays { .. }
            | Self::Model { .. }
            | Self::Budget(_)
            | Self::NoCompletion
            | Self::GaveUp { .. }
            | Self::Command { .. }
            | Self::Timeout { .. }
            | Self::ExpectedFiles { .. }
            | Self::CheckPrograms { .. }
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
                write!(f, "cannot start agent `{program}`: {message}")
            }
            Self::ModelMissing { agent, message } => write!(f, "{agent}: {message}"),
            Self::AgentExited { exit, output } => {
                write!(f, "the agent exited during its turn: {exit}")?;
                match output.lines().rev().find(|it| !it.trim().is_empty()) {
                    Some(last) => write!(f, " ({})", text::cut(last.trim(), 200)),
                    None => Ok(()),
                }
            }
            Self::Protocol { message } => write!(f, "protocol error: {message}"),
            Self::Auth { message } => {
                write!(f, "the agent is not logged in: {message}; log in, then `pitcrew retry`")
            }
            Self::Quota { message, .. } => write!(f, "provider limit: {message}"),
            Self::LimitStays {
                cause: HoldCause::Unreachable,
                message,
                waits_count,
                waited_ms,
                ..
            } => {
                let hours = waited_ms / (60 * 60 * 1_000);
                write!(f, "{message}; tried {waits_count} times in {hours} hours; ")?;
                f.write_str("check the network, then `pitcrew retry`")
            }
            Self::LimitStays { backend, waits_count, waited_ms, message, .. } => {
                let hours = waited_ms / (60 * 60 * 1_000);
                write!(f, "the limit of {backend} has not ended: {message}; ")?;
                write!(f, "waited {waits_count} times in {hours} hours; retry with `pitcrew retry`")
            }
            Self::Model { message } => write!(f, "the model failed: {message}"),
            Self::Budget(spending) => write!(f, "{spending}, and the cap was not raised"),
            Self::NoCompletion => f.write_str("no completion: two turns ended without a report"),
            Self::GaveUp { summary } => write!(f, "the agent gave up: {}", text::cut(summary, 300)),
            Self::Command { summary } => {
                write!(f, "the command failed: {}", text::cut(summary, 300))
            }
            Self::Timeout { after_ms } => write!(f, "timed out after {} s", after_ms / 1_000),
            Self::Gate { refusals, refusals_count } => gate(f, refusals, *refusals_count),
            Self::ExpectedFiles { missing } => {
                write!(f, "expected files were not changed: {}", missing.join(", "))
            }
            Self::Checks { failed } => checks(f, failed),
            Self::CheckPrograms { missing } => check_programs(f, missing),
            Self::Conflict { paths, with } => {
                write!(f, "conflict in {}", paths.join(", "))?;
                let with: Vec<String> = with.iter().map(ToString::to_string).collect();
                if with.is_empty() { Ok(()) } else { write!(f, " with {}", with.join(", ")) }
            }
            Self::Interrupted => f.write_str("interrupted"),
            Self::Cancelled { by } => write!(f, "cancelled by {by}"),
            Self::Sandbox { message } | Self::Unreachable { message } => f.write_str(message),
            Self::DiskLow { path, free_bytes } => {
                write!(f, "only {} MiB free at {path}", free_bytes / (1_024 * 1_024))
            }
            Self::Hook { hook, code, .. } => write!(f, "your git hook {hook} {}", ended(*code)),
            Self::Git { message } => write!(f, "git: {message}"),
        }
    }
}

fn ended(code: Option<i32>) -> String {
    match code {
        Some(code) => alloc::format!("failed with exit code {code}"),
        None => "timed out".into(),
    }
}

fn gate(f: &mut fmt::Formatter<'_>, refusals: &[Refusal], count: u64) -> fmt::Result {
    f.write_str("refused at the gate: ")?;
    match refusals.first() {
        Some(first) => write!(f, "{} is {}{}", first.path, first.kind, first.why())?,
        None => f.write_str("no paths listed")?,
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
            f.write_str(" (it also fails on the base)")?;
        }
    }
    Ok(())
}

fn check_programs(f: &mut fmt::Formatter<'_>, missing: &[MissingProgram]) -> fmt::Result {
    for (index, MissingProgram { check, program, nearest }) in missing.iter().enumerate() {
        if index > 0 {
            f.write_str("; ")?;
        }
        write!(f, "check `{check}` cannot run: there is no program `{program}`")?;
        if let Some(nearest) = nearest {
            write!(f, ", did you mean `{nearest}`?")?;
        }
    }
    let (checks, programs) = match missing {
        [_] => ("check", "program"),
        _ => ("checks", "programs"),
    };
    write!(f, "; fix the {checks}, or install the {programs}, for example in `setup`")
}
