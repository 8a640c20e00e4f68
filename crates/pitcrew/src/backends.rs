//! Which agents this machine has: where each is, in which version, and whether somebody is logged in.
//!
//! Looks, and starts nothing but programs that print their version. What to do about what was seen
//! is said here too, once for every command that needs it.

mod look;
mod version;
mod choose;
mod words;

pub use choose::{Chosen, choose, plan_defaults};
pub use look::{Login, Looked, Program, look};
pub use version::versions;
