//! What waits for a person, with what they need to decide it, and what was decided.
//!
//! `Inbox` keeps the requests only; what they are about comes from the board when somebody looks.
mod requests;
mod view;

pub use requests::Inbox;
pub use view::{Ask, ClosedRequest, InboxView, OpenRequest, PlannedTask};

pub(crate) use view::title;
