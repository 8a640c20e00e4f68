//! The orchestrator's doors: HTTP on the workspace's unix socket.
//!
//! Turns requests into commands and views into answers, and knows who is asking. Decides nothing:
//! what a command may do is the kernel's business.

mod idle;
mod auth;
mod answer;
mod extract;
mod streams;
mod tools;
mod loopback;
mod routes;
mod serve;

pub use serve::{Serve, serve};
pub use tools::{AgentRole, AgentRow, Desk, ReadPlan};
