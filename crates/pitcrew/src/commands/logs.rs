//! Shows the log of a task or the events of a plan.

use super::CommandResult;
use crate::{
    cli::LogsArgs,
    client::{Client, StreamItem},
    exit::Exit,
    ids::{self, Pick, Target},
    output::Output,
    pager::Paged,
    render::{LogText, Prompts, log_event},
    report::Report,
};
use pitcrew_api::{EventStreamLine, LogStreamLine, paths};
use pitcrew_model::{AttemptId, Event, Failure, PlanId, Seq, TaskId};
use pitcrew_views::{Attempt, TaskView, plain, words::stamp};
use std::collections::BTreeMap;

pub async fn run(args: LogsArgs, output: Output) -> CommandResult {
    let client = Client::here().await?;
    match ids::target(&client, &args.id, Pick::Newest(output)).await? {
        Target::Task(task) => task_log(&client, task, &args, output).await,
        Target::Plan(plan) => plan_log(&client, plan, &args, output).await,
    }
}

async fn task_log(client: &Client, task: TaskId, args: &LogsArgs, output: Output) -> CommandResult {
    let board = client.board(paths::BoardQuery { all: true, plan: None }).await?;
    let task_view = board.task(task);
    let prompts = if args.prompt { Prompts::Whole } else { Prompts::Folded };
    let outcomes = task_view.map(outcomes).unwrap_or_default();
    let mut paged = paged(args, output);
    let mut text = LogText::new(output.out, prompts, outcomes);
    let mut from = 0;
    loop {
        let query = paths::LogQuery { from, follow: args.follow };
        let mut lines = client.stream(&paths::task_log(task, query)).await?;
        loop {
            let line = match lines.next().await {
                StreamItem::Line(line) => line,
                StreamItem::End => {
                    if from == 0 {
                        explain_empty_log(task, task_view, output);
                    }
                    paged.finish()?;
                    return Ok(Exit::Success);
                }
                // The stream continues after the last line when the orchestrator is back.
                StreamItem::Broken(_) => break,
            };
            let LogStreamLine::Log(line) = read(&line)? else { continue };
            from = line.number;
            if args.output.json {
                output.json(&LogStreamLine::Log(line))?;
            } else {
                paged.line(&text.show(&line))?;
            }
        }
    }
}

/// What grows is not paged.
fn paged(args: &LogsArgs, output: Output) -> Paged {
    Paged::new(output, args.no_pager || args.follow || args.output.json)
}

/// How each attempt ended. A pause or a restart is no failure.
fn outcomes(task: &TaskView) -> BTreeMap<AttemptId, String> {
    let word = |it: &Attempt| match (&it.failure, it.outcome?) {
        (Some(Failure::Interrupted), _) => Some("interrupted".to_owned()),
        (_, outcome) => Some(outcome.to_string()),
    };
    task.attempts.iter().filter_map(|it| Some((it.id, word(it)?))).collect()
}

/// Explains why a log is empty.
fn explain_empty_log(task: TaskId, view: Option<&TaskView>, output: Output) {
    let why = view.and_then(|it| it.reason.as_deref()).map(|it| format!(": {}", plain::line(it)));
    output.note(&format!("{task} has not started{}", why.unwrap_or_default()));
}

/// Prints every event of a plan that has a text.
async fn plan_log(client: &Client, plan: PlanId, args: &LogsArgs, output: Output) -> CommandResult {
    let query = paths::BoardQuery { all: false, plan: Some(plan) };
    let board = client.board(query).await?;
    let Some(view) = board.plan(plan) else {
        return Err(ids::no_plan(plan));
    };
    let mut paged = paged(args, output);
    if !args.output.json {
        let began = stamp(view.created_at).replace('T', " ");
        let heading = format!("{plan} {}, {began} UTC", plain::line(&view.name));
        paged.line(&output.out.bold(&heading))?;
    }
    let mut after = Seq(0);
    loop {
        let query = paths::EventsQuery { after, follow: args.follow };
        let mut lines = client.stream(&paths::events(query)).await?;
        loop {
            let line = match lines.next().await {
                StreamItem::Line(line) => line,
                StreamItem::End if !args.follow => {
                    paged.finish()?;
                    return Ok(Exit::Success);
                }
                StreamItem::End | StreamItem::Broken(_) => break,
            };
            let EventStreamLine::Event(line) = read(&line)? else { continue };
            after = line.seq;
            let Some(text) = line.text.as_deref().filter(|_| line.plan == Some(plan)) else {
                continue;
            };
            let ended = matches!(line.entry.known().map(|it| &it.event),
                Some(Event::PlanMoved { to, .. }) if to.has_ended());
            if args.output.json {
                output.json(&EventStreamLine::Event(line))?;
            } else {
                let since_ms = line.at.since(view.created_at);
                paged.line(&log_event(text, since_ms, output.out))?;
            }
            if ended && args.follow {
                return Ok(Exit::Success);
            }
        }
    }
}

fn read<T: serde::de::DeserializeOwned>(line: &[u8]) -> Result<T, Report> {
    serde_json::from_slice(line).map_err(|error| {
        Report::new(Exit::Failure, "the orchestrator sent a line that cannot be parsed")
            .because(error.to_string())
    })
}

/// Prints the events of a plan since `after`, one per line.
pub async fn print_events(
    client: &Client,
    output: Output,
    plan: PlanId,
    after: Seq,
) -> Result<(), Report> {
    let query = paths::EventsQuery { after, follow: false };
    let mut lines = client.stream(&paths::events(query)).await?;
    while let StreamItem::Line(line) = lines.next().await {
        let EventStreamLine::Event(line) = read(&line)? else { continue };
        if line.plan == Some(plan) {
            output.json(&EventStreamLine::Event(line))?;
        }
    }
    Ok(())
}
