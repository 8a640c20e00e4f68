//! Accepts the partial work of a task.

use super::{CommandResult, reply};
use crate::{
    cli::TaskArgs,
    client::Client,
    ids::{self, Pick},
    output::Output,
};
use pitcrew_model::Command;

pub async fn run(args: TaskArgs, output: Output) -> CommandResult {
    let client = Client::here().await?;
    let task = ids::task(&client, &args.task, Pick::Only).await?;
    let accepted = client.command(&Command::AcceptTask { task }).await?;
    let words = format!("{task} is accepted as it is and will be integrated");
    reply::accepted(output, args.output, &accepted, &words)
}
