//! Decides what happens next. Never does it.
//!
//! `decide` turns an input into events, `settle` adds the events that standing rules require of the
//! new state (start what is ready, block what cannot run, end what has ended), `evolve` folds an
//! event into the state, and `react` returns the effect that an event requests. `step` combines
//! them. Nothing here reads a clock, a file or a random number.
#![no_std]
extern crate alloc;

mod state;
mod crew;
mod message;
mod query;
mod permit;
mod sandbox;
mod decide;
mod settle;
mod evolve;
mod react;
mod prompt;
mod step;

pub use decide::decide;
pub use evolve::evolve;
pub use permit::Judgment;
pub use react::{WorkerAccess, react, worker_access};
pub use settle::{droppable, next_due, removable, settle};
pub use state::{
    Asker, Attempt, BaseCheck, Budget, Deployer, Family, Mail, Mailbox, MessageState, OwnerAnswer,
    OwnerAnswers, Plan, Probe, Process, Pull, Queries, Query, QueryStage, Quota, Request,
    Resumption, SpawnLimits, Standalone, State, Task, Wait, Worker,
};
pub use step::{Step, step};
