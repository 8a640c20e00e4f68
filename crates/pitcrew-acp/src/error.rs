//! Errors of an agent, and the attempt failures that they mean.

use pitcrew_model::{Exit, Failure, limits, text};

/// No session could be opened with the agent. Its process tree is gone.
#[derive(Debug, thiserror::Error)]
#[error("failed to open a session with agent `{program}`: {failure}")]
pub struct OpenError {
    pub program: String,
    pub failure: Failure,
}

/// A turn did not end regularly.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    #[error("the agent's process ended: {0}")]
    Exited(Exit),
    /// The agent violates the protocol; it is being stopped.
    #[error("the agent violated the protocol: {message}")]
    Protocol { message: String },
    /// A turn is already open: an error of the caller.
    #[error("a turn is already open")]
    Busy,
}

impl TurnError {
    /// The failure of the attempt.
    pub fn failure(&self) -> Failure {
        match self {
            Self::Exited(exit) => exited(exit),
            Self::Protocol { message } => Failure::Protocol { message: message.clone() },
            Self::Busy => Failure::Protocol { message: self.to_string() },
        }
    }
}

pub(crate) fn exited(exit: &Exit) -> Failure {
    let output = crate::plain::plain(text::tail(&exit.stderr, limits::OUTPUT_TAIL_BYTES));
    Failure::AgentExited { exit: exit.to_string(), output }
}
