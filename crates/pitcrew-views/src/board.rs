//! The status of plans, tasks, attempts and workers.
//!
//! `facts` stores what the events say, `fold` updates it, `view` joins it for display, and `waits`
//! describes what a task waits for. Counts, sums, owners and reasons are never stored: they are
//! computed on demand.
mod facts;
mod fold;
mod results;
mod usage;
mod queries;
mod shape;
mod refused;
mod view;
mod waits;

pub use facts::{
    Activity, Attempt, BaseCheck, BaseCheckResult, Blocked, Board, LandingView, RefusedPlace, Step,
    Worker,
};
pub use queries::QueryTally;
pub use refused::RefusedChanges;
pub use shape::{BoardView, PlanView, RegionView, SessionView, SubtaskView, TaskView};
pub use view::Scope;

pub(crate) use facts::Plan;
