//! Arguments of the commands that run plans and show their tasks.

use super::{Json, parse_tier};
use crate::complete;
use clap::{Args, Subcommand, ValueHint};
use clap_complete::engine::ArgValueCompleter;
use pitcrew_config::parse_dollars;
use pitcrew_model::{RepoPath, Tier, limits};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Keep the repository in this folder, which must not exist yet
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// The plan file; `-` reads it from standard input
    #[arg(conflicts_with_all = ["task", "region", "check", "agent", "model"], value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// A single task in words, instead of a plan file
    #[arg(long, value_name = "TEXT")]
    pub task: Option<String>,
    /// A path that the task may change (repeatable)
    #[arg(long, value_name = "PATH", requires = "task")]
    pub region: Vec<String>,
    /// A command that must succeed on the merged result (repeatable)
    #[arg(long, value_name = "COMMAND", requires = "task")]
    pub check: Vec<String>,
    /// The agent that does the task: a backend such as `claude`
    #[arg(long, value_name = "AGENT", requires = "task", add = ArgValueCompleter::new(complete::agents))]
    pub agent: Option<String>,
    /// The model that the agent uses, by the agent's own name for it
    #[arg(long, value_name = "MODEL", requires = "task")]
    pub model: Option<String>,
    /// Approve everything that the plan executes, without asking
    #[arg(long, short)]
    pub yes: bool,
    /// How many agents of this plan may work at the same time, at most `max_agents` of the settings
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::AGENTS_MAX)))]
    pub max_agents: Option<u32>,
    /// How many tokens the plan may use; at the limit it asks you
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_tokens: Option<u64>,
    /// How many US dollars the plan may cost, as far as its agents report it
    #[arg(long, value_name = "USD", value_parser = parse_dollars)]
    pub max_cost: Option<u64>,
    /// The branch or commit to start from; `HEAD` fails if you have uncommitted changes
    #[arg(long, value_name = "REF")]
    pub base: Option<String>,
    /// An uncommitted path that the plan starts with even if it looks like a secret (repeatable)
    #[arg(long, value_name = "PATH", value_parser = RepoPath::parse_prefix)]
    pub include: Vec<RepoPath>,
    /// Accept this weaker sandbox tier if no stronger one is available (remembered for this repository)
    #[arg(long, value_name = "TIER", value_parser = parse_tier)]
    pub accept_tier: Option<Tier>,
    /// Trust the agent definitions of this repository as they are now
    #[arg(long)]
    pub trust: bool,
    /// Print the id of the plan and exit as soon as it is running
    #[arg(long)]
    pub detach: bool,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(subcommand)]
    pub command: PlanCommands,
}

#[derive(Debug, Subcommand)]
pub enum PlanCommands {
    /// Report every error in a plan file
    #[command(after_help = "Examples:\n  pitcrew plan check plan.toml")]
    Check(PlanFileArgs),
    /// Show the order of the tasks and every command that would run
    #[command(after_help = "Examples:\n  pitcrew plan show plan.toml")]
    Show(PlanFileArgs),
}

#[derive(Debug, Args)]
pub struct PlanFileArgs {
    /// The plan file; `-` reads it from standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct TaskArgs {
    /// The task: its id or key
    #[arg(add = ArgValueCompleter::new(complete::tasks))]
    pub task: String,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct OpenArgs {
    /// The task: its id or key
    #[arg(add = ArgValueCompleter::new(complete::tasks))]
    pub task: String,
    /// Open a shell even if VISUAL or EDITOR is set
    #[arg(long)]
    pub shell: bool,
}

#[derive(Debug, Args)]
pub struct PlanIdArgs {
    /// The plan: its id or name
    #[arg(add = ArgValueCompleter::new(complete::plans))]
    pub plan: String,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct IdArgs {
    /// A task or a plan: its id, key or name
    #[arg(add = ArgValueCompleter::new(complete::plans_and_tasks))]
    pub id: String,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct DiffArgs {
    /// A task or a plan: its id, key or name
    #[arg(add = ArgValueCompleter::new(complete::plans_and_tasks))]
    pub id: String,
    /// Print to the terminal without a pager
    #[arg(long)]
    pub no_pager: bool,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// The plan: its id or name [default: all current plans]
    #[arg(add = ArgValueCompleter::new(complete::plans))]
    pub plan: Option<String>,
    /// Include plans that are landed, cancelled or abandoned
    #[arg(long, conflicts_with = "plan")]
    pub all: bool,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct WatchArgs {
    /// The plan: its id or name [default: all plans that have not ended]
    #[arg(add = ArgValueCompleter::new(complete::plans))]
    pub plan: Option<String>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct LogsArgs {
    /// A task or a plan: its id, key or name
    #[arg(add = ArgValueCompleter::new(complete::plans_and_tasks))]
    pub id: String,
    /// Keep printing until the task or plan ends
    #[arg(long, short)]
    pub follow: bool,
    /// Show whole prompts instead of their first line
    #[arg(long)]
    pub prompt: bool,
    /// Print to the terminal without a pager
    #[arg(long)]
    pub no_pager: bool,
    #[command(flatten)]
    pub output: Json,
}
