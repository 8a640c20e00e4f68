//! What a tool call names: paths and commands, under whatever keys vendors use for them.
//!
//! Never judges what it finds. What it had to leave out, it says.

use super::letters;
use pitcrew_model::text;
use serde_json::{Map, Value};
use std::{
    collections::BTreeSet,
    io::{self, Write},
    path::PathBuf,
};

/// Paths that are looked at for one call: each costs a few looks at the disk.
const PATHS_NAMED_MAX: usize = 1_000;
/// Commands are taken until there is this much of them: more than anybody is shown.
const COMMANDS_BYTES_MAX: usize = 16 * 1_024;

#[derive(Debug, Default)]
pub struct Named {
    pub paths: BTreeSet<PathBuf>,
    pub commands: Vec<String>,
    /// There were more paths than are looked at.
    pub is_partial: bool,
    /// There is more to the commands than was taken: a part of one, or whole ones.
    pub is_command_cut: bool,
    pub carries: Carries,
    claim: Claim,
}

/// What a call carries beside paths and commands.
#[derive(Debug, Default)]
pub struct Carries {
    /// New text for a file.
    pub change: bool,
    /// An address on the network.
    pub address: bool,
}

/// What the call says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Claim {
    #[default]
    Acts,
    /// It only reads, so anything that may be a command counts as one.
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

    /// Takes everything from raw input. What has no keys at all may well be a command.
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
        // A command within a command stands in both.
        let is_full = self.commands.iter().map(String::len).sum::<usize>() >= COMMANDS_BYTES_MAX;
        self.is_command_cut |= line.is_cut || is_full && !line.text.is_empty();
        if !is_full && !line.text.is_empty() {
            self.commands.push(line.text);
        }
    }

    /// Goes as deep as the input does: the JSON reader bounds the depth.
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

/// A line for a shell, empty where there is nothing to run.
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

/// The command that an object holds, with its arguments.
fn command(object: &Map<String, Value>, is_look: bool) -> Line {
    let (mut commands, mut arguments) = (Line::default(), Line::default());
    for (key, value) in object {
        let key = letters(key);
        if is_command_key(&key) || is_look && may_be_command_key(&key) {
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

/// Adds the beginning of a value as JSON.
fn json(value: &Value, line: &mut Line) {
    let mut beginning = Beginning(Vec::new());
    // Stops where it is full.
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

/// What a tool that only looks has no use for.
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

/// Whether it leads to the network.
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
    fn a_command_that_was_cut_or_left_out_is_told() {
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
