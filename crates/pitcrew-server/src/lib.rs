//! The orchestrator's endpoints: HTTP on the user's unix socket, and on one socket for each worker.
//!
//! Converts requests to commands and views to answers, and authenticates callers. Decides nothing:
//! the kernel decides what a command may do.

mod idle;
mod pool;
mod auth;
mod answer;
mod extract;
mod streams;
mod tools;
mod loopback;
mod routes;
mod accept;
mod serve;

pub use serve::{Serve, serve};
pub use tools::{Desk, ReadPlan};
