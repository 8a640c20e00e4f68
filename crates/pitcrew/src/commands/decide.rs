//! Approves or denies a request.

use super::{CommandResult, reply, travel};
use crate::{
    cli::{ApproveArgs, DenyArgs, Json},
    client::Client,
    exit::Exit,
    ids,
    output::Output,
    report::Report,
};
use pitcrew_model::{Command, GrantScope, Verdict, WorkerId};
use pitcrew_views::{Ask, OpenRequest};

pub async fn approve(args: ApproveArgs, output: Output) -> CommandResult {
    let ApproveArgs { id, reason, scope, tasks: shown, output: form } = args;
    run(Decision { id, verdict: Verdict::Approve, reason, scope, shown }, form, output).await
}

pub async fn deny(args: DenyArgs, output: Output) -> CommandResult {
    let DenyArgs { id, all, reason, output: form } = args;
    if all {
        return deny_all(&id, reason, form, output).await;
    }
    let scope = GrantScope::Once;
    run(Decision { id, verdict: Verdict::Deny, reason, scope, shown: None }, form, output).await
}

struct Decision {
    id: String,
    verdict: Verdict,
    reason: Option<String>,
    scope: GrantScope,
    shown: Option<u32>,
}

/// Denies every open request of a worker, a task or a plan, and the plans that it has saved.
async fn deny_all(id: &str, reason: Option<String>, form: Json, output: Output) -> CommandResult {
    let client = Client::here().await?;
    let open = client.inbox().await?.open;
    let is_question = |it: &OpenRequest| matches!(it.ask, Ask::Question { .. });
    let (questions, requests): (Vec<_>, Vec<_>) =
        open.into_iter().filter(|it| belongs(it, id)).partition(is_question);
    if requests.is_empty() {
        let message = format!("no request of `{id}` is waiting for you");
        return Err(Report::new(Exit::Refused, message)
            .help("`pitcrew inbox` lists all requests with their workers, tasks and plans"));
    }
    let mut denied = Vec::new();
    for request in requests.iter().map(|it| it.id) {
        let (verdict, scope, shown) = (Verdict::Deny, GrantScope::Once, None);
        let reason = reason.clone();
        let command = Command::DecideRequest { request, verdict, reason, scope, shown };
        match client.command(&command).await {
            Ok(_) => denied.push(request),
            // Another decision may have closed it.
            Err(report) => output.note(report.render(output.err).trim_end()),
        }
    }
    if form.json {
        output.json(&serde_json::json!({ "denied": denied }))?;
    } else {
        let list: Vec<String> = denied.iter().map(ToString::to_string).collect();
        output.print(&format!("denied: {}\n", list.join(", ")))?;
        for question in &questions {
            output.note(&format!("{} is a question: answer it", question.id));
        }
    }
    Ok(if denied.len() == requests.len() { Exit::Success } else { Exit::Refused })
}

/// Whether a worker, task or plan has made the request, or has saved the plan that it is about.
fn belongs(request: &OpenRequest, id: &str) -> bool {
    if let Ok(worker) = id.parse::<WorkerId>() {
        return request.worker == Some(worker) || request.saved_by.is_some_and(|it| it.0 == worker);
    }
    let tasks = request.task.into_iter().chain(request.saved_by.map(|it| it.1));
    let names = [Some(request.plan_name.as_str()), request.task_key.as_deref()];
    ids::is_named(id, [request.plan], tasks, names.into_iter().flatten())
}

async fn run(decision: Decision, form: Json, output: Output) -> CommandResult {
    let client = Client::here().await?;
    let Decision { id, verdict, reason, scope, shown } = decision;
    let request = ids::request(&client, &id).await?;
    // Fetched before the decision closes the request.
    let waiting = client.inbox().await?.open.into_iter().find(|it| it.id == request);
    let travelling = waiting.as_ref().filter(|_| verdict == Verdict::Approve && !form.json);
    let travelling = travelling.and_then(|it| travel::of_request(&client.workspace, it));
    let command = Command::DecideRequest { request, verdict, reason, scope, shown };
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
