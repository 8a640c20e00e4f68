//! Agent definitions: what each agent is good for, what it may use, and its role prompt.
//!
//! A definition is a Markdown file with YAML front matter; its body is the role. A user's definition
//! overrides one of the workspace, which overrides a built-in one. A workspace file counts only
//! after the person has trusted its content. Parsing is pure; only `read_definitions` touches files.

mod yaml;
mod keys;
mod tools;
mod parse;
mod builtin;
mod read;

pub use parse::{Authorship, parse_definition};
pub use read::{Definitions, UntrustedDefinition, read_definitions};
