//! Shows what a task or a plan has changed.

use super::CommandResult;
use crate::{
    cli::DiffArgs,
    client::Client,
    exit::Exit,
    ids::{self, Pick, Target},
    output::Output,
    pager::Paged,
    render,
    report::Report,
};
use pitcrew_api::{Diff, PlanReview, TaskDiff, paths};

pub async fn run(args: DiffArgs, output: Output) -> CommandResult {
    let client = Client::here().await?;
    let diff = match ids::target(&client, &args.id, Pick::Newest(output)).await? {
        Target::Task(task) => {
            let found: TaskDiff = client.get(&paths::task_diff(task)).await?;
            if args.output.json {
                output.json(&found)?;
                return Ok(Exit::Success);
            }
            found.diff
        }
        Target::Plan(plan) => {
            let found: PlanReview = client.get(&paths::plan_review(plan)).await?;
            if args.output.json {
                output.json(&found)?;
                return Ok(Exit::Success);
            }
            found.diff
        }
    };
    show(&diff, args.no_pager, output)?;
    Ok(Exit::Success)
}

/// Prints the diff; unchanged if the output is not a terminal, so that `git apply` can read it.
fn show(diff: &Diff, unpaged: bool, output: Output) -> Result<(), Report> {
    if output.is_terminal {
        let mut paged = Paged::new(output, unpaged);
        paged.print(&render::diff(diff, output.out))?;
        paged.finish()?;
    } else {
        output.print(&diff.text)?;
    }
    if diff.truncated {
        output.note("note: the diff is too long and was cut; `pitcrew open TASK` shows all of it");
    }
    Ok(())
}
