//! Arguments of the commands that decide what waits for a person.

use super::Json;
use clap::{Args, Subcommand};
use pitcrew_model::GrantScope;

#[derive(Debug, Args)]
pub struct InboxArgs {
    /// Also what is decided
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// request-2; or a plan or task of which only one thing waits
    pub id: String,
    /// Why; it is recorded
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// How far it reaches: `once`, `task`, `plan` or `always`. The same is not asked again there
    #[arg(long, value_name = "SCOPE", default_value = "once")]
    pub scope: GrantScope,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct DenyArgs {
    /// request-2; or a plan or task of which only one thing waits
    pub id: String,
    /// Why; it is recorded
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
    /// Ask again for what was allowed
    #[command(after_help = "Examples:\n  pitcrew permissions revoke grant-3")]
    Revoke(RevokeArgs),
    /// Edit your permissions file; it is taken only without errors
    #[command(after_help = "Examples:\n  pitcrew permissions edit\n  \
        EDITOR=nano pitcrew permissions edit --repository\n\n\
        The editor is the one that git starts: core.editor, VISUAL, EDITOR. A text with errors is kept\n\
        as a draft, and the next edit goes on with it.")]
    Edit(EditArgs),
}

#[derive(Debug, Args)]
pub struct EditArgs {
    /// The file that comes with the repository, which may only tighten
    #[arg(long)]
    pub repository: bool,
}

#[derive(Debug, Args)]
pub struct RevokeArgs {
    /// grant-3
    pub grant: String,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// request-2; or a task that has one question
    pub id: String,
    /// The answer
    pub text: String,
    #[command(flatten)]
    pub output: Json,
}
