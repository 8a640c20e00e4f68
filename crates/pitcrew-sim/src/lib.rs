//! Runs the real kernel and the real writer against a failing world, and checks the invariants.
//!
//! A seed is a schedule: a list of choices of what happens next. Disk, clock, git, agents and
//! people are simulated; the decisions are real. The world records what was really done, so that
//! the kernel is not trusted. Nothing here is part of the product.

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
