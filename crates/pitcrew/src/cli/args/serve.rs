//! Arguments of the commands that run servers and integrate with other programs.

use super::Json;
use clap::{Args, ValueEnum};
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
pub struct StopArgs {
    /// What to stop [default: the orchestrator]
    pub scope: Option<StopScope>,
    /// The sub-task, task, worker or plan
    #[arg(requires = "scope")]
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
    /// The shell
    pub shell: clap_complete::Shell,
}
