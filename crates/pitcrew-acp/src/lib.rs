//! Drives one coding agent over the Agent Client Protocol.
//!
//! `open` starts an agent behind a shim and creates a session, `attach` reattaches to one,
//! `Session` runs turns, and `SessionEvents` delivers the agent's requests and activity. This crate
//! owns the wire protocol: it derives the number of every frame from the effect that caused it, so
//! that the traffic can be reconstructed from the spool. It makes no decisions about permissions,
//! reminders or retries. It trusts nothing that an agent sends; the worst an agent can do is end
//! its own attempt.

mod schema;
mod plain;
mod frame;
mod profile;
mod offer;
mod fault;
mod error;
mod tool_use;
mod refused_write;
mod usage;
mod prices;
mod need;
mod order;
mod files;
mod turn;
mod connection;
mod events;
mod open;
mod attach;
mod session;
mod transcript;
#[cfg(test)]
mod foreign;

pub use attach::{AttachError, AttachErrorKind, Reattached, attach};
pub use error::{OpenError, TurnError};
pub use events::{Event, SessionEvents};
pub use files::{FileScope, Outline, Outlined};
pub use need::Need;
pub use open::{Launch, McpOverHttp, McpServer, open, open_prepared};
pub use order::{OrderError, order_in};
pub use plain::plain;
pub use prices::{PriceList, Prices};
pub use profile::{ErrorKind, ErrorRule, Profile, UsageScope};
pub use session::{Session, TurnEnd};
pub use transcript::{Line, LineKind, Transcript, TranscriptError, transcript};
