//! Arguments of the commands that steer what runs and finish what is done.

use super::{Json, parse_tier};
use clap::{ArgAction, Args};
use pitcrew_model::{MessageId, Tier};

#[derive(Debug, Args)]
pub struct RetryArgs {
    /// Tasks, or plans: all of their tasks that ended without being completed
    #[arg(required = true, action = ArgAction::Append)]
    pub ids: Vec<String>,
    /// Start from the integration head, not from where the last attempt ended
    #[arg(long)]
    pub fresh: bool,
    /// Agree to a weaker tier of confinement where there is no stronger one; remembered
    #[arg(long, value_name = "TIER", value_parser = parse_tier)]
    pub accept_tier: Option<Tier>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct AbandonArgs {
    /// A task or a plan
    pub id: String,
    /// Give up completed work that is not landed without being asked
    #[arg(long, short)]
    pub yes: bool,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct MessageArgs {
    /// A task, or a worker such as worker-4
    #[arg(value_name = "TASK|WORKER")]
    pub id: String,
    /// What it should know
    pub text: String,
    /// Before everything else that waits for it
    #[arg(long)]
    pub critical: bool,
    /// The conversation that it belongs to: any message of it
    #[arg(long, value_name = "MESSAGE")]
    pub thread: Option<MessageId>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct LandArgs {
    /// plan-7, or its name
    pub plan: String,
    /// Land without being asked
    #[arg(long, short)]
    pub yes: bool,
    /// One commit with everything
    #[arg(long, group = "form")]
    pub squash: bool,
    /// One commit for each task on top of the branch, without a merge commit
    #[arg(long, group = "form")]
    pub rebase: bool,
    /// One commit for each task below a merge commit: the default, unless `[landing]` says otherwise
    #[arg(long, group = "form")]
    pub merge: bool,
    /// The message of the merge commit, or of the squashed one
    #[arg(long, short, value_name = "TEXT", conflicts_with = "rebase")]
    pub message: Option<String>,
    /// Print the events of the landing: how the demo goes on after those of the run
    #[arg(long, hide = true, conflicts_with = "json")]
    pub events: bool,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// The task: its id or its key
    pub task: String,
    /// The number of the snapshot; without it, the last one
    #[arg(long, value_name = "N", conflicts_with = "list")]
    pub at: Option<u32>,
    /// Only show what there is
    #[arg(long)]
    pub list: bool,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct GcArgs {
    /// Only say what would be removed, and what stays and why
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub output: Json,
}
