//! Arguments of the read-only commands.

use super::Json;
use crate::complete;
use clap::{Args, Subcommand, ValueEnum};
use clap_complete::engine::ArgValueCompleter;
use pitcrew_model::{MessageStatus, WorkerId};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct MessagesArgs {
    /// Only messages from, to or read by this worker
    #[arg(long, value_name = "WORKER", add = ArgValueCompleter::new(complete::workers))]
    pub worker: Option<WorkerId>,
    /// Only messages of this plan
    #[arg(long, value_name = "PLAN", add = ArgValueCompleter::new(complete::plans))]
    pub plan: Option<String>,
    /// Only messages in this state: queued, delivered, processed, dead or expired
    #[arg(long, value_name = "STATE", value_parser = message_state)]
    pub state: Option<MessageStatus>,
    /// Show queue lengths and waiting times instead
    #[arg(long)]
    pub metrics: bool,
    #[command(flatten)]
    pub output: Json,
}

fn message_state(text: &str) -> Result<MessageStatus, String> {
    let found = MessageStatus::ALL.iter().find(|it| it.to_string() == text);
    let all = || MessageStatus::ALL.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    found.copied().ok_or_else(|| format!("expected one of {}", all()))
}

#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Only entries since this time: `30min`, `2h`, `2026-11-15` or `2026-11-15T09:49` (UTC)
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only entries by this actor: `person`, `orchestrator`, `client` or a worker such as `worker-3`
    #[arg(long)]
    pub actor: Option<String>,
    /// Only events whose name contains this, such as `request` or `task_moved`
    #[arg(long)]
    pub kind: Option<String>,
    /// Only entries of this plan
    #[arg(long, add = ArgValueCompleter::new(complete::plans))]
    pub plan: Option<String>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The plan: its id or name
    #[arg(add = ArgValueCompleter::new(complete::plans))]
    pub plan: String,
    /// The output format
    #[arg(long, value_enum, default_value = "md")]
    pub format: ExportFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// One JSON document
    Json,
    /// Markdown
    Md,
}

#[derive(Debug, Args)]
pub struct QueryArgs {
    /// A name, a qualified name, `path:name` or an import line
    pub symbol: String,
    /// Import lines or paths that tell apart symbols with the same name
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub context: String,
    /// Search a copy of this task's work instead of your files
    #[arg(long, value_name = "TASK", add = ArgValueCompleter::new(complete::tasks))]
    pub from: Option<String>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct SymbolsArgs {
    /// A file of this repository
    pub file: PathBuf,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct BackendsArgs {
    #[command(subcommand)]
    pub command: Option<BackendsCommands>,
    /// Show the details of this backend
    #[arg(add = ArgValueCompleter::new(complete::agents))]
    pub name: Option<String>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Subcommand)]
pub enum BackendsCommands {
    /// Start backends and open a session with each
    ///
    /// Does not call a model. The agent runs with your own settings and login.
    #[command(
        after_help = "Examples:\n  pitcrew backends test claude\n  pitcrew backends test --json"
    )]
    Test(BackendsTestArgs),
}

#[derive(Debug, Args)]
pub struct BackendsTestArgs {
    /// The backends to test [default: all that are installed]
    #[arg(add = ArgValueCompleter::new(complete::agents))]
    pub names: Vec<String>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub command: ConfigCommands,
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommands {
    /// Show every setting and its value
    #[command(after_help = "Examples:\n  pitcrew config show --origin")]
    Show(ConfigShowArgs),
}

#[derive(Debug, Args)]
pub struct ConfigShowArgs {
    /// Show where each value comes from
    #[arg(long)]
    pub origin: bool,
    #[command(flatten)]
    pub output: Json,
}
