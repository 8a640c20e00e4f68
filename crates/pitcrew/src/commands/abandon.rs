//! Abandons tasks, or a plan that will not be landed, and removes the checkouts.

use super::{CommandResult, reply};
use crate::{
    ask::{Confirmation, Person},
    cli::AbandonArgs,
    client::Client,
    exit::Exit,
    ids::{self, Pick, Target},
    output::Output,
    report::Report,
};
use pitcrew_api::paths::BoardQuery;
use pitcrew_model::{Command, LandingStatus, PlanId, PlanStatus, TaskStatus};
use pitcrew_views::PlanView;

pub async fn run(args: AbandonArgs, output: Output) -> CommandResult {
    let client = Client::here().await?;
    let (command, words) = match ids::target(&client, &args.id, Pick::Only).await? {
        Target::Task(task) => (
            Command::AbandonTask { task },
            format!("{task} is abandoned; its checkouts are removed"),
        ),
        Target::Plan(plan) => {
            let board = client.board(BoardQuery { all: false, plan: Some(plan) }).await?;
            let completed_count = board.plan(plan).map_or(0, unlanded_count);
            if completed_count > 0
                && !args.yes
                && let Some(exit) = ask(output, plan, completed_count).await?
            {
                return Ok(exit);
            }
            (Command::AbandonPlan { plan }, plan_words(plan, completed_count))
        }
    };
    let accepted = client.command(&command).await?;
    reply::accepted(output, args.output, &accepted, &words)
}

/// The number of completed tasks that exist only in the vault.
fn unlanded_count(plan: &PlanView) -> u64 {
    let can_land = match plan.landing.status {
        LandingStatus::None
        | LandingStatus::Review
        | LandingStatus::Conflict
        | LandingStatus::Signing
        | LandingStatus::Undone => true,
        LandingStatus::Merging
        | LandingStatus::Undoing
        | LandingStatus::SideBranch
        | LandingStatus::Merged
        | LandingStatus::Cleaned
        | LandingStatus::Abandoned => false,
    };
    let ended = plan.status.has_ended() && plan.status != PlanStatus::Cancelled;
    let completed_count = plan.counts.get(&TaskStatus::Completed).copied().unwrap_or(0);
    if ended && can_land { completed_count } else { 0 }
}

fn plan_words(plan: PlanId, completed_count: u64) -> String {
    let abandoned =
        format!("{plan} is abandoned; the checkouts of its uncompleted tasks are removed");
    if completed_count > 0 {
        format!("{abandoned}; `pitcrew land {plan}` can still merge the completed tasks")
    } else {
        abandoned
    }
}

/// Asks for confirmation. Returns the exit code if the person does not agree.
async fn ask(output: Output, plan: PlanId, completed_count: u64) -> Result<Option<Exit>, Report> {
    let tasks = if completed_count == 1 { "task" } else { "tasks" };
    let what = format!("{plan} has {completed_count} completed {tasks} not landed yet");
    if !output.can_ask {
        return Err(Report::new(Exit::Usage, what).help(format!(
            "review with `pitcrew diff {plan}`, then land with `pitcrew land {plan}` or abandon with `pitcrew abandon {plan} --yes`"
        )));
    }
    output.note(&what);
    let question = format!("Abandon {plan}? [y/N]");
    Ok(match Person::listen()?.confirm(output, &question).await {
        Confirmation::Yes => None,
        Confirmation::No => {
            output.note("nothing was abandoned");
            Some(Exit::Failure)
        }
        Confirmation::Interrupted => Some(Exit::Interrupted),
    })
}
