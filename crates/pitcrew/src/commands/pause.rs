//! Pauses a plan.

use super::{CommandResult, reply};
use crate::{
    cli::PlanIdArgs,
    client::Client,
    ids::{self, Pick},
    output::Output,
};
use pitcrew_model::Command;

pub async fn run(args: PlanIdArgs, output: Output) -> CommandResult {
    let client = Client::here().await?;
    let plan = ids::plan(&client, &args.plan, Pick::Only).await?;
    let accepted = client.command(&Command::PausePlan { plan }).await?;
    let words = format!("{plan} is paused; continue with `pitcrew resume {plan}`");
    reply::accepted(output, args.output, &accepted, &words)
}
