//! What a tool call names: paths and commands, under whatever keys vendors use for them.
//!
//! Never judges what it finds. What it had to leave out, it says.

use serde_json::{Map, Value};
use std::{collections::BTreeSet, path::PathBuf};

/// Paths that are looked at for one call: each costs a few looks at the disk.
const PATHS_NAMED_MAX: usize = 1_000;

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
                self.commands.extend(command(object));
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
        Value::String(words) => words.clone(),
        Value::Array(items) => {
            let word = |it: &Value| it.as_str().map_or_else(|| it.to_string(), str::to_owned);
            items.iter().map(word).collect::<Vec<_>>().join(" ")
        }
        Value::Object(object) if object.is_empty() => String::new(),
        Value::Object(_) => value.to_string(),
    };
    (!words.is_empty()).then_some(words)
}

/// A key as all the vendors' spellings of it: `filePath`, `file_path`, `file-path`.
fn letters(key: &str) -> String {
    key.chars().filter(char::is_ascii_alphanumeric).map(|it| it.to_ascii_lowercase()).collect()
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
