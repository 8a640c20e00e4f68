//! Starts a task of a plan with manual deployment.

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
    let accepted = client.command(&Command::DeployTask { task }).await?;
    let words = format!(
        "{task} is deployed; it starts when its dependencies are integrated and a slot is free"
    );
    reply::accepted(output, args.output, &accepted, &words)
}
