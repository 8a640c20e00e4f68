//! Cancels a task or a plan.

use super::{CommandResult, reply};
use crate::{
    cli::IdArgs,
    client::Client,
    ids::{self, Pick, Target},
    output::Output,
};
use pitcrew_api::paths::BoardQuery;
use pitcrew_model::{Command, TaskStatus};

pub async fn run(args: IdArgs, output: Output) -> CommandResult {
    let client = Client::here().await?;
    let (command, words) = match ids::target(&client, &args.id, Pick::Only).await? {
        Target::Task(task) => (
            Command::CancelTask { task },
            format!("{task} is cancelled; start it again with `pitcrew retry {task}`"),
        ),
        Target::Plan(plan) => {
            let board = client.board(BoardQuery { all: false, plan: Some(plan) }).await?;
            let counts = board.plan(plan).map(|it| &it.counts);
            let is_done = counts.is_some_and(|it| it.contains_key(&TaskStatus::Completed));
            let done = if is_done {
                format!("; land the completed tasks with `pitcrew land {plan}`")
            } else {
                String::new()
            };
            (
                Command::CancelPlan { plan },
                format!("{plan} is cancelled with all unfinished tasks{done}"),
            )
        }
    };
    let accepted = client.command(&command).await?;
    reply::accepted(output, args.output, &accepted, &words)
}
