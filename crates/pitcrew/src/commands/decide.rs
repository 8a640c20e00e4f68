//! Allows or refuses what waits for the person.

use super::{Done, say};
use crate::{cli::DecideArgs, client::Client, ids, output::Output};
use pitcrew_model::{Command, Verdict};
use pitcrew_views::Ask;

pub async fn run(args: DecideArgs, verdict: Verdict, output: Output) -> Done {
    let client = Client::here().await?;
    let request = ids::request(&client, &args.id).await?;
    // Looked up before, while it is still there to be seen.
    let waiting = client.inbox().await?.open.into_iter().find(|it| it.id == request);
    let command = Command::DecideRequest { request, verdict, reason: args.reason };
    let accepted = client.command(&command).await?;
    let plan = waiting.as_ref().map(|it| it.plan);
    let words = match (verdict, waiting.map(|it| it.ask), plan) {
        (Verdict::Approve, Some(Ask::PlanExecution { .. }), Some(plan)) => {
            format!("{request} is approved: {plan} runs; follow it with: pitcrew watch {plan}")
        }
        (Verdict::Approve, Some(Ask::BranchMerge { .. }), Some(plan)) => {
            format!("{request} is approved: {plan} is being landed; see: pitcrew status {plan}")
        }
        (Verdict::Deny, Some(Ask::PlanExecution { .. }), Some(plan)) => {
            format!("{request} is denied: {plan} is cancelled, nothing of it has run")
        }
        (Verdict::Deny, Some(Ask::BranchMerge { .. }), Some(plan)) => {
            format!("{request} is denied: {plan} stays as it is")
        }
        (Verdict::Approve, _, _) => format!("{request} is approved"),
        (Verdict::Deny, _, _) => format!("{request} is denied"),
    };
    say::accepted(output, args.output, &accepted, &words)
}
