//! What end-to-end tests stand on: a hermetic home, a git repository, the real binary.
//!
//! Nothing outside its temporary folder is touched, and nothing that a test started outlives it:
//! the orchestrator is stopped at the end, and whatever is left is ended and makes the test fail.
//! Never part of the product.

mod process;
mod wait;
mod http;
mod finished;
mod running;
mod terminal;
mod sandbox;

pub use finished::Finished;
pub use process::Process;
pub use running::Running;
pub use sandbox::Sandbox;
pub use terminal::Terminal;
pub use wait::{PATIENCE, eventually, until};
