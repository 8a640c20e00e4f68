//! Tells what is defined where: names, signatures, fields and doc lines, without asking a model.
//!
//! Sources are read with tree-sitter, one file at a time, down to the level of declarations;
//! bodies are parsed and never looked into. Nothing here runs a program or resolves types.

mod symbol;
mod language;
mod extract;

pub use extract::{FILE_BYTES_MAX, FILE_TIME_MAX, extract};
pub use language::Language;
pub use symbol::{FileSymbols, Import, Kind, Member, Skipped, Symbol, Visibility};
