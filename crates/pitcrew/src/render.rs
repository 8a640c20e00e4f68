//! Rendering: pure functions from views to text.
//!
//! Nothing here prints, asks or reads a clock. Text from agents is escaped.

mod style;
mod words;
mod table;
mod crowd;
mod check_ends;
mod board;
mod inbox;
mod messages;
mod summary;
mod usage;
mod uncommitted;
mod progress;
mod live;
mod diff;
mod log;
mod export;
#[cfg(test)]
mod tests;

pub use board::board;
pub use diff::{diff, stat};
pub use export::{ExportData, export};
pub use inbox::{Details, inbox};
pub use live::live;
pub use log::{LogText, Prompts, log_event};
pub use messages::{message_metrics, messages};
pub use progress::progress;
pub use style::Style;
pub use summary::summary;
pub use table::{Align, Table};
pub use uncommitted::uncommitted;
pub use usage::price_table;
pub use words::{cut_to_width, duration, joined, plural, wrapped};
