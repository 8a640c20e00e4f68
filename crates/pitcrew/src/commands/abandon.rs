//! Gives up what ended tasks left in their checkouts, and a plan that is not to be landed.

use super::{Done, say};
use crate::{
    ask::{Person, Verdict},
    cli::AbandonArgs,
    client::Client,
    exit::Exit,
    ids::{self, Target},
    output::Output,
    report::Report,
};
use pitcrew_api::paths::BoardQuery;
use pitcrew_model::{Command, LandingStatus, PlanId, PlanStatus, TaskStatus};
use pitcrew_views::PlanView;

pub async fn run(args: AbandonArgs, output: Output) -> Done {
    let client = Client::here().await?;
    let (command, words) = match ids::target(&client, &args.id).await? {
        Target::Task(task) => (
            Command::AbandonTask { task },
            format!("the checkouts of {task} are given up and removed"),
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
    say::accepted(output, args.output, &accepted, &words)
}

/// Completed tasks whose work only the vault has.
fn unlanded_count(plan: &PlanView) -> u64 {
    let can_land = match plan.landing.status {
        LandingStatus::None | LandingStatus::Review | LandingStatus::Conflict => true,
        LandingStatus::Merging
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
    let checkouts =
        format!("the checkouts of the tasks of {plan} that ended without being completed");
    if completed_count > 0 {
        format!(
            "{plan} is given up, with {checkouts}; what is completed stays saved: pitcrew land {plan}"
        )
    } else {
        format!("{checkouts} are given up and removed")
    }
}

/// The exit code, unless the person agrees.
async fn ask(output: Output, plan: PlanId, completed_count: u64) -> Result<Option<Exit>, Report> {
    let tasks = if completed_count == 1 { "task" } else { "tasks" };
    let what = format!("{plan} has {completed_count} completed {tasks} that are not landed");
    if !output.asks {
        return Err(Report::new(Exit::Usage, what).help(format!(
            "look with `pitcrew diff {plan}`; land it with `pitcrew land {plan}`, or give it up with `pitcrew abandon {plan} --yes`"
        )));
    }
    output.note(&what);
    let question = format!("Give up {plan}? [y/N]");
    Ok(match Person::listen()?.confirm(output, &question).await {
        Verdict::Yes => None,
        Verdict::No => {
            output.note("nothing was given up");
            Some(Exit::Failure)
        }
        Verdict::Interrupted => Some(Exit::Interrupted),
    })
}
