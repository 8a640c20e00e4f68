//! Arguments of the commands that control running tasks and finish plans.

use super::{Json, parse_tier};
use crate::complete;
use clap::{ArgAction, Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;
use pitcrew_model::{MessageId, Tier};

#[derive(Debug, Args)]
pub struct RetryArgs {
    /// Tasks or plans; a plan stands for its tasks that ended without completing
    #[arg(required = true, action = ArgAction::Append, add = ArgValueCompleter::new(complete::plans_and_tasks))]
    pub ids: Vec<String>,
    /// Start from the integration branch instead of the work of the last attempt
    #[arg(long)]
    pub fresh: bool,
    /// Accept this weaker sandbox tier if no stronger one is available (remembered for this repository)
    #[arg(long, value_name = "TIER", value_parser = parse_tier)]
    pub accept_tier: Option<Tier>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct AbandonArgs {
    /// A task or a plan: its id, key or name
    #[arg(add = ArgValueCompleter::new(complete::plans_and_tasks))]
    pub id: String,
    /// Abandon completed work that has not landed, without asking
    #[arg(long, short)]
    pub yes: bool,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct MessageArgs {
    /// A task, or a worker such as worker-4
    #[arg(value_name = "TASK|WORKER", add = ArgValueCompleter::new(complete::tasks_and_workers))]
    pub id: String,
    /// The text of the message
    pub text: String,
    /// Deliver it before all other waiting messages
    #[arg(long)]
    pub critical: bool,
    /// Continue the conversation of this message
    #[arg(long, value_name = "MESSAGE")]
    pub thread: Option<MessageId>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct LandArgs {
    /// The plan: its id or name
    #[arg(add = ArgValueCompleter::new(complete::plans))]
    pub plan: String,
    /// Land without asking
    #[arg(long, short)]
    pub yes: bool,
    #[command(flatten)]
    pub history: HistoryArgs,
    /// The message of the merge commit, or of the squashed one
    #[arg(long, short, value_name = "TEXT", conflicts_with = "rebase")]
    pub message: Option<String>,
    /// Skip your `commit-msg` and `pre-merge-commit` hooks
    #[arg(long)]
    pub no_verify: bool,
    /// Print the events of the landing, as the demo does after those of the run
    #[arg(long, hide = true, conflicts_with = "json")]
    pub events: bool,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct UndoArgs {
    #[command(subcommand)]
    pub command: UndoCommand,
}

#[derive(Debug, Subcommand)]
pub enum UndoCommand {
    /// Remove a landed plan from your branch
    ///
    /// Moves the branch back to where it was. If a remote branch has the landing already, or later commits
    /// are on top of it, a commit reverts it instead. Uncommitted changes are never touched.
    #[command(
        after_help = "Examples:\n  pitcrew undo land plan-1\n  pitcrew undo land plan-1 --yes"
    )]
    Land(UndoLandArgs),
}

#[derive(Debug, Args)]
pub struct UndoLandArgs {
    /// The plan: its id or name
    pub plan: String,
    /// Undo without asking
    #[arg(long, short)]
    pub yes: bool,
    #[command(flatten)]
    pub output: Json,
}

/// The form of the landed history.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub struct HistoryArgs {
    /// One commit with everything
    #[arg(long)]
    pub squash: bool,
    /// One commit for each task on top of the branch, without a merge commit
    #[arg(long)]
    pub rebase: bool,
    /// One commit for each task below a merge commit: the default, unless `[landing]` says otherwise
    #[arg(long)]
    pub merge: bool,
}

#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// The task: its id or key
    #[arg(add = ArgValueCompleter::new(complete::tasks))]
    pub task: String,
    /// The number of the saved state [default: the last one]
    #[arg(long, value_name = "N", conflicts_with = "list")]
    pub at: Option<u32>,
    /// List the saved states
    #[arg(long)]
    pub list: bool,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct GcArgs {
    /// Show what would be removed, and what is kept and why
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub output: Json,
}
