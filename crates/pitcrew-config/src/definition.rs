//! Agent definitions: what each agent is good for, and its role prompt.
//!
//! A definition is a Markdown file with front matter; its body is the role. A user's definition
//! overrides one in the workspace's `.github/agents/`, which overrides a built-in one. Keys of
//! other vendors are ignored. Parsing is pure; only `read_definitions` touches files.

mod matter;
mod parse;
mod builtin;
mod read;

pub use parse::{AgentDefinition, parse_definition};
pub use read::{Definitions, read_definitions};
