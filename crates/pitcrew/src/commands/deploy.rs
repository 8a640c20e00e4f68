//! Starts a task of a plan with manual deployment.

use super::{Done, say};
use crate::{cli::TaskArgs, client::Client, ids, output::Output};
use pitcrew_model::Command;

pub async fn run(args: TaskArgs, output: Output) -> Done {
    let client = Client::here().await?;
    let task = ids::task(&client, &args.task).await?;
    let accepted = client.command(&Command::DeployTask { task }).await?;
    let words = format!(
        "{task} is deployed; it starts when its dependencies are integrated and a slot is free"
    );
    say::accepted(output, args.output, &accepted, &words)
}
