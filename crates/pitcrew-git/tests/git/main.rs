//! The vault with a real git, in temporary homes.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod lab;
mod repository;
mod prepare_plan;
mod user_snapshot;
mod checkout;
mod ahead;
mod base_store;
mod bootstrap;
mod submodules;
mod collect;
mod collect_broken;
mod evil_trees;
mod escape;
mod verify;
mod land;
mod land_busy;
mod locks;
mod merges;
mod tidy;
mod snapshots;
mod restore;
mod ready;
mod remove;
mod oddities;
mod lend;
mod pull;
