//! Which agents this machine has: location, version and login.
//!
//! Starts only programs that print their version. Also contains the help texts about missing agents
//! that several commands share.

mod status;
mod version;
mod default;
mod text;

pub use default::{DefaultAgent, default_agent};
pub use status::{BackendStatus, Login, Program, inspect_backends};
pub use version::versions;
