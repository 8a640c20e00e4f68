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
}

impl Named {
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
            Value::String(_) => self.commands.extend(words(input)),
            Value::Array(items) if items.iter().any(Value::is_string) => {
                self.commands.extend(words(input));
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => {}
        }
        self.search(input, false);
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
                // A command within a command stands in both.
                if self.commands.iter().map(String::len).sum::<usize>() < COMMANDS_BYTES_MAX {
                    self.commands.extend(command(object));
                }
                for (key, value) in object {
                    if let ("changes", Value::Object(changes)) = (key.as_str(), value) {
                        // A patch as a map from path to change.
                        changes.keys().for_each(|it| self.path(it));
                    }
                    self.search(value, is_path_key(&letters(key)));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// The command that an object holds, with its arguments.
fn command(object: &Map<String, Value>) -> Option<String> {
    let (mut commands, mut arguments) = (Vec::new(), Vec::new());
    for (key, value) in object {
        let key = letters(key);
        if is_command_key(&key) {
            commands.extend(words(value));
        } else if matches!(key.as_str(), "args" | "arguments") && !value.is_object() {
            arguments.extend(words(value));
        }
    }
    let mut parts = Vec::new();
    parts.extend((!commands.is_empty()).then(|| commands.join("\n")));
    parts.append(&mut arguments);
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// The value as a line for a shell, if there is anything in it.
fn words(value: &Value) -> Option<String> {
    let words = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
        Value::String(words) => text::cut(words, COMMANDS_BYTES_MAX).to_owned(),
        Value::Array(items) => {
            let mut line = String::new();
            for (index, item) in items.iter().enumerate() {
                line.push_str(if index > 0 { " " } else { "" });
                match item.as_str() {
                    Some(word) => line.push_str(text::cut(word, COMMANDS_BYTES_MAX)),
                    None => line.push_str(&json(item)),
                }
                if line.len() > COMMANDS_BYTES_MAX {
                    break;
                }
            }
            line
        }
        Value::Object(object) if object.is_empty() => String::new(),
        Value::Object(_) => json(value),
    };
    (!words.is_empty()).then_some(words)
}

/// The beginning of a value as JSON.
fn json(value: &Value) -> String {
    let mut beginning = Beginning(Vec::new());
    // Stops where it is full.
    serde_json::to_writer(&mut beginning, value).ok();
    String::from_utf8_lossy(&beginning.0).into_owned()
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
