//! Decides, stores and publishes, in this order, and says what a restart orders again.
//!
//! No thread, no clock and no driver is here: whoever holds the writer has those. What is played
//! against a simulated world is this, and all of it.

mod writer;
mod order;
mod subject;
mod reissue;
#[cfg(test)]
mod full_disk;

pub use order::{Order, Scope, over};
pub use reissue::Reissue;
pub use subject::{LOST, Subject};
pub use writer::{Committed, Writer, is_said_once};
