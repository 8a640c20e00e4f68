//! Read models that are folded from events, for people and programs.
//!
//! `Board`, `Inbox` and `Messages` fold entries; `line` and `audit` describe one entry; `Summary`
//! and `names` read a view that may have come over the wire. Nothing here reads a clock or a file,
//! decides anything, or fails: an entry that a model does not need, or that does not fit, is
//! ignored.
pub mod plain;
pub mod words;
mod board;
mod inbox;
mod messages;
mod permissions;
mod timeline;
mod summary;
pub mod names;

pub use board::{
    Activity, Attempt, BaseCheck, BaseCheckResult, Blocked, Board, BoardView, LandingView,
    PlanView, QueryTally, RefusedChanges, RefusedPlace, RegionView, Scope, SessionView, Step,
    SubtaskView, TaskView, Worker,
};
pub use inbox::{Ask, ClosedRequest, Inbox, InboxView, OpenRequest, PlannedStart, PlannedTask};
pub use messages::{
    DurationStats, MessageFilter, MessageMetrics, MessageView, Messages, MessagesView, QuestionEnd,
    QuestionView,
};
pub use permissions::{ActiveGrant, Granted, PermissionsView};
pub use summary::{NotCompleted, Summary, TaskSummary, Totals, changed_nothing, supervision};
pub use timeline::{AuditLine, Line, audit, line};
