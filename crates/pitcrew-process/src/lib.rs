//! Starts programs, owns them while they run, and ends their whole process trees.
//!
//! No other crate of the workspace starts a program. `run` runs a program to its end and keeps its
//! output. `piped` starts a program that is used over pipes. `helper` is one of our processes that
//! handles untrusted bytes. `shim` is the process between the orchestrator and an agent, and
//! `client` is the orchestrator's end of it. `confine` restricts foreign programs to their policy.
//! `find` searches for programs. `beneath` and `folder` open files that others name or write, and
//! `remove_tree` removes what others wrote. This crate does not decide what to run and does not
//! interpret what agents send. Linux only: ownership is proven by process ids with start times, and
//! by `/proc`.

mod inherited;
mod beneath;
mod folder;
mod remove_tree;
mod policy;
mod marker;
mod environment;
mod find;
mod cancel;
mod command;
mod confine;
mod enclose;
mod ends;
mod poll;
mod tail;
mod tree;
mod process_counter;
mod owned;
mod run;
mod piped;
mod helper;
mod egress;
mod bridge;
mod shim;
mod client;
mod detached;
mod launch;
mod attached;
mod parts;
#[cfg(test)]
mod foreign;

pub use attached::{run_attached, run_fed, run_in_terminal};
pub use beneath::{Beneath, BeneathError};
pub use bridge::{BridgeSpec, proxy_environment, start_bridge};
pub use cancel::Cancel;
pub use client::{
    Attached, PreparedShim, Presence, ShimError, ShimErrorKind, ShimEvent, ShimEvents, ShimHandle,
    StderrLine, attach_shim, end_shim, prepare_shim, start_shim, until_gone,
};
pub use confine::{
    Obstacle, Roots, find_box, program_roots, roots, tool_variables, try_without_box,
};
pub use detached::{Detached, leave_session, spawn_detached};
pub use egress::{
    EgressLine, EgressSpec, Listen, ReachedLine, Upstream, WayOut, lead_out, ledger_path,
    reached_lines,
};
pub use enclose::{is_machine_root, is_root};
pub use environment::agent_environment;
pub use find::{FoundProgram, find_program};
pub use folder::{Content, Folder, open_plain, read_plain};
pub use helper::{Helper, HelperEnd, confine_helper, limit_time};
pub use inherited::pass_nothing_on;
pub use launch::{
    BoxUser, CONFINE_FAILED, CONFINE_PREFIX, Calls, ConfineSpec, Files, Home, LANDLOCK_ABI_MIN,
    Unix, Zone, landlock_abi, relay_of,
};
pub use owned::{Owned, end_left_behind};
pub use parts::play_part;
pub use piped::{Piped, spawn_piped};
pub use pitcrew_model::Tier;
pub use policy::{Egress, EgressAt, Limits, Net, Policy};
pub use remove_tree::remove_tree;
pub use run::{
    Finished, Overflow, Prepared, Run, RunError, RunErrorKind, Stdin, Streams, Way, open_way,
    prepare, prepare_waiting, run_confined, run_observed, run_trusted, shell,
};
pub use shim::{ShimSpec, SpoolReader, SpoolRecord, forget_spec, shim_main};
pub use tree::open_process;
