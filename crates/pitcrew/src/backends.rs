//! Which agents this machine has: location, version and login.
//!
//! Starts nothing but programs that print their version. Also has the help texts about missing agents
//! that several commands share.

mod look;
mod version;
mod choose;
mod words;

pub use choose::{DefaultAgent, default_agent, plan_defaults};
pub use look::{BackendStatus, Login, Program, inspect_backends};
pub use version::versions;
