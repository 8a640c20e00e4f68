//! The journal in one `SQLite` file. Never writes without a sync, never reads what another program wrote.
//!
//! `open` takes the lock, looks whose file it is and makes the tables; `writer` appends in one
//! transaction a batch; `rows` reads for the writer and for any number of readers; `fault` says
//! what an error of `SQLite` means to the caller.
mod fault;
mod lock;
mod open;
mod rows;
mod reader;
mod writer;

pub use lock::{Holder, holder};
pub use reader::JournalReader;
pub use writer::SqliteJournal;

/// The file in the workspace's state folder.
const FILE_NAME: &str = "journal.db";
