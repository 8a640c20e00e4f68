//! Requests to people, with the context for a decision, and their decisions.
//!
//! `Inbox` stores only the requests; their context comes from the board on demand.
mod requests;
mod view;

pub use requests::Inbox;
pub use view::{Ask, ClosedRequest, InboxView, OpenRequest, PlannedStart, PlannedTask};

pub(crate) use view::title;
