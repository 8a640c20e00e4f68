//! Arguments of the commands that show and decide requests.

use super::Json;
use crate::complete;
use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;
use pitcrew_model::GrantScope;

#[derive(Debug, Args)]
pub struct InboxArgs {
    /// Include decided requests
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// A request such as request-2, or a plan or task with one open request
    #[arg(add = ArgValueCompleter::new(complete::requests))]
    pub id: String,
    /// The reason, which is recorded
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// How far the approval reaches: `once`, `task`, `plan` or `always`
    #[arg(long, value_name = "SCOPE", default_value = "once")]
    pub scope: GrantScope,
    /// How many tasks of the plan you have seen; needed if tasks were added after the request
    #[arg(long, value_name = "COUNT")]
    pub tasks: Option<u32>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct DenyArgs {
    /// A request such as request-2, or a plan or task with one open request
    #[arg(add = ArgValueCompleter::new(complete::requests))]
    pub id: String,
    /// Deny every open request of this worker, task or plan, and the plans that it has saved
    #[arg(long)]
    pub all: bool,
    /// The reason, which is recorded
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct PermissionsArgs {
    #[command(subcommand)]
    pub command: Option<PermissionsCommands>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Subcommand)]
pub enum PermissionsCommands {
    /// Revoke a grant, so that agents have to ask again
    #[command(after_help = "Examples:\n  pitcrew permissions revoke grant-3")]
    Revoke(RevokeArgs),
    /// Edit your permissions file
    ///
    /// Opens git's editor: core.editor, VISUAL or EDITOR. The file is replaced only if the new text has no
    /// errors; otherwise it is kept as a draft, which the next edit opens.
    #[command(after_help = "Examples:\n  pitcrew permissions edit\n  \
        EDITOR=nano pitcrew permissions edit --repository")]
    Edit(EditArgs),
}

#[derive(Debug, Args)]
pub struct EditArgs {
    /// Edit the file of the repository, which can only make permissions stricter
    #[arg(long)]
    pub repository: bool,
}

#[derive(Debug, Args)]
pub struct RevokeArgs {
    /// The grant, such as grant-3
    pub grant: String,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// A request such as request-2, or a task with one open question
    #[arg(add = ArgValueCompleter::new(complete::requests))]
    pub id: String,
    /// The answer
    pub text: String,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct TrustArgs {
    /// Trust all of them as they are now
    #[arg(long, short)]
    pub yes: bool,
    #[command(flatten)]
    pub output: Json,
}
