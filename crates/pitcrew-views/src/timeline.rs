//! One line for each entry that matters to people.
//!
//! The names come from a board that has folded the entry, or any later one: names never change.
mod line;
mod events;
mod messages;
mod queries;
mod results;
mod audit;

pub use audit::{AuditLine, audit};
pub(crate) use events::denied;
pub use line::{Line, line};
