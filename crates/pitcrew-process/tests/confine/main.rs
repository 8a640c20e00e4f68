//! The launcher: real processes that try what they shall not, as the current user and, where that
//! is root, as an ordinary user too. Each attempt succeeds without the launcher, else it would
//! prove nothing.
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
