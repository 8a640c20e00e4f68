//! Finds the paths and commands in a tool call, under the keys that vendors use for them.
//!
//! It does not judge them. It records whether something was left out.

use super::letters;
use pitcrew_model::text;
use serde_json::{Map, Value};
use std::{
    collections::BTreeSet,
    io::{self, Write},
    path::PathBuf,
};

/// Paths that are examined for one call: each costs several file system calls.
const PATHS_NAMED_MAX: usize = 1_000;
/// The total size of commands that are collected: more than is ever shown.
const COMMANDS_BYTES_MAX: usize = 16 * 1_024;

#[derive(Debug, Default)]
pub struct Named {
    pub paths: BTreeSet<PathBuf>,
    pub commands: Vec<String>,
    /// There were more paths than are examined.
    pub is_partial: bool,
    /// Some commands, or parts of them, were left out.
    pub is_command_cut: bool,
    pub carries: Carries,
    claim: Claim,
}

/// The content of a call in addition to paths and commands.
#[derive(Debug, Default)]
pub struct Carries {
    /// New text for a file.
    pub change: bool,
    /// A network address.
    pub address: bool,
}

/// The kind that the call claims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Claim {
    #[default]
    Acts,
    /// It claims to be read-only, so anything that may be a command counts as one.
    Reads,
}

impl Named {
    pub fn of_look() -> Self {
        Self { claim: Claim::Reads, ..Self::default() }
    }

    pub fn path(&mut self, path: impl Into<PathBuf>) {
        let path = path.into();
        if path.as_os_str().is_empty() || self.paths.contains(&path) {
            return;
        }
        if self.paths.len() == PATHS_NAMED_MAX {
            self.is_partial = true;
        } else {
            self.paths.insert(path);
        }
    }

