//! Arguments of the commands that serve others.

use super::Json;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The repository; without it, the one that the current folder is in
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Leave the session, and end when nobody needs it
    #[arg(long, hide = true)]
    pub on_demand: bool,
}

#[derive(Debug, Args)]
pub struct ServiceArgs {
    #[command(subcommand)]
    pub command: ServiceCommands,
}

#[derive(Debug, Subcommand)]
pub enum ServiceCommands {
    /// Write a systemd user unit for this repository and enable it
    #[command(
        after_help = "Examples:\n  pitcrew service install\n  pitcrew service install --print\n  loginctl enable-linger            # start at boot, not only when you log in"
    )]
    Install(ServiceInstallArgs),
    /// Disable the unit and remove it
    #[command(after_help = "Examples:\n  pitcrew service uninstall")]
    Uninstall,
    /// Show whether the unit is installed, enabled and active
    #[command(after_help = "Examples:\n  pitcrew service status\n  pitcrew service status --json")]
    Status(Json),
}

#[derive(Debug, Args)]
pub struct ServiceInstallArgs {
    /// Print the unit and change nothing
    #[arg(long)]
    pub print: bool,
}

#[derive(Debug, Args)]
pub struct StopArgs {
    /// What is stopped; without it, the orchestrator
    pub scope: Option<StopScope>,
    /// Which one: subtask-7, worker-3, plan-1
    #[arg(requires = "scope")]
    pub id: Option<String>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StopScope {
    /// A sub-task, or a task
    #[value(alias = "task")]
    Subtask,
    /// A worker and what it works on
    Worker,
    Plan,
    /// Everything in this repository
    All,
}

#[derive(Debug, Args)]
pub struct McpArgs {
    /// Serve on the loopback instead of standard input and output
    #[arg(long)]
    pub http: bool,
    /// The port; any that is free where not given
    #[arg(long, value_name = "PORT", default_value_t = 0, requires = "http")]
    pub port: u16,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct ToolArgs {
    /// The name of the tool; without one they are listed
    pub name: Option<String>,
    /// Its arguments, as a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub json: String,
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    pub shell: clap_complete::Shell,
}
