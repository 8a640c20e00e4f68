//! Cancels a task or a plan.

use super::{Done, say};
use crate::{
    cli::IdArgs,
    client::Client,
    ids::{self, Target},
    output::Output,
};
use pitcrew_model::Command;

pub async fn run(args: IdArgs, output: Output) -> Done {
    let client = Client::here().await?;
    let (command, words) = match ids::target(&client, &args.id).await? {
        Target::Task(task) => (
            Command::CancelTask { task },
            format!("{task} is cancelled; take it up again with: pitcrew retry {task}"),
        ),
        Target::Plan(plan) => (
            Command::CancelPlan { plan },
            format!("{plan} is cancelled; what had not ended is cancelled with it"),
        ),
    };
    let accepted = client.command(&command).await?;
    say::accepted(output, args.output, &accepted, &words)
}
