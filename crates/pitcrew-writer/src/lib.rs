//! Decides, stores and publishes, in this order; and computes what a restart has to repeat.
//!
//! There is no thread, clock or driver here: the caller has those. The simulator runs exactly this
//! code.

mod writer;
mod order;
mod subject;
mod reissue;
#[cfg(test)]
mod full_disk;

pub use order::{Order, Scope, over};
pub use reissue::Reissue;
pub use subject::{LOST, Subject};
pub use writer::{Committed, Writer, must_retry};
