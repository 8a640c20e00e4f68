//! Well-behaved and misbehaving agents: real processes behind a real shim.

mod silent;
mod stage;
mod foreign;
mod opening;
mod settings;
mod turns;
mod errors;
mod usage;
mod permissions;
mod files;
mod activity;
