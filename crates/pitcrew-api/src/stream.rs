//! Streams of one JSON value a line. A line comes at least every few seconds, so that a reader can
//! distinguish a quiet orchestrator from a dead one.

use crate::Known;
use pitcrew_model::{AttemptId, Entry, Failure, Outcome, PlanId, Seq, TaskId, Timestamp, WorkerId};
use serde::{Deserialize, Serialize};

/// A line of `GET /v1/events`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "nearly every line is an event, and none is kept")]
pub enum EventStreamLine {
    Event(EventLine),
    /// No new entry. `seq` is the last one.
    Heartbeat {
        at: Timestamp,
        seq: Seq,
    },
    /// A line of a newer orchestrator.
    #[serde(other)]
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventLine {
    /// The position in the journal, even of an entry that this client does not know.
    pub seq: Seq,
    pub at: Timestamp,
    /// The plan and task of the entry, if any.
    #[serde(default)]
    pub plan: Option<PlanId>,
    #[serde(default)]
    pub task: Option<TaskId>,
    /// The entry as text, if it matters to people.
    #[serde(default)]
    pub text: Option<String>,
    pub entry: Known<Entry>,
}

/// A line of `GET /v1/tasks/{id}/log`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum LogStreamLine {
    Log(LogLine),
    Heartbeat {
        at: Timestamp,
    },
    /// A line of a newer orchestrator.
    #[serde(other)]
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// 1 for the first line of the task's log; `from=` continues after it.
    pub number: u64,
    pub attempt: AttemptId,
    #[serde(default)]
    pub at: Option<Timestamp>,
    pub source: LogSource,
    /// Untrusted text, as the agent wrote it.
    pub text: String,
    /// The same for programs, for the lines of an attempt, a command or an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fact: Option<LogFact>,
}

/// A step of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LogFact {
    /// The attempt starts.
    Attempt { number: u32, worker: WorkerId, agent: String },
    /// A setup command or a check has run. The text is the end of its output.
    Command {
        command: String,
        passed: bool,
        /// Absent if it was killed at its timeout.
        code: Option<i32>,
        /// Absent if it was not measured.
        took_ms: Option<u64>,
    },
    /// The attempt has ended. The text is the reason.
    Ended { outcome: Outcome, failure: Option<Failure> },
    /// A fact of a newer orchestrator.
    #[serde(other)]
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogSource {
    /// An action of the orchestrator.
    Orchestrator,
    /// The attempt starts.
    Attempt,
    /// A command that prepares the checkout.
    Setup,
    /// A command that checks the merged work.
    Check,
    /// The outcome of the attempt, and the reason.
    Outcome,
    /// The prompt to the agent.
    Prompt,
    /// Text of the agent.
    Agent,
    /// Thoughts of the agent.
    Thought,
    /// A tool that the agent used.
    Tool,
    /// Standard error of the agent's process.
    Stderr,
    /// A source of a newer orchestrator.
    #[serde(other)]
    Unknown,
}
