//! Read-only calls.

use super::{Caller, Calling, Refused};
use crate::serve::{Doors, now};
use pitcrew_mcp::ToolAnswer;
use pitcrew_model::{PlanId, Rejection, TaskId};
use pitcrew_views::{BoardView, Scope, TaskView};
use serde_json::{Map, Value, json};
use std::{fmt::Write as _, sync::Arc};

/// A worker sees only the plan that it works on.
pub async fn workers(
    calling: &Calling<'_>,
    plan: Option<PlanId>,
    all: bool,
) -> Result<ToolAnswer, Refused> {
    let handle = calling.doors.orchestrator.handle();
    let scope = match (calling.caller, plan) {
        (Caller::Worker { attempt, .. }, plan) => {
            let standing = handle.standing(attempt).await.ok_or(Rejection::ShuttingDown)?;
            if let Some(other) = plan.filter(|it| *it != standing.plan) {
                let own = standing.plan;
                return Err(Refused::Rejected(format!(
                    "you cannot see {other}: your plan is {own}"
                )));
            }
            Scope::Only(standing.plan)
        }
        (Caller::Client, Some(plan)) => Scope::Only(plan),
        (Caller::Client, None) if all => Scope::All,
        (Caller::Client, None) => Scope::Current,
    };
    let board = handle.views().board.view(now(), scope);
    Ok(ToolAnswer::new(text(&board), structured(&board)))
}

fn text(board: &BoardView) -> String {
    let mut text = format!("{} of {} slots are taken.\n", board.slots_taken, board.agents_max);
    if board.plans.is_empty() {
        text.push_str("There are no plans.\n");
    }
    for plan in &board.plans {
        let line = writeln!(text, "\n{} `{}`: {}", plan.id, plan.name, plan.status);
        line.expect("a string takes everything");
        for task in board.tree_of(plan.id) {
            let reason = task.reason.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
            let worker = task.worker.map(|it| format!(", {it}")).unwrap_or_default();
            let depth = task.subtask.as_ref().map_or(0, |it| it.depth as usize);
            let (indent, name, agent) = ("  ".repeat(depth), task.name(), &task.agent);
            let status = task.status;
            let line = writeln!(text, "{indent}- {name} by {agent}{worker}: {status}{reason}");
            line.expect("a string takes everything");
        }
    }
    text
}

fn structured(board: &BoardView) -> Map<String, Value> {
    let plans =
        board.plans.iter().map(|it| json!({ "id": it.id, "name": it.name, "status": it.status }));
    let name_of = |task: TaskId| board.units().find(|it| it.id == task).map(TaskView::known_as);
    let tasks = board.units().map(|it| {
        json!({
            "id": it.known_as(),
            "parent": it.subtask.as_ref().and_then(|it| name_of(it.parent_task)),
            "key": it.key,
            "plan": it.plan,
            "status": it.status,
            "agent": it.agent,
            "waits_for": it.reason,
            "worker": it.worker,
        })
    });
    let live = board.workers.iter().filter(|it| !it.status.has_ended());
    let workers = live.map(|it| {
        let activity = it.activity.as_ref().map(|it| &it.note);
        json!({ "id": it.id, "task": name_of(it.task), "status": it.status, "activity": activity })
    });
    let slots = json!({ "taken": board.slots_taken, "max": board.agents_max });
    Map::from_iter([
        ("plans".to_owned(), plans.collect()),
        ("tasks".to_owned(), tasks.collect()),
        ("workers".to_owned(), workers.collect()),
        ("slots".to_owned(), slots),
    ])
}

pub async fn agents(doors: &Arc<Doors>) -> ToolAnswer {
    let desk = doors.desk.clone();
    let looked = tokio::task::spawn_blocking(move || desk.agents()).await;
    let agents = looked.unwrap_or_default();
    let mut text = String::new();
    for agent in &agents {
        let line = writeln!(text, "- {}: {}. {}", agent.name, agent.status, agent.description);
        line.expect("a string takes everything");
        let Some(role) = &agent.role else { continue };
        for (what, list) in [("Good at", &role.strengths), ("Not for", &role.weaknesses)] {
            if !list.is_empty() {
                let line = writeln!(text, "  {what}: {}.", list.join(", "));
                line.expect("a string takes everything");
            }
        }
    }
    let rows = agents.iter().map(|it| {
        let role = it.role.clone().unwrap_or_default();
        json!({
            "name": it.name,
            "kind": if it.role.is_some() { "role" } else { "backend" },
            "status": it.status,
            "description": it.description,
            "backend": role.backend,
            "strengths": role.strengths,
            "weaknesses": role.weaknesses,
            "models": role.models,
            "tools": role.tools,
            "source": role.source,
        })
    });
    ToolAnswer::new(text, Map::from_iter([("agents".to_owned(), rows.collect())]))
}
