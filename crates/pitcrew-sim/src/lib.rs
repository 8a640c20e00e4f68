//! Runs the real kernel and the real writer against a world that fails, and checks what must hold.
//!
//! A seed is a schedule: a list of choices of what happens next. Disk, clock, git, agents and
//! people are played; whatever decides is not. The world remembers what was really done, so that
//! the kernel's word is not taken for it. Nothing here is part of the product.

mod dice;
mod broken;
mod schedule;
mod counters;
mod disk;
mod git;
mod agents;
mod ledger;
mod world;
mod crash;
mod drivers;
mod words;
mod people;
mod invariants;
mod ending;
mod trace;
mod run;
mod shrink;

pub use broken::Broken;
pub use counters::{Counters, Fault, Reached};
pub use disk::OpenDisk;
pub use run::{Report, Summary, Tracing, run, run_all};
pub use schedule::{Choice, Kind, Schedule, Theme};
pub use shrink::shrink;
