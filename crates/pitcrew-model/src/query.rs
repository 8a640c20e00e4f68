//! Queries about symbols outside a worker's region: answered by the index, or by the worker that
//! owns the code.

use crate::{TaskId, WorkerId, limits};
use alloc::string::String;
use core::fmt;
use serde::{Deserialize, Serialize};

/// How a query was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryVia {
    /// By a tool call that stays open until there is an answer.
    Tool,
    /// By a `NEED` line in the agent's text. The answer is in its next prompt.
    Need,
    /// By reading a file that it may not read. The refusal contained the answer.
    Read,
    /// By a question to the orchestrator that names the symbol. If the index does not know it, a
    /// person is asked.
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

/// How a query ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum QueryOutcome {
    /// The index of the sender's checkout knows the symbol.
    Indexed,
    /// The owner answered it before, and its code has not changed since.
    Cached {
        owner: WorkerId,
    },
    Answered {
        owner: WorkerId,
    },
    /// The owner's turn ended without an answer. Its last text is returned, and not kept.
    Overheard {
        owner: WorkerId,
    },
    NotFound,
    /// The code has an owner that cannot be asked.
    NotAvailable {
        owner: QueryOwner,
    },
    OverBudget {
        budget: QueryBudget,
    },
    /// No answer came in time.
    TimedOut {
        owner: Option<WorkerId>,
    },
    /// The sender no longer waits.
    Withdrawn,
}

impl QueryOutcome {
    /// Returns whether the sender got an answer.
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
            Self::Withdrawn => f.write_str("the asker no longer waits"),
        }
    }
}

/// The owner of code: a worker, or a task without a worker.
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

/// The limits of queries to owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryLimits {
    /// Tokens for the queries of one worker.
    pub worker_tokens: u64,
    /// Tokens for all queries of a plan.
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

/// The answer of the index to a query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OracleAnswer {
    pub found: bool,
    /// Location, kind, signature, members and the first line of the documentation.
    pub text: String,
    /// The size of the files that need not be read.
    pub bytes_saved: u64,
    /// The digest of the content of the answer.
    pub digest: Option<String>,
    /// Similar names.
    pub nearest: alloc::vec::Vec<String>,
    /// The likely path of the symbol: from an import line or a path in the context, or that of the
    /// nearest name.
    pub owner_hint_path: Option<String>,
}

/// Estimates the number of tokens of a text of this size.
pub fn about_tokens(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}
