//! Small questions about code of others: asked of the index first, then of whoever works there.

use crate::{TaskId, WorkerId, limits};
use alloc::string::String;
use core::fmt;
use serde::{Deserialize, Serialize};

/// How a question came to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryVia {
    /// By a call that stays open until there is an answer.
    Tool,
    /// By a line of the agent's words. The answer stands in its next prompt.
    Need,
    /// By a file that it may not read. What it needs of it was answered there and then.
    Read,
    /// By a question to the house that names it. Where the index does not know it a person is asked.
    Question,
}

impl fmt::Display for QueryVia {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tool => "tool",
            Self::Need => "need",
            Self::Read => "read",
            Self::Question => "question",
        })
    }
}

/// How a question came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum QueryOutcome {
    /// The index of the asker's own checkout knows it.
    Indexed,
    /// Its owner has said it before, and has changed nothing since.
    Cached {
        owner: WorkerId,
    },
    Answered {
        owner: WorkerId,
    },
    /// The owner's turn ended without an answer: its last words are told, and not kept.
    Overheard {
        owner: WorkerId,
    },
    NotFound,
    /// Somebody owns it and cannot be asked.
    NotAvailable {
        owner: QueryOwner,
    },
    OverBudget {
        budget: QueryBudget,
    },
    /// Nobody has answered in time.
    TimedOut {
        owner: Option<WorkerId>,
    },
    /// Nobody waits for the answer any more.
    Withdrawn,
}

impl QueryOutcome {
    /// Whether the asker got what it wanted.
    pub fn is_answer(self) -> bool {
        match self {
            Self::Indexed
            | Self::Cached { .. }
            | Self::Answered { .. }
            | Self::Overheard { .. } => true,
            Self::NotFound
            | Self::NotAvailable { .. }
            | Self::OverBudget { .. }
            | Self::TimedOut { .. }
            | Self::Withdrawn => false,
        }
    }
}

impl fmt::Display for QueryOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Indexed => f.write_str("answered from the index"),
            Self::Cached { owner } => write!(f, "answered with what {owner} said before"),
            Self::Answered { owner } => write!(f, "answered by {owner}"),
            Self::Overheard { owner } => write!(f, "answered with the last words of {owner}"),
            Self::NotFound => f.write_str("not found"),
            Self::NotAvailable { owner } => write!(f, "{owner} could not be asked"),
            Self::OverBudget { budget } => write!(f, "the budget of the {budget} is used up"),
            Self::TimedOut { owner: Some(owner) } => write!(f, "{owner} did not answer in time"),
            Self::TimedOut { owner: None } => f.write_str("no answer in time"),
            Self::Withdrawn => f.write_str("nobody waits for the answer"),
        }
    }
}

/// Who would know: a worker, or a task that nobody works on now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "id", rename_all = "snake_case")]
pub enum QueryOwner {
    Worker(WorkerId),
    Task(TaskId),
}

impl fmt::Display for QueryOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Worker(worker) => worker.fmt(f),
            Self::Task(task) => task.fmt(f),
        }
    }
}

/// Whose tokens are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryBudget {
    Worker,
    Plan,
}

impl fmt::Display for QueryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Worker => "worker",
            Self::Plan => "plan",
        })
    }
}

/// What asking owners may cost, and how long it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryLimits {
    /// For the questions of one worker, in tokens.
    pub worker_tokens: u64,
    /// For all questions of a plan.
    pub plan_tokens: u64,
    pub deadline_ms: u64,
}

impl Default for QueryLimits {
    fn default() -> Self {
        Self {
            worker_tokens: limits::QUERY_WORKER_TOKENS_DEFAULT,
            plan_tokens: limits::QUERY_PLAN_TOKENS_DEFAULT,
            deadline_ms: limits::QUERY_DEADLINE_MS_DEFAULT,
        }
    }
}

/// What the index has to say to a question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OracleAnswer {
    pub found: bool,
    /// Where, kind, signature, members and the first line of what its author says of it.
    pub text: String,
    /// The size of the files that need not be read for that.
    pub bytes_saved: u64,
    /// The content that the answer is from.
    pub digest: Option<String>,
    /// Names that are almost the one that was asked for.
    pub nearest: alloc::vec::Vec<String>,
    /// Where it would be: after an import line or a path in the context, else where the nearest name
    /// is.
    pub owner_hint_path: Option<String>,
}

/// About as many tokens as a text of this size has.
pub fn about_tokens(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}
