//! What can go wrong with an agent, and what kind of failure of the attempt it is.

use pitcrew_model::{Exit, Failure, limits, text};

/// No session could be opened with the agent. Its process tree is gone.
#[derive(Debug, thiserror::Error)]
#[error("failed to open a session with agent `{program}`: {failure}")]
pub struct OpenError {
    pub program: String,
    pub failure: Failure,
}

/// A turn came to no end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    #[error("the agent's process ended: {0}")]
    Exited(Exit),
    /// The agent does not speak the protocol; it is being stopped.
    #[error("the agent does not keep to the protocol: {message}")]
    Protocol { message: String },
    /// A turn is open already: a caller's mistake.
    #[error("the agent is in the middle of a turn")]
    Busy,
}

impl TurnError {
    /// What it means for the attempt.
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
