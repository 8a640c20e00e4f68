//! The log of a task: the steps of each attempt from the journal, merged with its conversation with
//! the agent, as a live stream. Data only; the client formats it.

mod merge;
mod talk;
mod steps;
mod collector;

use crate::{
    serve::{Doors, now},
    streams::{Broken, HEARTBEAT, Lines},
};
use collector::Collector;
use merge::Until;
use pitcrew_api::{LogFact, LogLine, LogSource, LogStreamLine, paths::LogQuery};
use pitcrew_model::{TaskId, Timestamp};
use pitcrew_views::TaskView;
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, sleep};

/// How often a growing conversation is polled.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A log line without its number.
struct LogEntry {
    at: Timestamp,
    source: LogSource,
    text: String,
    fact: Option<LogFact>,
}

/// The current state of the task.
struct TaskNow {
    task: TaskView,
    /// The setup commands of its plan.
    setup: Vec<String>,
}

pub async fn write(
    doors: Arc<Doors>,
    task: TaskId,
    query: LogQuery,
    lines: Lines,
) -> Result<(), Broken> {
    let mut collector = Collector::default();
    let mut number = 0;
    let mut last_sent = Instant::now();
    loop {
        let Some(look) = look(&doors, task) else { return Ok(()) };
        let is_last_look = !query.follow || look.task.status.has_ended();
        let until = if is_last_look { Until::Now } else { Until::Certain };
        let door = doors.clone();
        let read = move || {
            let said = collector.read(&door, &look, until);
            (collector, said)
        };
        let (kept, said) = tokio::task::spawn_blocking(read).await.map_err(Broken::new)?;
        collector = kept;
        for (attempt, said) in said.map_err(Broken::new)? {
            number += 1;
            if number > query.from {
                let LogEntry { at, source, text, fact } = said;
                let line = LogLine { number, attempt, at: Some(at), source, text, fact };
                lines.send(&LogStreamLine::Log(line)).await?;
                last_sent = Instant::now();
            }
        }
        if is_last_look {
            return Ok(());
        }
        if last_sent.elapsed() >= HEARTBEAT {
            lines.send(&LogStreamLine::Heartbeat { at: now() }).await?;
            last_sent = Instant::now();
        }
        sleep(LOOK_EVERY).await;
    }
}

fn look(doors: &Doors, task: TaskId) -> Option<TaskNow> {
    let views = doors.orchestrator.handle().views();
    let task = views.board.task_view(task, now())?;
    let setup = views.board.plan_view(task.plan).map(|it| it.setup).unwrap_or_default();
    Some(TaskNow { task, setup })
}
