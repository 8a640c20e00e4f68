//! Parses plans into a checked `PlanSpec`, and formats a plan for people.
//!
//! Every problem of a plan is found here, so that the kernel need not explain it. Nothing here
//! looks at the repository: whether a path or a branch exists does not matter to the parser.

mod keys;
mod read;
mod head;
mod task;
mod agent;
mod graph;
mod links;
mod zone;
mod advice;
mod intent;
mod overrides;
mod picture;
mod example;

pub use example::example_plan;
pub use graph::CycleError;
pub use intent::{IntentRequest, intent_plan};
pub use keys::{
    BACKEND_BUILTIN, BACKEND_COMMAND, PLAN_KEYS, PlanDefaults, SHARED_DEFAULT, TASK_KEYS,
};
pub use picture::{Executed, PictureTask, PlanPicture, describe};
pub use read::{ParsedPlan, PlanErrors, parse_plan, parse_plan_bytes};

pub(crate) use zone::{READS, denied_paths};
