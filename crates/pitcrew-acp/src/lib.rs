//! Drives one coding agent over the Agent Client Protocol.
//!
//! `open` starts an agent behind a shim and agrees on a session, `attach` comes back to one,
//! `Session` gives it turns, `SessionEvents` tells what it wants and does meanwhile. This crate owns the wire: it knows every
//! frame by the effect that caused it, so that the traffic can be read back from the spool. It
//! never decides anything: permissions, reminders and retries are other people's business. Nothing
//! that an agent sends is believed, and nothing that it sends can do more than end its own attempt.

mod schema;
mod plain;
mod frame;
mod profile;
mod offer;
mod fault;
mod error;
mod tool_use;
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
pub use files::{Outline, Outlined, Reach};
pub use need::Need;
pub use open::{Launch, McpOverHttp, McpServer, open, open_prepared};
pub use order::{OrderError, order_in};
pub use plain::plain;
pub use prices::{PriceList, Prices};
pub use profile::{ErrorKind, ErrorRule, Profile, UsageScope};
pub use session::{Session, TurnEnd};
pub use transcript::{Line, LineKind, Transcript, TranscriptError, transcript};
