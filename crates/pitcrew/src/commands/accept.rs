//! Takes the work of a task although it is only a part.

use super::{Done, say};
use crate::{cli::TaskArgs, client::Client, ids, output::Output};
use pitcrew_model::Command;

pub async fn run(args: TaskArgs, output: Output) -> Done {
    let client = Client::here().await?;
    let task = ids::task(&client, &args.task).await?;
    let accepted = client.command(&Command::AcceptTask { task }).await?;
    let words = format!("{task} is taken as it is and goes into the integration branch");
    say::accepted(output, args.output, &accepted, &words)
}
