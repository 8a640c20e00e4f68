//! Resolves what a person typed to an id: the id itself, or a unique name.

use crate::{client::Client, exit::Exit, output::Output, report::Report};
use pitcrew_api::paths::BoardQuery;
use pitcrew_model::{PlanId, RequestId, TaskId, WorkerId};
use pitcrew_views::{BoardView, InboxView, OpenRequest};

/// A plan or a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Plan(PlanId),
    Task(TaskId),
}

/// What a name stands for if several plans or tasks have it.
#[derive(Clone, Copy)]
pub enum Pick {
    /// Nothing: the command lists them and changes nothing.
    Only,
    /// The newest, and a note says so. For commands that only read.
    Newest(Output),
}

pub async fn plan(client: &Client, text: &str, pick: Pick) -> Result<PlanId, Report> {
    if let Ok(plan) = text.parse() {
        return Ok(plan);
    }
    match named(&client.board(BoardQuery::default()).await?, text, TargetKind::Plan, pick)? {
        Target::Plan(plan) => Ok(plan),
        Target::Task(_) => unreachable!("only plans were looked for"),
    }
}

/// Like `plan`, but fails if the plan does not exist. For filters, which would otherwise find
/// nothing.
pub async fn known_plan(client: &Client, text: &str, pick: Pick) -> Result<PlanId, Report> {
    let plan = plan(client, text, pick).await?;
    let board = client.board(BoardQuery { all: false, plan: Some(plan) }).await?;
    if board.plan(plan).is_some() { Ok(plan) } else { Err(no_plan(plan)) }
}

/// The error for an unknown plan.
pub fn no_plan(plan: PlanId) -> Report {
    Report::new(Exit::Usage, format!("there is no {plan}"))
        .help("`pitcrew status --all` lists the plans")
}

/// Fails if the worker does not exist.
pub async fn known_worker(client: &Client, worker: WorkerId) -> Result<WorkerId, Report> {
    let board = client.board(BoardQuery { all: true, plan: None }).await?;
    if board.worker(worker).is_some() {
        return Ok(worker);
    }
    Err(Report::new(Exit::Usage, format!("there is no {worker}"))
        .help("`pitcrew status --all --json` lists the workers"))
}

pub async fn task(client: &Client, text: &str, pick: Pick) -> Result<TaskId, Report> {
    if let Ok(task) = text.parse() {
        return Ok(task);
    }
    match named(&client.board(BoardQuery::default()).await?, text, TargetKind::Task, pick)? {
        Target::Task(task) => Ok(task),
        Target::Plan(_) => unreachable!("only tasks were looked for"),
    }
}

pub async fn target(client: &Client, text: &str, pick: Pick) -> Result<Target, Report> {
    if let Ok(plan) = text.parse() {
        return Ok(Target::Plan(plan));
    }
    if let Ok(task) = text.parse() {
        return Ok(Target::Task(task));
    }
    named(&client.board(BoardQuery::default()).await?, text, TargetKind::Either, pick)
}

/// Resolves a request: its id, or the only open one of a plan or task.
pub async fn request(client: &Client, text: &str) -> Result<RequestId, Report> {
    match text.parse() {
        Ok(request) => Ok(request),
        Err(_) => only_request(&client.inbox().await?, text),
    }
}

/// Whether the text names one of these. A text with the form of an id is an id and never a name:
/// an agent may call its plan `plan-1`.
pub fn is_named<'a>(
    text: &str,
    plans: impl IntoIterator<Item = PlanId>,
    tasks: impl IntoIterator<Item = TaskId>,
    names: impl IntoIterator<Item = &'a str>,
) -> bool {
    if let Ok(plan) = text.parse::<PlanId>() {
        return plans.into_iter().any(|it| it == plan);
    }
    if let Ok(task) = text.parse::<TaskId>() {
        return tasks.into_iter().any(|it| it == task);
    }
    let is_id = text.parse::<WorkerId>().is_ok() || text.parse::<RequestId>().is_ok();
    !is_id && names.into_iter().any(|it| it == text)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TargetKind {
    Plan,
    Task,
    Either,
}

fn named(
    board: &BoardView,
    name: &str,
    expected: TargetKind,
    pick: Pick,
) -> Result<Target, Report> {
    let plans = board.plans.iter().filter(|it| expected != TargetKind::Task && it.name == name);
    let tasks = board.tasks.iter().filter(|it| expected != TargetKind::Plan && it.key == name);
    let mut found: Vec<(Target, String)> =
        plans.map(|it| (Target::Plan(it.id), format!("{} ({})", it.id, it.status))).collect();
    let of_plan = |plan: PlanId| board.plan(plan).map_or(String::new(), |it| it.name.clone());
    found.extend(tasks.map(|it| {
        let plan = of_plan(it.plan);
        (Target::Task(it.id), format!("{} ({}, of {} {plan})", it.id, it.status, it.plan))
    }));
    let kind = match expected {
        TargetKind::Plan => "plan",
        TargetKind::Task => "task",
        TargetKind::Either => "plan or task",
    };
    match &found[..] {
        [] => Err(Report::new(Exit::Usage, format!("there is no {kind} `{name}`"))
            .help("`pitcrew status --all` lists plans and tasks with their ids")),
        [(target, _)] => Ok(*target),
        many if let Pick::Newest(output) = pick => {
            let age = |it: &&(Target, String)| age(board, it.0);
            let (target, words) = many.iter().max_by_key(age).expect("there are several");
            output.note(&format!("note: `{name}` is {words}, the newest of {}", many.len()));
            Ok(*target)
        }
        many => {
            let message =
                format!("`{name}` is ambiguous: {} plans or tasks have this name", many.len());
            let list: Vec<&str> = many.iter().map(|it| it.1.as_str()).collect();
            Err(Report::new(Exit::Usage, message)
                .help(format!("use one of these ids: {}", list.join(", "))))
        }
    }
}

/// Orders plans and tasks by their creation: a task is newer than its plan.
fn age(board: &BoardView, target: Target) -> (PlanId, Option<TaskId>) {
    match target {
        Target::Plan(plan) => (plan, None),
        Target::Task(task) => {
            let plan = board.task(task).map_or(PlanId(0), |it| it.plan);
            (plan, Some(task))
        }
    }
}

fn only_request(inbox: &InboxView, text: &str) -> Result<RequestId, Report> {
    let belongs = |it: &&OpenRequest| {
        let (plans, tasks) = ([it.plan], it.task);
        let names = [Some(it.plan_name.as_str()), it.task_key.as_deref()];
        // A worker may give its plan the name of yours.
        let names = names.into_iter().flatten().filter(|_| it.saved_by.is_none());
        is_named(text, plans, tasks, names)
    };
    let waiting: Vec<&OpenRequest> = inbox.open.iter().filter(belongs).collect();
    match waiting[..] {
        [] => Err(Report::new(Exit::Refused, format!("no request of `{text}` is waiting for you"))
            .help("`pitcrew inbox` lists all requests")),
        [one] => Ok(one.id),
        _ => {
            let list: Vec<String> =
                waiting.iter().map(|it| format!("{} ({})", it.id, it.title)).collect();
            let message = format!("{} requests of `{text}` are waiting for you", list.len());
            Err(Report::new(Exit::Usage, message)
                .help(format!("use one of these ids: {}", list.join(", "))))
        }
    }
}
