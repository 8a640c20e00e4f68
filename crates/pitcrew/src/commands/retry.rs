//! Retries tasks that ended, and tasks that wait for a provider limit.

use super::{CommandResult, reply};
use crate::{
    cli::RetryArgs,
    client::Client,
    exit::Exit,
    ids::{self, Pick, Target},
    output::Output,
    render::joined,
    report::Report,
};
use pitcrew_api::paths::BoardQuery;
use pitcrew_model::{Command, Freshness, PlanId, TaskId, TaskStatus, WorkerStatus};
use pitcrew_views::BoardView;

pub async fn run(args: RetryArgs, output: Output) -> CommandResult {
    let client = Client::here().await?;
    let mut tasks: Vec<TaskId> = Vec::new();
    for id in &args.ids {
        match ids::target(&client, id, Pick::Only).await? {
            Target::Task(task) => tasks.push(task),
            Target::Plan(plan) => {
                let query = BoardQuery { all: false, plan: Some(plan) };
                tasks.extend(of_plan(&client.board(query).await?, plan)?);
            }
        }
    }
    tasks.sort_unstable();
    tasks.dedup();
    let freshness = if args.fresh { Freshness::Fresh } else { Freshness::Continue };
    let command = Command::RetryTasks { tasks: tasks.clone(), freshness };
    if let Some(tier) = args.accept_tier {
        client.command(&Command::AcceptTier { tier }).await?;
    }
    let board = client.board(BoardQuery::default()).await?;
    let accepted = client.command(&command).await?;
    reply::accepted(output, args.output, &accepted, &words(&board, &tasks))
}

/// Describes the result. A task that has not ended was waiting for a limit.
fn words(board: &BoardView, tasks: &[TaskId]) -> String {
    let is_held = |it: &TaskId| board.task(*it).is_some_and(|it| !it.status.has_ended());
    let (held, ended): (Vec<TaskId>, Vec<TaskId>) = tasks.iter().partition(|it| is_held(it));
    let held_words = match held[..] {
        [] => None,
        [task] => Some(format!("{task} tries again now")),
        _ => Some(format!("{} try again now", joined(&held))),
    };
    let ended_words = match ended[..] {
        [] => None,
        [task] => Some(format!("{task} gets another attempt")),
        _ => Some(format!("{} get another attempt each", joined(&ended))),
    };
    let parts: Vec<String> = ended_words.into_iter().chain(held_words).collect();
    parts.join("; ")
}

/// The tasks of a plan that ended without completing or that wait for a limit.
fn of_plan(board: &BoardView, plan: PlanId) -> Result<Vec<TaskId>, Report> {
    let waiting = board.sessions.iter().filter(|it| it.status == WorkerStatus::WaitingQuota);
    let is_of_plan = |it: &TaskId| board.task(*it).is_some_and(|it| it.plan == plan);
    let held: Vec<TaskId> = waiting.map(|it| it.task).filter(is_of_plan).collect();
    match retryable(board, plan) {
        Ok(ended) => Ok([ended, held].concat()),
        Err(_) if !held.is_empty() => Ok(held),
        Err(report) => Err(report),
    }
}

/// The tasks of a plan that ended without completing.
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
            .help(format!("`pitcrew status {plan}` shows its tasks")));
    }
    Ok(tasks)
}
