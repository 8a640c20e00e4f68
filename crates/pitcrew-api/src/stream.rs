//! Streams: one JSON value a line. A line comes at least every few seconds, so that a reader can
//! tell a quiet orchestrator from a dead one.

use crate::Known;
use pitcrew_model::{AttemptId, Entry, Failure, Outcome, PlanId, Seq, TaskId, Timestamp, WorkerId};
use serde::{Deserialize, Serialize};

/// A line of `GET /v1/events`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "nearly every line is an event, and none is kept")]
pub enum EventStreamLine {
    Event(EventLine),
    /// Nothing new. `seq` is the last entry there is.
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
    /// Where it stands in the journal: also of an entry that this client does not know.
    pub seq: Seq,
    pub at: Timestamp,
    /// Which plan and task it belongs to, where it belongs to one.
    #[serde(default)]
    pub plan: Option<PlanId>,
    #[serde(default)]
    pub task: Option<TaskId>,
    /// The entry in words, where a person would want to hear of it.
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
    /// 1 for the first line of the task's log; `from=` goes on after it.
    pub number: u64,
    pub attempt: AttemptId,
    #[serde(default)]
    pub at: Option<Timestamp>,
    pub source: LogSource,
    /// Untrusted text, as the agent wrote it.
    pub text: String,
    /// What the text says, for programs: of an attempt, a command or an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fact: Option<LogFact>,
}

/// What we know of a step of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LogFact {
    /// An attempt begins.
    Attempt { number: u32, worker: WorkerId, agent: String },
    /// A setup command or a check has run. The end of its output is the text.
    Command {
        command: String,
        passed: bool,
        /// Absent: killed at the time-out.
        code: Option<i32>,
        /// Absent where nobody measured it.
        took_ms: Option<u64>,
    },
    /// The attempt has ended. The reason is the text.
    Ended { outcome: Outcome, failure: Option<Failure> },
    /// A fact of a newer orchestrator.
    #[serde(other)]
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogSource {
    /// What we did about the task.
    Orchestrator,
    /// An attempt begins.
    Attempt,
    /// A command that makes the checkout usable.
    Setup,
    /// A command that judges the merged work.
    Check,
    /// How the attempt ended, and why.
    Outcome,
    /// What we told the agent.
    Prompt,
    /// What the agent said.
    Agent,
    /// What the agent thought aloud.
    Thought,
    /// A tool that the agent used.
    Tool,
    /// What its process wrote to standard error.
    Stderr,
    /// A source of a newer orchestrator.
    #[serde(other)]
    Unknown,
}
