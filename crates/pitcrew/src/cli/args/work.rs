//! Arguments of the commands that make and show work.

use super::{Json, parse_tier};
use clap::{Args, Subcommand};
use pitcrew_config::parse_dollars;
use pitcrew_model::{Tier, limits};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Keep the repository in this folder, which must not exist
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// A plan file
    #[arg(required_unless_present = "task", conflicts_with_all = ["task", "region", "check", "agent", "model"])]
    pub file: Option<PathBuf>,
    /// What is to be done, in words
    #[arg(long, value_name = "TEXT")]
    pub task: Option<String>,
    /// A path that the work stays in; may be given several times
    #[arg(long, value_name = "PATH", requires = "task")]
    pub region: Vec<String>,
    /// A command that must succeed on the merged result; may be given several times
    #[arg(long, value_name = "COMMAND", requires = "task")]
    pub check: Vec<String>,
    /// Who does it: a backend such as `claude`
    #[arg(long, value_name = "AGENT", requires = "task")]
    pub agent: Option<String>,
    /// The model that it works with, as the agent calls it
    #[arg(long, value_name = "MODEL", requires = "task")]
    pub model: Option<String>,
    /// Agree to everything that the plan executes, without being asked
    #[arg(long, short)]
    pub yes: bool,
    /// How many agents may work at the same time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::AGENTS_MAX)))]
    pub max_agents: Option<u32>,
    /// How many tokens the plan may use; at the end of them you are asked
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_tokens: Option<u64>,
    /// How many US dollars the plan may cost, as far as its agents tell
    #[arg(long, value_name = "USD", value_parser = parse_dollars)]
    pub max_cost: Option<u64>,
    /// The branch or commit to start from; HEAD refuses uncommitted changes
    #[arg(long, value_name = "REF")]
    pub base: Option<String>,
    /// Agree to a weaker tier of confinement where there is no stronger one; remembered
    #[arg(long, value_name = "TIER", value_parser = parse_tier)]
    pub accept_tier: Option<Tier>,
    /// Return as soon as the plan runs
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
    /// Find everything that is wrong with a plan file
    #[command(after_help = "Examples:\n  pitcrew plan check plan.toml")]
    Check(PlanFileArgs),
    /// Show the order of the tasks, and everything that will be executed
    #[command(after_help = "Examples:\n  pitcrew plan show plan.toml")]
    Show(PlanFileArgs),
}

#[derive(Debug, Args)]
pub struct PlanFileArgs {
    /// A plan file
    pub file: PathBuf,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct TaskArgs {
    /// task-3, or its key
    pub task: String,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct OpenArgs {
    /// task-3, or its key
    pub task: String,
    /// A shell, whatever VISUAL and EDITOR say
    #[arg(long)]
    pub shell: bool,
}

#[derive(Debug, Args)]
pub struct PlanIdArgs {
    /// plan-7, or its name
    pub plan: String,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct IdArgs {
    /// A task or a plan
    pub id: String,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// plan-7, or its name; without it, everything that is current
    pub plan: Option<String>,
    /// Also plans that are landed, cancelled or given up
    #[arg(long, conflicts_with = "plan")]
    pub all: bool,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct WatchArgs {
    /// plan-7, or its name; without it, every plan that has not ended
    pub plan: Option<String>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct LogsArgs {
    /// A task or a plan
    pub id: String,
    /// Stay until it has ended
    #[arg(long, short)]
    pub follow: bool,
    #[command(flatten)]
    pub output: Json,
}
