//! The journal in one `SQLite` file. Every write is synced, and files of other programs are
//! refused.
//!
//! `open` takes the lock, checks the owner of the file and creates the tables; `writer` appends
//! each batch in one transaction; `rows` reads for the writer and for any number of readers;
//! `fault` classifies errors of `SQLite`.
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
