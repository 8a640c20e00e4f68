//! Approves or denies a request.

use super::{CommandResult, reply, travel};
use crate::{
    cli::{ApproveArgs, DenyArgs, Json},
    client::Client,
    ids,
    output::Output,
};
use pitcrew_model::{Command, GrantScope, Verdict};
use pitcrew_views::Ask;

pub async fn approve(args: ApproveArgs, output: Output) -> CommandResult {
    let ApproveArgs { id, reason, scope, output: form } = args;
    run(Decision { id, verdict: Verdict::Approve, reason, scope }, form, output).await
}

pub async fn deny(args: DenyArgs, output: Output) -> CommandResult {
    let DenyArgs { id, reason, output: form } = args;
    run(Decision { id, verdict: Verdict::Deny, reason, scope: GrantScope::Once }, form, output)
        .await
}

struct Decision {
    id: String,
    verdict: Verdict,
    reason: Option<String>,
    scope: GrantScope,
}

async fn run(decision: Decision, form: Json, output: Output) -> CommandResult {
    let client = Client::here().await?;
    let Decision { id, verdict, reason, scope } = decision;
    let request = ids::request(&client, &id).await?;
    // Fetched before the decision closes the request.
    let waiting = client.inbox().await?.open.into_iter().find(|it| it.id == request);
    let travelling = waiting.as_ref().filter(|_| verdict == Verdict::Approve && !form.json);
    let travelling = travelling.and_then(|it| travel::of_request(&client.workspace, it));
    let command = Command::DecideRequest { request, verdict, reason, scope };
    let accepted = client.command(&command).await?;
    for line in travelling.into_iter().flatten() {
        output.note(&line);
    }
    let plan = waiting.as_ref().map(|it| it.plan);
    let words = match (verdict, waiting.map(|it| it.ask), plan) {
        (Verdict::Approve, Some(Ask::PlanExecution { .. }), Some(plan)) => {
            format!(
                "{request} is approved: {plan} is running; follow it with `pitcrew watch {plan}`"
            )
        }
        (Verdict::Approve, Some(Ask::BranchMerge { .. }), Some(plan)) => {
            format!("{request} is approved: {plan} is landing; see `pitcrew status {plan}`")
        }
        (Verdict::Deny, Some(Ask::PlanExecution { .. }), Some(plan)) => {
            format!("{request} is denied: {plan} is cancelled and nothing was run")
        }
        (Verdict::Deny, Some(Ask::BranchMerge { .. }), Some(plan)) => {
            format!("{request} is denied: {plan} is not landed")
        }
        (Verdict::Approve, _, _) => match scope {
            GrantScope::Once => format!("{request} is approved"),
            GrantScope::Task => {
                format!("{request} is approved, and so is the same action in its task")
            }
            GrantScope::Plan => {
                format!("{request} is approved, and so is the same action in its plan")
            }
            GrantScope::Always => {
                format!("{request} is approved, and so is the same action from now on")
            }
        },
        (Verdict::Deny, _, _) => format!("{request} is denied"),
    };
    reply::accepted(output, form, &accepted, &words)
}
