//! The wire types between the orchestrator and its clients: paths, queries, bodies.
//!
//! HTTP/1.1, JSON bodies, streams of one JSON value a line. The body of `POST /v1/commands` is a
//! `pitcrew_model::Command`; `GET /v1/board` and `GET /v1/inbox` return the views of the same
//! names. Old clients may talk to new orchestrators: a field may be added with a default, never
//! renamed or reused, and a reader passes on or ignores what it does not know. Any other change
//! raises `API_VERSION`. Nothing here opens a connection.
pub mod paths;
mod auth;
mod problem;
mod known;
mod health;
mod command;
mod stream;
mod work;
mod tool;
mod mcp;
mod garbage;

pub use auth::{ParseTokenError, Token};
pub use command::{Accepted, Created, Refused};
pub use garbage::{DroppableSnapshots, GarbagePreview, KeptCheckout, RemovableCheckout};
pub use health::{API_VERSION, Health, ShuttingDown, Tier, VersionMismatch};
pub use known::Known;
pub use mcp::{MCP_ASK_EVERY_MS, McpAddress, McpRequest};
pub use problem::{Problem, ProblemCode};
pub use stream::{EventLine, EventStreamLine, LogFact, LogLine, LogSource, LogStreamLine};
pub use tool::{ToolNames, ToolReply};
pub use work::{Diff, FileStat, PlanReview, SnapshotRow, TaskDiff, TaskPath, TaskSnapshots};
