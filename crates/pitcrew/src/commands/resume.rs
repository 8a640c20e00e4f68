//! Resumes a paused plan.

use super::{Done, say};
use crate::{cli::PlanIdArgs, client::Client, ids, output::Output};
use pitcrew_model::Command;

pub async fn run(args: PlanIdArgs, output: Output) -> Done {
    let client = Client::here().await?;
    let plan = ids::plan(&client, &args.plan).await?;
    let accepted = client.command(&Command::ResumePlan { plan }).await?;
    let words = format!("{plan} is resumed; follow it with `pitcrew watch {plan}`");
    say::accepted(output, args.output, &accepted, &words)
}
