//! Stores events forever, and effects until they have ended. Never interprets either.
//!
//! A journal appends events and the effects they request in one batch: all of it is durable when
//! `append` returns, or nothing was written. Events are numbered consecutively; an effect leaves
//! the outbox in the batch with the event that retires it.
mod error;
mod journal;
mod memory;
mod sqlite;

pub use error::{AppendError, AppendErrorKind, OpenError, OpenErrorKind, ReadError, ReadErrorKind};
pub use journal::{Batch, Journal};
pub use memory::MemoryJournal;
pub use sqlite::{Holder, JournalReader, SqliteJournal, holder};
