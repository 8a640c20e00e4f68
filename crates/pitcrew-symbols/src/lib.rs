//! Indexes symbols and answers questions about them: names, signatures, fields and doc lines.
//!
//! Sources are parsed with tree-sitter, one file at a time, down to declarations; bodies are never
//! entered. An index follows the files of one checkout, the pool caches symbols by content for all
//! checkouts, and the oracle answers questions. Sources are hostile, so the index delegates parsing
//! to a [`Parser`], which in the product uses a helper process. Nothing here starts a process or
//! resolves types.

mod symbol;
mod language;
mod extract;
mod bytes;
mod digest;
mod pack;
mod parser;
mod helper;
mod pool;
mod source;
mod walk;
mod tree;
mod table;
mod index;
mod oracle;

pub use extract::{FILE_BYTES_MAX, FILE_TIME_MAX, extract, on_large_stack};
pub use helper::{HELPER_BYTES_MAX, ask, await_ready, serve};
pub use index::{Index, Size};
pub use language::Language;
pub use oracle::{Answer, Match, Outline, Question, SkippedFile, not_indexed, outline};
pub use parser::{InProcess, Parsed, Parser, Request};
pub use pool::Pool;
pub use symbol::{FileSymbols, Import, Kind, Member, Skipped, Symbol, Visibility};
