//! The conversations of a task with its agents, as they go on.

use crate::{
    serve::{Doors, now},
    streams::{Broken, HEARTBEAT, Lines},
};
use pitcrew_api::{LogLine, LogSource, LogStreamLine, paths::LogQuery};
use pitcrew_model::{AttemptId, TaskId, Timestamp};
use pitcrew_runtime::{Line, LineKind, Transcript};
use pitcrew_views::TaskView;
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// How often a growing conversation is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub async fn write(
    doors: Arc<Doors>,
    task: TaskId,
    query: LogQuery,
    lines: Lines,
) -> Result<(), Broken> {
    let mut reading = Reading::default();
    let mut number = 0;
    let mut last_sent = Instant::now();
    loop {
        let Some(view) = doors.orchestrator.handle().views().board.task_view(task, now()) else {
            return Ok(());
        };
        let is_last_look = !query.follow || view.status.has_ended();
        let door = doors.clone();
        let read = move || {
            let read = reading.read(&door, &view);
            (reading, read)
        };
        let (kept, read) = tokio::task::spawn_blocking(read).await.map_err(Broken::new)?;
        reading = kept;
        for (attempt, line) in read {
            number += 1;
            if number > query.from {
                lines.send(&LogStreamLine::Log(shown(number, attempt, line))).await?;
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

/// The conversations of a task, each read as far as it went.
#[derive(Default)]
struct Reading {
    open: HashMap<AttemptId, Transcript>,
    finished: BTreeSet<AttemptId>,
}

impl Reading {
    /// What was completed since the last look. Every reader counts the same lines, whenever it
    /// comes: a message that may still grow is left for later.
    fn read(&mut self, doors: &Doors, task: &TaskView) -> Vec<(AttemptId, Line)> {
        let newest = task.newest_attempt().map(|it| it.id);
        let mut lines = Vec::new();
        for attempt in task.attempts.iter().map(|it| it.id) {
            // A newer attempt begins when the one before is put away.
            let grows = Some(attempt) == newest && !task.status.has_ended();
            lines.extend(
                self.read_attempt(doors, attempt, grows).into_iter().map(|it| (attempt, it)),
            );
        }
        lines
    }

    fn read_attempt(&mut self, doors: &Doors, attempt: AttemptId, grows: bool) -> Vec<Line> {
        if self.finished.contains(&attempt) {
            return Vec::new();
        }
        if !grows {
            self.finished.insert(attempt);
        }
        let opened = self.open.remove(&attempt);
        // An attempt whose agent has not started has no conversation yet.
        let Some(mut transcript) = opened.or_else(|| doors.orchestrator.transcript(attempt).ok())
        else {
            return Vec::new();
        };
        // What cannot be read now may be next time.
        let mut lines = transcript.read().unwrap_or_default();
        // The line of its start has told of it already. Left out before anything is counted.
        lines.retain(|it| it.kind != LineKind::ToolDone);
        if grows {
            self.open.insert(attempt, transcript);
        } else {
            lines.extend(transcript.open_message());
        }
        lines
    }
}

fn shown(number: u64, attempt: AttemptId, line: Line) -> LogLine {
    let source = match line.kind {
        LineKind::Prompt => LogSource::Prompt,
        LineKind::Said => LogSource::Agent,
        LineKind::Thought => LogSource::Thought,
        LineKind::ToolStarted
        | LineKind::ToolDone
        | LineKind::ToolFailed
        | LineKind::Output
        | LineKind::PermissionAsked => LogSource::Tool,
        LineKind::PermissionAnswered | LineKind::Cancelled | LineKind::TurnEnded => {
            LogSource::Orchestrator
        }
        LineKind::Noise => LogSource::Stderr,
    };
    let text = match line.kind {
        LineKind::ToolFailed => format!("failed: {}", line.text),
        LineKind::Prompt
        | LineKind::Said
        | LineKind::Thought
        | LineKind::ToolStarted
        | LineKind::ToolDone
        | LineKind::Output
        | LineKind::PermissionAsked
        | LineKind::PermissionAnswered
        | LineKind::Cancelled
        | LineKind::TurnEnded
        | LineKind::Noise => line.text,
    };
    LogLine { number, attempt, at: Some(Timestamp(line.time_ms)), source, text }
}
