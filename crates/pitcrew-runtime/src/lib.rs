//! Runs the kernel: one writer, a clock, and drivers that carry out the kernel's effects.
//!
//! An input is decided on and stored before its sender gets an answer and before any effect is
//! carried out. Drivers report results as signals, which are inputs again. Nothing here decides
//! what happens next.

mod panic_message;
#[cfg(test)]
#[path = "../../pitcrew-writer/src/full_disk.rs"]
mod full_disk;
mod published;
mod handle;
mod writer_loop;
mod clock;
mod redact;
mod secrets;
mod log;
mod tokens;
mod parsers;
mod drivers;
mod confinement;
mod boot;
mod notify;
mod orchestrator;
mod merges;
mod inspect;
mod family;
mod query;
mod handshake;
mod environment;
mod network;

pub use pitcrew_acp::{Line, LineKind, Transcript};
pub use pitcrew_store::ReadError;
pub use pitcrew_writer::{Committed, Writer};

pub use clock::now;
pub use confinement::Confinement;
pub use drivers::{OpenTools, SymbolQuestion, Symbols, ToolsAt, WorkerSocket};
pub use environment::settings_environment;
pub use family::{Pulled, StandalonePlan, Standing, SubtaskRequest};
pub use handle::{Accepted, Garbage, Handle};
pub use handshake::{AgentReport, Choice, Handshake, HandshakeError, RequestError, handshake};
pub use inspect::{Changed, InspectError};
pub use network::{Caches, Lookup, Needs, Network, Registry, Tools, registries};
pub use notify::{Delivered, Notification, NotifyItem, deliver};
pub use orchestrator::{Orchestrator, Setup, StartError, StartErrorKind};
pub use parsers::{Parsers, play_parser};
pub use published::Views;
pub use query::{QueryAnswer, QueryState};
pub use redact::Redactor;
pub use tokens::{Tokens, nonce};
