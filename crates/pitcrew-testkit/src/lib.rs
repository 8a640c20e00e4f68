//! Support for end-to-end tests: a hermetic home, a git repository, the real binary.
//!
//! Nothing outside the temporary folder is touched, and no process that a test started outlives it:
//! the orchestrator is stopped at the end, and remaining processes are killed and fail the test.
//! `Corpus` fuzzes parsers. Never part of the product.

mod process;
mod wait;
mod python;
mod http;
mod finished;
mod running;
mod screen;
mod terminal;
mod editor;
mod sandbox;
mod corpus;
mod memory;
mod agents;
mod offline;
mod skipped;
mod escape;
mod peers;
pub mod model;
pub mod crew;

pub use agents::RealAgent;
pub use corpus::{Corpus, Sample, cases};
pub use editor::Editor;
pub use escape::{documented_escapes, escape_stopped};
pub use finished::Finished;
pub use memory::memory_peak;
pub use offline::{can_be_offline, is_offline, offline, offline_command};
pub use peers::peer;
pub use process::Process;
pub use python::{BOMBS, python};
pub use running::Running;
pub use sandbox::Sandbox;
pub use skipped::skipped;
pub use terminal::Terminal;
pub use wait::{PATIENCE, eventually, until, within};
