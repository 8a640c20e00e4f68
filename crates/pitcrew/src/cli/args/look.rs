//! Arguments of the commands that only look.

use super::Json;
use clap::{Args, Subcommand, ValueEnum};
use pitcrew_model::{MessageStatus, WorkerId};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct MessagesArgs {
    /// Those of one worker, for it, or read by it
    #[arg(long, value_name = "WORKER")]
    pub worker: Option<WorkerId>,
    /// Those of one plan
    #[arg(long, value_name = "PLAN")]
    pub plan: Option<String>,
    /// queued, delivered, processed, dead or expired
    #[arg(long, value_name = "STATE", value_parser = message_state)]
    pub state: Option<MessageStatus>,
    /// How many wait, and how long that takes
    #[arg(long)]
    pub metrics: bool,
    #[command(flatten)]
    pub output: Json,
}

fn message_state(text: &str) -> Result<MessageStatus, String> {
    let found = MessageStatus::ALL.iter().find(|it| it.to_string() == text);
    let all = || MessageStatus::ALL.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    found.copied().ok_or_else(|| format!("there are {}", all()))
}

#[derive(Debug, Args)]
pub struct AuditArgs {
    /// From then on: `30min`, `2h`, `2026-11-15` or `2026-11-15T09:49` (UTC)
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// By whom: `person`, `orchestrator`, `client` or a worker such as `worker-3`
    #[arg(long)]
    pub actor: Option<String>,
    /// Only what has this in its name, such as `request` or `task_moved`
    #[arg(long)]
    pub kind: Option<String>,
    /// plan-7, or its name
    #[arg(long)]
    pub plan: Option<String>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// plan-7, or its name
    pub plan: String,
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
    /// A name, a qualified name, `path:name`, or an import line
    pub symbol: String,
    /// Where it is used: import lines or paths
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub context: String,
    /// Ask the checkout of this task: task-3, or its key
    #[arg(long, value_name = "TASK")]
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
    /// Show everything that is known about this one
    pub name: Option<String>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Subcommand)]
pub enum BackendsCommands {
    /// Start an agent, agree on a session and stop it; no model is called
    #[command(
        after_help = "Examples:\n  pitcrew backends test claude\n  pitcrew backends test --json"
    )]
    Test(BackendsTestArgs),
}

#[derive(Debug, Args)]
pub struct BackendsTestArgs {
    /// Backends; without a name, every one that is installed
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
    /// Show every setting
    #[command(after_help = "Examples:\n  pitcrew config show --origin")]
    Show(ConfigShowArgs),
}

#[derive(Debug, Args)]
pub struct ConfigShowArgs {
    /// Also where each value was written
    #[arg(long)]
    pub origin: bool,
    #[command(flatten)]
    pub output: Json,
}
