//! An orchestrator in this process, on a real repository: how it comes and goes.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod orchestrator;
mod queue;
