//! The orchestrator's doors: HTTP on the person's unix socket, and on one of each worker.
//!
//! Turns requests into commands and views into answers, and knows who is asking. Decides nothing:
//! what a command may do is the kernel's business.

mod idle;
mod room;
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
pub use tools::{AgentRole, AgentRow, Desk, ReadPlan};
