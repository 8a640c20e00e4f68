//! Classifies errors: the login, a limit of the provider, the network, the model, or something else.
//!
//! Structured data counts first, then the rules of the backend. Agents often write about errors, so
//! the text of a turn that ended well counts only if it starts as a rule says.

mod facts;
mod network;
mod answer;
mod words;
mod log;
mod reset;

pub(crate) use answer::of_answer;
pub(crate) use facts::Facts;
pub(crate) use log::of_log;
pub(crate) use network::said;
pub(crate) use words::of_words;

use crate::profile::{ErrorKind, ErrorRule};
use pitcrew_model::{ErrorCause, Timestamp};
use reset::{Reset, reset_in};

const MESSAGE_BYTES_MAX: usize = 1_000;

/// The context in which an error is classified.
pub(crate) struct ErrorContext<'a> {
    pub rules: &'a [ErrorRule],
    /// The agent has reported that there is no login.
    pub is_logged_out: bool,
    /// When the error was received.
    pub at: Timestamp,
}

fn cause(kind: ErrorKind, reset: Option<Reset>, text: &str, at: Timestamp) -> ErrorCause {
    match kind {
        ErrorKind::Auth => ErrorCause::Auth,
        ErrorKind::Unreachable => ErrorCause::Unreachable,
        ErrorKind::Model if network::is_meant(text) => ErrorCause::Unreachable,
        ErrorKind::Model => ErrorCause::Model,
        ErrorKind::Quota => {
            let reset = reset.or_else(|| reset_in(text, at));
            ErrorCause::Quota { until: reset.and_then(|it| it.after(at)) }
        }
    }
}
