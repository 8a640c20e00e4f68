//! The orchestrator as a real process behind a real socket, with real git and real agents.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

#[path = "../../examples/server_cast/http.rs"]
mod http;
mod lab;
mod stream;
mod runs;
mod faults;
mod steering;
mod restarts;
mod auth;
mod problems;
mod streams;
mod looks;
mod ends;
mod foreign;
