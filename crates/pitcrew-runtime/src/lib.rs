//! Runs the kernel: one writer, a clock, and drivers that do what the kernel orders.
//!
//! An input is decided on and stored before anybody is answered and before any effect goes out.
//! Drivers answer with signals, which are inputs again. Nothing here decides what happens next.

mod words;
#[cfg(test)]
#[path = "../../pitcrew-writer/src/full_disk.rs"]
mod full_disk;
mod published;
mod handle;
mod turnstile;
mod clock;
mod redact;
mod secrets;
mod log;
mod tokens;
mod parsers;
mod drivers;
mod confinement;
mod boot;
mod orchestrator;
mod look;
mod family;
mod query;
mod handshake;
mod network;

pub use pitcrew_acp::{Line, LineKind, Transcript};
pub use pitcrew_store::ReadError;
pub use pitcrew_writer::{Committed, Writer};

pub use clock::now;
pub use confinement::Found as Confinement;
pub use drivers::{OpenTools, SymbolQuestion, Symbols, ToolsAt, WorkerDoor};
pub use family::{Asked, Pulled, Standing};
pub use handle::{Accepted, Garbage, Handle};
pub use handshake::{Choice, Handshake, HandshakeError, Heard, Refused, handshake};
pub use look::{Changed, LookError};
pub use network::{Caches, Lookup, Needs, Network, Registry, Tools, registries};
pub use orchestrator::{Orchestrator, Setup, StartError, StartErrorKind};
pub use parsers::{Parsers, play_parser};
pub use published::Views;
pub use query::{Asking, Told};
pub use redact::Redactor;
pub use tokens::{Tokens, nonce};
