//! Gives tasks that ended one more attempt.

use super::{Done, say};
use crate::{
    cli::RetryArgs,
    client::Client,
    exit::Exit,
    ids::{self, Target},
    output::Output,
    render::joined,
    report::Report,
};
use pitcrew_api::paths::BoardQuery;
use pitcrew_model::{Command, Freshness, PlanId, TaskId, TaskStatus};
use pitcrew_views::BoardView;

pub async fn run(args: RetryArgs, output: Output) -> Done {
    let client = Client::here().await?;
    let mut tasks: Vec<TaskId> = Vec::new();
    for id in &args.ids {
        match ids::target(&client, id).await? {
            Target::Task(task) => tasks.push(task),
            Target::Plan(plan) => {
                let query = BoardQuery { all: false, plan: Some(plan) };
                tasks.extend(retryable(&client.board(query).await?, plan)?);
            }
        }
    }
    tasks.sort_unstable();
    tasks.dedup();
    let freshness = if args.fresh { Freshness::Fresh } else { Freshness::Continue };
    let command = Command::RetryTasks { tasks: tasks.clone(), freshness };
    let accepted = client.command(&command).await?;
    let words = match tasks[..] {
        [task] => format!("{task} gets one more attempt"),
        _ => format!("{} get one more attempt each", joined(&tasks)),
    };
    say::accepted(output, args.output, &accepted, &words)
}

/// The tasks of a plan that ended without being completed.
pub fn retryable(board: &BoardView, plan: PlanId) -> Result<Vec<TaskId>, Report> {
    if board.plan(plan).is_none() {
        return Err(Report::new(Exit::Usage, format!("there is no {plan}"))
            .help("`pitcrew status --all` lists the plans"));
    }
    let ended = board
        .tasks_of(plan)
        .filter(|it| it.status.has_ended() && it.status != TaskStatus::Completed);
    let tasks: Vec<TaskId> = ended.map(|it| it.id).collect();
    if tasks.is_empty() {
        return Err(Report::new(Exit::Refused, format!("{plan} has no task to retry"))
            .help(format!("`pitcrew status {plan}` shows where its tasks stand")));
    }
    Ok(tasks)
}
