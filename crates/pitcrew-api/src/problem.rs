//! Why a request could not be served. A valid command that cannot be carried out is `Refused`
//! instead.

use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    pub code: ProblemCode,
    pub message: String,
    /// What the person can do.
    #[serde(default)]
    pub help: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemCode {
    /// The request does not fit the path.
    BadRequest,
    /// The token is missing or unknown.
    Unauthorized,
    /// The token does not allow this.
    Forbidden,
    NotFound,
    TooLarge,
    /// The caller has too many connections.
    TooMany,
    ShuttingDown,
    Internal,
    /// A code of a newer orchestrator.
    #[serde(other)]
    Unknown,
}

impl ProblemCode {
    /// Returns the HTTP status.
    pub fn http_status(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::TooLarge => 413,
            Self::TooMany => 429,
            Self::ShuttingDown => 503,
            Self::Internal | Self::Unknown => 500,
        }
    }
}

impl fmt::Display for ProblemCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::BadRequest => "bad_request",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::TooLarge => "too_large",
            Self::TooMany => "too_many",
            Self::ShuttingDown => "shutting_down",
            Self::Internal => "internal",
            Self::Unknown => "unknown",
        })
    }
}

impl Problem {
    pub fn new(code: ProblemCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), help: None }
    }

    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
