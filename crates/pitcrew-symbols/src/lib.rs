//! Tells what is defined where: names, signatures, fields and doc lines, without asking a model.
//!
//! Sources are read with tree-sitter, one file at a time, down to the level of declarations;
//! bodies are never looked into. An index follows the files of one checkout, the pool
//! remembers contents for all of them, and the oracle answers questions. Nothing here runs a program
//! or resolves types.

mod symbol;
mod language;
mod extract;
mod bytes;
mod digest;
mod pack;
mod pool;
mod source;
mod walk;
mod tree;
mod table;
mod index;
mod oracle;

pub use extract::{FILE_BYTES_MAX, FILE_TIME_MAX, extract, on_large_stack};
pub use index::{Index, Size};
pub use language::Language;
pub use oracle::{Answer, Match, Outline, Question, outline};
pub use pool::Pool;
pub use symbol::{FileSymbols, Import, Kind, Member, Skipped, Symbol, Visibility};
