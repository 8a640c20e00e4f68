//! Tests of the launcher: real processes attempt forbidden actions, as the current user and, if
//! that is root, also as an ordinary user. Each attempt must succeed without the launcher;
//! otherwise it proves nothing.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

#[path = "../common/program.rs"]
mod program;
mod scene;
mod files;
mod network;
mod calls;
mod zone;
mod limits;
mod closed;
mod tiers;
