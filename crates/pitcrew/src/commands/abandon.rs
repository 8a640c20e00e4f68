//! Gives up what ended tasks left in their checkouts.

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
    let target = ids::target(&client, &args.id).await?;
    let (command, whose) = match target {
        Target::Task(task) => (Command::AbandonTask { task }, task.to_string()),
        Target::Plan(plan) => (
            Command::AbandonPlan { plan },
            format!("the tasks of {plan} that ended without being completed"),
        ),
    };
    let accepted = client.command(&command).await?;
    let words = format!("the checkouts of {whose} are given up and removed");
    say::accepted(output, args.output, &accepted, &words)
}
