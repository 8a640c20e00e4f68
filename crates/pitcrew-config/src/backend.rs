//! Backends as data: the program of each agent and everything known about it.
//!
//! A backend has layers: the file that comes with Pitcrew, the user's own file, and the user's
//! settings. Each layer replaces single keys. Nothing here starts or searches for a program.

mod value;
mod keys;
mod checks;
mod read;
mod draft;
mod known;
mod places;
mod shown;

pub use keys::BACKEND_KEYS;
pub use places::{LoginEvidence, LoginFile};
pub use value::{
    BackendSettings, CostReporting, ErrorKind, ErrorPattern, ErrorRule, FileAccess, LoginFirst,
    McpServers, Resume, UsageScope, user_environment,
};

pub(crate) use draft::BackendDraft;
pub(crate) use known::{known, known_names};
