//! Which agents this machine has: location, version and login.
//!
//! Starts nothing but programs that print their version. Also has the help texts about missing agents
//! that several commands share.

mod look;
mod version;
mod choose;
mod words;

pub use choose::{Chosen, choose, plan_defaults};
pub use look::{Login, Looked, Program, look};
pub use version::versions;
