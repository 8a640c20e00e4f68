//! The vocabulary of Pitcrew: ids, values, limits, commands, signals, events and effects.
//!
//! A command or signal goes into the kernel, events and effects come out. The types here are their
//! own stored form: a journal written today must decode forever. This crate contains no behaviour.
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod id;
mod time;
pub mod text;
pub mod limits;
mod name;
mod path;
mod manifest;
mod host;
mod egress;
mod plan;
mod provider;
mod status;
mod failure;
mod sandbox;
mod matrix;
mod action;
mod permission;
mod grant;
mod work;
mod budget;
mod kept;
mod subtask;
mod crew;
mod message;
mod query;
mod command;
mod signal;
mod effect;
mod event;
mod rejection;

pub use action::{Action, Category};
pub use budget::{BudgetScope, Caps, Dollars, Measure, Spending};
pub use command::{Approval, Claim, Command, CreatePlan, Freshness, NoteKind, Origin, Verdict};
pub use crew::{AgentProblem, AgentProfile, BackendProfile, Capability, Crew, Readiness, ToolSet};
pub use effect::{Backend, BuiltinOrder, CheckoutPlace, Effect, TurnCause};
pub use egress::{EgressDecision, EgressOf};
pub use event::{Entry, Event, Reason};
pub use failure::{
    CheckFailure, Failure, HoldCause, MissingProgram, Outcome, Refusal, RefusalKind,
};
pub use grant::{Grant, GrantScope, GrantTarget, is_grantable};
pub use host::{Host, HostError, HostPattern, Hosts, PORTS_USUAL, Place, place_of_url};
pub use id::{
    AttemptId, CommitId, EffectId, GrantId, MessageId, ParseIdError, PlanId, QueryId, RequestId,
    Seq, TaskId, WorkerId,
};
pub use kept::{Kept, KeptKind, KeptStates};
pub use manifest::is_manifest;
pub use matrix::{Matrix, MatrixLimits, Rule, RuleSource};
pub use message::{Addressee, Message, MessageContext, MessageKind, Party, Priority};
pub use name::folded_name;
pub use path::{Access, PathError, Reads, RepoPath, Standing, Zone, exclusive, overlap};
pub use permission::{
    Actor, ORCHESTRATOR_TOOL_KIND, ORCHESTRATOR_TOOLS, PermissionOption, PermissionOptionKind,
    RequestKind, ToolUse,
};
pub use plan::{
    AgentRef, BACKEND_BUILTIN, BACKEND_COMMAND, Deploy, Effort, HouseRules, Overlap, PlanHead,
    PlanSpec, TaskSpec, TaskWork,
};
pub use provider::ModelProvider;
pub use query::{
    OracleAnswer, QueryBudget, QueryLimits, QueryOutcome, QueryOwner, QueryVia, about_tokens,
};
pub use rejection::Rejection;
pub use sandbox::{Confined, Sandbox, Tier};
pub use signal::{EffectResult, ErrorCause, Exit, Input, InputBody, Signal, StopReason};
pub use status::{
    LandingStatus, MessageStatus, PlanStatus, RequestStatus, TaskStatus, WorkerStatus,
};
pub use subtask::{
    AwaitEnd, CheckoutRole, Delegation, SubtaskKind, SubtaskName, SubtaskNames, SubtaskResult,
    SubtaskSpec, TaskName, TaskOutput, WorkspaceMode,
};
pub use time::Timestamp;
pub use work::{
    CheckResult, FileChange, History, Hooks, LandedAt, LandedTask, Landing, LeftBehind, PlanBase,
    SecretFile, Sign, Snapshot, Undo, UndoneBy, Unsigned, Usage, Work,
};
