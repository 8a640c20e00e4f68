//! Backends as data: which program an agent is, and all that is known about it.
//!
//! A backend is made of layers: the file that comes with Pitcrew, the user's own file, and the
//! user's settings; each replaces single keys. Nothing here starts a program or looks for one.

mod value;
mod keys;
mod checks;
mod read;
mod draft;
mod known;
mod places;
mod shown;

pub use keys::BACKEND_KEYS;
pub use places::{LoginFile, LoginFound};
pub use value::{
    BackendSettings, CostTold, ErrorKind, ErrorRule, ErrorSays, FileAccess, LoginFirst, McpServers,
    Resume, UsageScope, user_environment,
};

pub(crate) use draft::BackendDraft;
pub(crate) use known::{known, known_names};
