//! Calls that send commands.

use super::{Caller, Calling, ReadPlan, Refused, subtask::changed};
use pitcrew_api::Created;
use pitcrew_mcp::{TaskText, ToolAnswer, ToolCall};
use pitcrew_model::{Approval, Command, CreatePlan, Event, Origin, PlanId, Rejection, RequestId};
use pitcrew_views::{Ask, OpenRequest};
use serde_json::json;
use std::time::Duration;
use tokio::time::timeout;

/// How long saving the work of an ended attempt may take.
const SAVING_TIME_MAX: Duration = Duration::from_secs(10);

/// A command that creates nothing.
pub async fn plain(calling: &Calling<'_>, call: ToolCall) -> Result<ToolAnswer, Refused> {
    let answer = call.acknowledgement();
    let order = match (call, calling.caller) {
        (ToolCall::DeployTask { task }, _) => Command::DeployTask { task },
        (ToolCall::CancelTask { task }, _) => Command::CancelTask { task },
        (ToolCall::RetryTask { task, freshness }, _) => {
            Command::RetryTasks { tasks: vec![task], freshness }
        }
        (ToolCall::Complete { claim, summary }, Caller::Worker { attempt, .. }) => {
            Command::CompleteTask { attempt, claim, summary, output: None }
        }
        (
            ToolCall::DecidePermissions { requests, verdict, reason },
            Caller::Worker { attempt, .. },
        ) => Command::DecideForChild { attempt, requests, verdict, reason },
        (ToolCall::Notify { kind, message, to, reply_to }, Caller::Worker { attempt, .. }) => {
            Command::Notify { attempt, kind, message, to, reply_to }
        }
        (call, caller) => unreachable!("{call:?} of {caller:?} has no order of its own"),
    };
    when_put_away(calling, order).await?;
    Ok(answer)
}

/// Retries a command that is rejected while the last attempt is being saved, because that is
/// temporary.
async fn when_put_away(calling: &Calling<'_>, order: Command) -> Result<(), Refused> {
    let mut changes = calling.doors.orchestrator.handle().changes();
    let ordered = async {
        loop {
            changes.borrow_and_update();
            match calling.try_order(order.clone()).await {
                Err(Rejection::StillSaving { .. }) => changed(calling, &mut changes).await?,
                Err(rejection) => return Err(rejection.into()),
                Ok(_) => return Ok(()),
            }
        }
    };
    match timeout(SAVING_TIME_MAX, ordered).await {
        Ok(ordered) => ordered,
        Err(_) => calling.order(order.clone()).await.map(|_| ()),
    }
}

pub async fn save_plan(calling: &Calling<'_>, text: &str) -> Result<ToolAnswer, Refused> {
    let ReadPlan { spec, warnings } = read(calling, text).await?;
    let (origin, approval) = (Origin::File, Approval::Ask);
    let keys: Vec<String> = spec.tasks.iter().map(|it| it.key.clone()).collect();
    let create = CreatePlan { spec, origin, clean_base: false, approval, default_agent: None };
    let accepted = calling.order(Command::CreatePlan(create)).await?;
    let created = Created::from_events(accepted.entries.iter().map(|it| &it.event));
    let Some(plan) = created.plan else {
        let text = "The plan already exists. Call orchestrator_list_workers to see it.";
        return Ok(ToolAnswer::accepted(text, json!({})));
    };
    let request = created.requests.first();
    let tasks = created.tasks.iter().zip(&keys).map(|(task, key)| format!("{task} `{key}`"));
    let tasks = tasks.collect::<Vec<_>>().join(", ");
    let mut text = match request {
        Some(request) => format!(
            "Created {plan}: {tasks}. It waits for approval: ask the person to run `pitcrew approve {request}`."
        ),
        None => format!("Created {plan}: {tasks}. It is running."),
    };
    for warning in &warnings {
        text.push_str("\n\n");
        text.push_str(warning);
    }
    let more = json!({
        "plan": plan,
        "tasks": created.tasks,
        "request": request,
        "warnings": warnings,
    });
    Ok(ToolAnswer::accepted(text, more))
}

pub async fn add_task(
    calling: &Calling<'_>,
    plan: PlanId,
    task: &TaskText,
) -> Result<ToolAnswer, Refused> {
    let read = read(calling, &task.text).await?;
    let Some(mut spec) = read.spec.tasks.into_iter().next() else {
        return Err(Refused::Rejected("the task could not be read".into()));
    };
    spec.depends_on.clone_from(&task.depends_on);
    let accepted = calling.order(Command::AddTask { plan, task: Box::new(spec) }).await?;
    let events = || accepted.entries.iter().map(|it| &it.event);
    let created = Created::from_events(events());
    let held = events().any(|it| matches!(it, Event::TaskHeld { .. }));
    let Some(task) = created.tasks.first() else {
        let text = "The task already exists. Call orchestrator_list_workers to see it.";
        return Ok(ToolAnswer::accepted(text, json!({})));
    };
    let request = waiting_request(calling, plan);
    let text = match (held, request) {
        (true, _) => format!(
            "Added {task}. {plan} was approved without it: ask the person to run `pitcrew deploy {task}`."
        ),
        (false, Some(request)) => format!(
            "Added {task}. {plan} waits for approval: ask the person to look at {request} with `pitcrew inbox`, which shows how to approve it."
        ),
        (false, None) => format!("Added {task} to {plan}."),
    };
    let waits = held || request.is_some();
    Ok(ToolAnswer::accepted(text, json!({ "task": task, "waits_for_person": waits })))
}

/// The request that the plan waits for before it runs.
fn waiting_request(calling: &Calling<'_>, plan: PlanId) -> Option<RequestId> {
    let views = calling.doors.orchestrator.handle().views();
    let open = views.inbox.view(&views.board).open;
    let is_it = |it: &&OpenRequest| it.plan == plan && matches!(it.ask, Ask::PlanExecution { .. });
    open.iter().find(is_it).map(|it| it.id)
}

/// Runs on a blocking thread, because it may take a while.
async fn read(calling: &Calling<'_>, text: &str) -> Result<ReadPlan, Refused> {
    let (desk, text) = (calling.doors.desk.clone(), text.to_owned());
    let read = tokio::task::spawn_blocking(move || desk.read_plan(&text)).await;
    match read {
        Ok(read) => read.map_err(Refused::Rejected),
        Err(panic) => Err(Refused::Rejected(format!("the plan could not be read: {panic}"))),
    }
}
