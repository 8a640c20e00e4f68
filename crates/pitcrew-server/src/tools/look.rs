//! Read-only calls.

use super::{Caller, Calling, Refused};
use crate::serve::{Doors, now};
use pitcrew_mcp::ToolAnswer;
use pitcrew_model::{AgentProfile, Crew, PlanId, Readiness, Rejection, TaskId};
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

pub async fn agents(doors: &Arc<Doors>) -> Result<ToolAnswer, Refused> {
    let crew = doors.crew().await?;
    let mut text = String::new();
    for (name, backend) in &crew.backends {
        let status = status(&backend.readiness);
        let line = writeln!(text, "- {name}: {status}. {}", backend.title);
        line.expect("a string takes everything");
    }
    for agent in named(&crew) {
        let status = status_of_agent(&crew, agent);
        let line = writeln!(text, "- {}: {status}. {}", agent.name, agent.description);
        line.expect("a string takes everything");
        for (what, list) in [("Good at", &agent.strengths), ("Not for", &agent.weaknesses)] {
            if !list.is_empty() {
                let line = writeln!(text, "  {what}: {}.", list.join(", "));
                line.expect("a string takes everything");
            }
        }
    }
    let backends = crew.backends.iter().map(|(name, it)| {
        json!({
            "name": name,
            "kind": "backend",
            "status": status(&it.readiness),
            "description": it.title,
            "backend": null,
            "strengths": [],
            "weaknesses": [],
            "models": [],
            "tools": [],
            "source": "",
        })
    });
    let agents = named(&crew).map(|it| {
        let tools = it.tools.as_ref().map(|it| it.capabilities.iter().map(ToString::to_string));
        json!({
            "name": it.name,
            "kind": "role",
            "status": status_of_agent(&crew, it),
            "description": it.description,
            "backend": backend_of(&crew, it),
            "strengths": it.strengths,
            "weaknesses": it.weaknesses,
            "models": it.models,
            "tools": tools.into_iter().flatten().collect::<Vec<_>>(),
            "source": it.source,
        })
    });
    let rows = backends.chain(agents).collect();
    Ok(ToolAnswer::new(text, Map::from_iter([("agents".to_owned(), rows)])))
}

/// The definitions that a name alone reaches: a backend of the same name comes first.
fn named(crew: &Crew) -> impl Iterator<Item = &AgentProfile> {
    let agents = crew.agents.values().map(AsRef::as_ref);
    agents.filter(|it: &&AgentProfile| !crew.backends.contains_key(&it.name))
}

fn backend_of<'a>(crew: &'a Crew, agent: &'a AgentProfile) -> Option<&'a str> {
    let default = || crew.default_agent.as_ref()?.backend.as_deref();
    agent.backend.as_deref().or_else(default)
}

fn status(readiness: &Readiness) -> &str {
    match readiness {
        Readiness::Ready | Readiness::NoModel | Readiness::CommandsOnly => "ready",
        Readiness::NoLogin => "no login found",
        Readiness::Missing { reason, .. } => reason,
    }
}

fn status_of_agent(crew: &Crew, agent: &AgentProfile) -> String {
    let Some(backend) = backend_of(crew, agent) else {
        return "use `backend:role`, or set `agent` in the settings".to_owned();
    };
    match crew.backends.get(backend) {
        Some(profile) => status(&profile.readiness).to_owned(),
        None => format!("there is no backend `{backend}`"),
    }
}
