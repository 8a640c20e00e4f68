//! Shows what the agent of a task said and did, or what happened to a plan.

use super::Done;
use crate::{
    cli::LogsArgs,
    client::{Client, Next},
    exit::Exit,
    ids::{self, Target},
    output::Output,
    render,
    report::Report,
};
use pitcrew_api::{EventStreamLine, LogStreamLine, paths};
use pitcrew_model::{Event, PlanId, Seq, TaskId};
use pitcrew_views::plain;

pub async fn run(args: LogsArgs, output: Output) -> Done {
    let client = Client::here().await?;
    match ids::target(&client, &args.id).await? {
        Target::Task(task) => task_log(&client, task, &args, output).await,
        Target::Plan(plan) => plan_log(&client, plan, &args, output).await,
    }
}

async fn task_log(client: &Client, task: TaskId, args: &LogsArgs, output: Output) -> Done {
    let mut from = 0;
    loop {
        let query = paths::LogQuery { from, follow: args.follow };
        let mut lines = client.stream(&paths::task_log(task, query)).await?;
        loop {
            let line = match lines.next().await {
                Next::Line(line) => line,
                Next::End => return Ok(Exit::Success),
                // The stream goes on after the last line once the orchestrator is back.
                Next::Broken(_) => break,
            };
            let LogStreamLine::Log(line) = read(&line)? else { continue };
            from = line.number;
            if args.output.json {
                output.json(&LogStreamLine::Log(line))?;
            } else {
                output.line(&render::log_line(&line, output.out))?;
            }
        }
    }
}

/// Every event of a plan that is told in words.
async fn plan_log(client: &Client, plan: PlanId, args: &LogsArgs, output: Output) -> Done {
    let query = paths::BoardQuery { all: false, plan: Some(plan) };
    if client.board(query).await?.plan(plan).is_none() {
        return Err(Report::new(Exit::Usage, format!("there is no {plan}"))
            .help("`pitcrew status --all` lists the plans"));
    }
    let mut after = Seq(0);
    loop {
        let query = paths::EventsQuery { after, follow: args.follow };
        let mut lines = client.stream(&paths::events(query)).await?;
        loop {
            let line = match lines.next().await {
                Next::Line(line) => line,
                Next::End if !args.follow => return Ok(Exit::Success),
                Next::End | Next::Broken(_) => break,
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
                output.line(&plain::line(text))?;
            }
            if ended && args.follow {
                return Ok(Exit::Success);
            }
        }
    }
}

fn read<T: serde::de::DeserializeOwned>(line: &[u8]) -> Result<T, Report> {
    serde_json::from_slice(line).map_err(|error| {
        Report::new(Exit::Failure, "the orchestrator sent a line that cannot be read")
            .because(error.to_string())
    })
}

/// Prints the events of a plan since `after`, one a line.
pub async fn print_events(
    client: &Client,
    output: Output,
    plan: PlanId,
    after: Seq,
) -> Result<(), Report> {
    let query = paths::EventsQuery { after, follow: false };
    let mut lines = client.stream(&paths::events(query)).await?;
    while let Next::Line(line) = lines.next().await {
        let EventStreamLine::Event(line) = read(&line)? else { continue };
        if line.plan == Some(plan) {
            output.json(&EventStreamLine::Event(line))?;
        }
    }
    Ok(())
}
