//! What an error was about: the login, a limit of the provider, the model, or something else.
//!
//! What an agent says in a structured way counts first, then the rules of its backend. Agents write
//! about errors all day, so the words of a turn that ended well are believed only where they begin
//! as a rule says.

mod facts;
mod answer;
mod words;
mod log;
mod reset;

pub(crate) use answer::of_answer;
pub(crate) use facts::Facts;
pub(crate) use log::of_log;
pub(crate) use words::of_words;

use crate::profile::{ErrorKind, ErrorRule};
use pitcrew_model::{ErrorCause, Timestamp};
use reset::{Reset, reset_in};

const MESSAGE_BYTES_MAX: usize = 1_000;

/// What is known when an error is judged.
pub(crate) struct Known<'a> {
    pub rules: &'a [ErrorRule],
    /// The agent has said that nobody is logged in.
    pub is_logged_out: bool,
    /// When the error was told.
    pub at: Timestamp,
}

fn cause(kind: ErrorKind, reset: Option<Reset>, text: &str, at: Timestamp) -> ErrorCause {
    match kind {
        ErrorKind::Auth => ErrorCause::Auth,
        ErrorKind::Model => ErrorCause::Model,
        ErrorKind::Quota => {
            let reset = reset.or_else(|| reset_in(text, at));
            ErrorCause::Quota { until: reset.and_then(|it| it.after(at)) }
        }
    }
}
