//! An orchestrator in this process, on a real repository: start and stop.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod orchestrator;
mod queue;
