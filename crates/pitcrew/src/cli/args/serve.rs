//! Arguments of the commands that run servers and integrate with other programs.

use super::Json;
use crate::complete;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use clap_complete::engine::ArgValueCompleter;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The repository [default: the one that contains the current folder]
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Detach from the terminal and exit when idle
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
pub struct NotifyArgs {
    #[command(subcommand)]
    pub command: NotifyCommands,
}

#[derive(Debug, Subcommand)]
pub enum NotifyCommands {
    /// Send a test notification through every channel and report each
    #[command(after_help = "Examples:\n  pitcrew notify test")]
    Test(Json),
}

#[derive(Debug, Args)]
pub struct StopArgs {
    /// What to stop [default: the orchestrator]
    pub scope: Option<StopScope>,
    /// The sub-task, task, worker or plan
    #[arg(requires = "scope", add = ArgValueCompleter::new(complete::running))]
    pub id: Option<String>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StopScope {
    /// A sub-task or a task
    #[value(alias = "task")]
    Subtask,
    /// A worker and its task
    Worker,
    /// A whole plan
    Plan,
    /// Everything in this repository
    All,
}

#[derive(Debug, Args)]
pub struct McpArgs {
    /// Serve HTTP on 127.0.0.1 instead of standard input and output
    #[arg(long)]
    pub http: bool,
    /// The port; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value_t = 0, requires = "http")]
    pub port: u16,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct ToolArgs {
    /// The tool to call; without it, the tools are listed
    pub name: Option<String>,
    /// The arguments, as a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub json: String,
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell, or the man pages
    pub what: CompletionsOf,
    /// The folder of the man pages
    #[arg(long, value_name = "DIR", required_if_eq("what", "man"), value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompletionsOf {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
    /// A man page for each command
    Man,
}
