//! Scripts of inputs with the transcript that the kernel answers with. No IO.

mod script;
mod scheduling;
mod snapshots;
mod regions;
mod plans;
mod approval;
mod retries;
mod quotas;
mod long_limits;
mod backends;
mod budgets;
mod usage;
mod timeouts;
mod workers;
mod messages;
mod questions;
mod permissions;
mod subtasks;
mod subtask_ends;
mod subtask_limits;
mod pausing;
mod cancelling;
mod joining;
mod landing;
mod prompts;
