//! Agent definitions: who can be asked for what, and how each is told to behave.
//!
//! A definition is a Markdown file with front matter; its body is the role. Built in < the workspace's
//! `.github/agents/` < the user's own. Keys of other vendors are read past. Parsing is pure; only
//! `read_definitions` touches files.

mod matter;
mod parse;
mod builtin;
mod read;

pub use parse::{AgentDefinition, parse_definition};
pub use read::{Definitions, read_definitions};
