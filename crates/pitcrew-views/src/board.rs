//! What stands where: plans, tasks, attempts and workers.
//!
//! `facts` holds what the events said, `fold` puts it there, `view` joins it into what is shown and
//! `waits` says in words what a task waits for. Counts, sums, owners and reasons are never stored:
//! they are worked out when somebody looks.
mod facts;
mod fold;
mod results;
mod usage;
mod queries;
mod shape;
mod view;
mod waits;

pub use facts::{
    Activity, Attempt, BaseCheck, BaseCheckResult, Blocked, Board, LandingView, RefusedPlace, Step,
    Worker,
};
pub use queries::QueryTally;
pub use shape::{BoardView, PlanView, RegionView, SessionView, SubtaskView, TaskView};
pub use view::Scope;

pub(crate) use facts::Plan;