    /// Collects everything from raw input. Input without keys may be a command.
    pub fn input(&mut self, input: &Value) {
        match input {
            Value::String(_) => self.command(words(input)),
            Value::Array(items) if items.iter().any(Value::is_string) => {
                self.command(words(input));
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => {}
        }
        self.search(input, false);
    }

    fn command(&mut self, line: Line) {
        // A nested command is contained in the outer one too.
        let is_full = self.commands.iter().map(String::len).sum::<usize>() >= COMMANDS_BYTES_MAX;
        self.is_command_cut |= line.is_cut || is_full && !line.text.is_empty();
        if !is_full && !line.text.is_empty() {
            self.commands.push(line.text);
        }
    }

    /// Recurses as deep as the input: the JSON parser bounds the depth.
    fn search(&mut self, value: &Value, is_path: bool) {
        match value {
            Value::String(path) if is_path => self.path(path),
            Value::Array(items) => {
                for item in items {
                    self.search(item, is_path);
                }
            }
            Value::Object(object) => {
                self.command(command(object, self.claim == Claim::Reads));
                for (key, value) in object {
                    if let ("changes", Value::Object(changes)) = (key.as_str(), value) {
                        // A patch as a map from path to change.
                        changes.keys().for_each(|it| self.path(it));
                    }
                    let key = letters(key);
                    self.carries.change |= is_change_key(&key) && !value.is_null();
                    self.carries.address |= is_address_key(&key) && is_address(value);
                    self.search(value, is_path_key(&key));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// A shell command line; empty if there is nothing to run.
#[derive(Default)]
struct Line {
    text: String,
    is_cut: bool,
}

impl Line {
    fn push(&mut self, text: &str) {
        let taken = text::cut(text, COMMANDS_BYTES_MAX);
        self.text.push_str(taken);
        self.is_cut |= taken.len() < text.len();
    }

    fn add(&mut self, other: &Self, between: &str) {
        if !self.text.is_empty() && !other.text.is_empty() {
            self.text.push_str(between);
        }
        self.text.push_str(&other.text);
        self.is_cut |= other.is_cut;
    }
}

/// The command in an object, with its arguments.
fn command(object: &Map<String, Value>, is_read_only: bool) -> Line {
    let (mut commands, mut arguments) = (Line::default(), Line::default());
    for (key, value) in object {
        let key = letters(key);
        if is_command_key(&key) || is_read_only && may_be_command_key(&key) {
            commands.add(&words(value), "\n");
        } else if matches!(key.as_str(), "args" | "arguments") && !value.is_object() {
            arguments.add(&words(value), " ");
        }
    }
    commands.add(&arguments, " ");
    commands
}

fn words(value: &Value) -> Line {
    let mut line = Line::default();
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(words) => line.push(words),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if line.text.len() > COMMANDS_BYTES_MAX {
                    line.is_cut = true;
                    break;
                }
                line.push(if index > 0 { " " } else { "" });
                match item.as_str() {
                    Some(word) => line.push(word),
                    None => json(item, &mut line),
                }
            }
        }
        Value::Object(object) if object.is_empty() => {}
        Value::Object(_) => json(value, &mut line),
    }
    line
}

/// Appends the start of a value as JSON.
fn json(value: &Value, line: &mut Line) {
    let mut beginning = Beginning(Vec::new());
    // Stops when it is full.
    line.is_cut |= serde_json::to_writer(&mut beginning, value).is_err();
    line.push(&String::from_utf8_lossy(&beginning.0));
}

struct Beginning(Vec<u8>);

impl Write for Beginning {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(COMMANDS_BYTES_MAX - self.0.len());
        self.0.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn is_command_key(key: &str) -> bool {
    matches!(
        key,
        "command"
            | "commands"
            | "commandline"
            | "cmd"
            | "shellcommand"
            | "script"
            | "argv"
            | "program"
            | "executable"
    )
}

/// Keys that a read-only tool does not use.
fn may_be_command_key(key: &str) -> bool {
    let parts = ["command", "cmd", "shell", "bash", "exec", "argv", "program", "eval"];
    key.starts_with("script")
        || key.ends_with("script")
        || parts.iter().any(|it| key.contains(it))
        || matches!(
            key,
            "sh" | "zsh" | "run" | "code" | "snippet" | "statement" | "python" | "js" | "sql"
        )
}

fn is_address_key(key: &str) -> bool {
    key.contains("url") || key.contains("uri") || matches!(key, "address" | "endpoint" | "href")
}

/// Whether it is a network address.
fn is_address(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.is_empty() && !text.starts_with("file:"),
        Value::Array(items) => items.iter().any(is_address),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

fn is_change_key(key: &str) -> bool {
    matches!(
        key,
        "oldstring"
            | "oldstr"
            | "oldtext"
            | "newstring"
            | "newstr"
            | "newtext"
            | "newcontent"
            | "filetext"
            | "contents"
            | "replacement"
            | "edits"
            | "patch"
            | "diff"
    )
}

fn is_path_key(key: &str) -> bool {
    matches!(
        key,
        "path"
            | "paths"
            | "file"
            | "files"
            | "filepath"
            | "filepaths"
            | "filename"
            | "absolutepath"
            | "abspath"
            | "relativepath"
            | "notebookpath"
            | "targetfile"
            | "oldpath"
            | "newpath"
            | "movepath"
            | "source"
            | "sourcepath"
            | "destination"
            | "destinationpath"
            | "directory"
            | "dir"
            | "cwd"
            | "workdir"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_incomplete_command_is_marked() {
        let full = "x".repeat(COMMANDS_BYTES_MAX);
        let longer = format!("{full}y");
        for (input, is_cut) in [
            (json!(full), false),
            (json!(longer), true),
            (json!([full]), false),
            (json!([longer]), true),
            (json!([full, "y", "z"]), true),
            (json!({"command": full, "text": longer}), false),
            (json!({"command": longer}), true),
            (json!({"command": "x", "args": [longer]}), true),
            (json!({"command": {"run": full}}), true),
            (json!({"command": [{"run": full}]}), true),
            (json!({"a": {"command": full}, "b": {"command": "", "path": "y"}}), false),
            (json!({"a": {"command": full}, "b": {"command": "y"}}), true),
        ] {
            let mut named = Named::default();
            named.input(&input);
            let shape = input.to_string().replace(&full, "…");
            assert_eq!(named.is_command_cut, is_cut, "{shape}");
        }
    }
}
