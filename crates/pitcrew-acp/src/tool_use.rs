//! What an agent wants to do, in our words: which tool, on which paths, with which command.

use crate::{
    plain,
    schema::{ToolCall, ToolCallContent, ToolCallUpdate, ToolKind},
};
use pitcrew_model::ToolUse;
use serde_json::Value;
use std::{
    collections::{BTreeSet, VecDeque},
    path::{Component, Path, PathBuf},
};

/// Tool calls whose details are kept for a later request for permission.
const CALLS_KEPT_MAX: usize = 64;
const PATHS_MAX: usize = 200;
const TITLE_BYTES_MAX: usize = 300;
const COMMAND_BYTES_MAX: usize = 8 * 1_024;
/// How deep raw input is searched for paths.
const DEPTH_MAX: usize = 4;

/// The newest tool calls of a session. A request for permission often names only the id of one.
#[derive(Debug, Default)]
pub(crate) struct ToolCalls(VecDeque<ToolCall>);

impl ToolCalls {
    pub fn begin(&mut self, call: ToolCall) {
        self.0.retain(|it| it.tool_call_id != call.tool_call_id);
        if self.0.len() == CALLS_KEPT_MAX {
            self.0.pop_front();
        }
        self.0.push_back(call);
    }

    /// Adds what an update says; gives the call as it is known now.
    pub fn update(&mut self, update: ToolCallUpdate) -> &ToolCall {
        let id = update.tool_call_id.clone();
        let known = self.0.iter().position(|it| it.tool_call_id == id);
        let index = known.unwrap_or_else(|| {
            self.begin(ToolCall::new(id, ""));
            self.0.len() - 1
        });
        self.0[index].update(update.fields);
        &self.0[index]
    }
}

/// Describes a call for whoever decides on it. `root` is the checkout.
pub(crate) fn tool_use(call: &ToolCall, root: &Path) -> ToolUse {
    let mut named: BTreeSet<PathBuf> = call.locations.iter().map(|it| it.path.clone()).collect();
    for content in &call.content {
        if let ToolCallContent::Diff(diff) = content {
            named.insert(diff.path.clone());
        }
    }
    if let Some(input) = &call.raw_input {
        gather_paths(input, &mut named, 0);
    }
    let (mut paths, mut outside) = (BTreeSet::new(), BTreeSet::new());
    for path in named.iter().filter(|it| !it.as_os_str().is_empty()).take(PATHS_MAX) {
        match inside(root, path) {
            Some(relative) => paths.insert(plain::spelled_out(&relative.to_string_lossy())),
            None => outside.insert(plain::spelled_out(&path.to_string_lossy())),
        };
    }
    let command = call.raw_input.as_ref().filter(|_| call.kind == ToolKind::Execute);
    ToolUse {
        title: plain::one_line(&call.title, TITLE_BYTES_MAX),
        kind: kind(call.kind).into(),
        paths: paths.into_iter().collect(),
        outside: outside.into_iter().collect(),
        command: command.and_then(command_of),
    }
}

fn kind(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Execute => "execute",
        ToolKind::Think => "think",
        ToolKind::Fetch => "fetch",
        ToolKind::SwitchMode => "switch_mode",
        // Also the kinds that the library may add.
        ToolKind::Other | _ => "other",
    }
}

fn command_of(input: &Value) -> Option<String> {
    let command = ["command", "cmd", "script"].iter().find_map(|key| match &input[*key] {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            Some(words.join(" "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    })?;
    let command = plain::spelled_out(&command);
    Some(pitcrew_model::text::cut(&command, COMMAND_BYTES_MAX).to_owned())
}

/// Finds the values under keys that vendors use for paths.
fn gather_paths(input: &Value, paths: &mut BTreeSet<PathBuf>, depth: usize) {
    let Value::Object(object) = input else { return };
    if depth > DEPTH_MAX {
        return;
    }
    for (key, value) in object {
        let named = is_path_key(key);
        match value {
            Value::String(path) if named => {
                paths.insert(path.into());
            }
            Value::Array(items) => {
                for item in items.iter().take(PATHS_MAX) {
                    match item.as_str().filter(|_| named) {
                        Some(path) => drop(paths.insert(path.into())),
                        None => gather_paths(item, paths, depth + 1),
                    }
                }
            }
            // A patch as a map from path to change.
            Value::Object(changes) if key == "changes" => {
                paths.extend(changes.keys().take(PATHS_MAX).map(PathBuf::from));
            }
            Value::Object(_) => gather_paths(value, paths, depth + 1),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

fn is_path_key(key: &str) -> bool {
    let letters: String =
        key.chars().filter(char::is_ascii_alphanumeric).map(|it| it.to_ascii_lowercase()).collect();
    matches!(
        letters.as_str(),
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

/// The path relative to `root`, or nothing when it lies elsewhere.
///
/// Symbolic links are followed as far as the path exists, so that a link inside the checkout does
/// not make the outside look like inside. This informs a decision; it is not the boundary.
fn inside(root: &Path, path: &Path) -> Option<PathBuf> {
    let text = path.to_string_lossy();
    let path = match text.strip_prefix("file://") {
        Some(rest) => PathBuf::from(rest),
        None => path.to_owned(),
    };
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let resolved = resolve(&root.join(path));
    resolved.strip_prefix(&root).ok().map(Path::to_owned)
}

fn resolve(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => {
                resolved.push(component);
                if let Ok(real) = resolved.canonicalize() {
                    resolved = real;
                } else if let Ok(target) = resolved.read_link() {
                    // A link to what does not exist yet: writing through it creates the target.
                    resolved.pop();
                    resolved = lexical(&resolved.join(target));
                }
            }
        }
    }
    resolved
}

fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => {
                plain.push(component);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn described(root: &Path, call: Value) -> ToolUse {
        tool_use(&serde_json::from_value(call).expect("a tool call"), root)
    }

    #[test]
    fn paths_are_split_at_the_border_of_the_checkout() {
        let home = tempfile::tempdir().expect("a folder");
        let root = home.path().join("checkout");
        std::fs::create_dir_all(root.join("src")).expect("a folder");
        std::os::unix::fs::symlink(home.path(), root.join("door")).expect("a link");
        std::os::unix::fs::symlink(home.path().join("new"), root.join("dangling")).expect("a link");
        let tool = described(
            &root,
            json!({
                "toolCallId": "1", "title": "edit\u{1b}[2J it", "kind": "edit",
                "locations": [{"path": root.join("src/a.rs")}, {"path": "/etc/passwd"}],
                "content": [{"type": "diff", "path": root.join("src/../b.rs"), "newText": "x"}],
                "rawInput": {
                    "file_path": "src/c.rs", "edits": [{"filePath": "../d.rs"}],
                    "changes": {"e.rs": {}}, "paths": ["door/f.rs", "dangling"], "text": "/not/a/path"
                }
            }),
        );
        assert_eq!(tool.paths, ["b.rs", "e.rs", "src/a.rs", "src/c.rs"]);
        assert_eq!(tool.outside, ["../d.rs", "/etc/passwd", "dangling", "door/f.rs"]);
        assert_eq!((tool.title.as_str(), tool.kind.as_str()), ("edit it", "edit"));
        assert_eq!(tool.command, None);
    }

    #[test]
    fn a_command_is_taken_from_an_execution_only() {
        let root = Path::new("/nowhere");
        let text = described(
            root,
            json!({"toolCallId": "1", "title": "t", "kind": "execute", "rawInput": {"command": "ls -l"}}),
        );
        assert_eq!(text.command.as_deref(), Some("ls -l"));
        let words = described(
            root,
            json!({"toolCallId": "1", "title": "t", "kind": "execute", "rawInput": {"command": ["bash", "-lc", "ls"]}}),
        );
        assert_eq!(words.command.as_deref(), Some("bash -lc ls"));
        let edit = described(
            root,
            json!({"toolCallId": "1", "title": "t", "kind": "edit", "rawInput": {"command": "create"}}),
        );
        assert_eq!(edit.command, None);
        let strange = described(root, json!({"toolCallId": "1", "title": "t", "kind": "levitate"}));
        assert_eq!(strange.kind, "other");
    }

    #[test]
    fn a_request_that_names_only_an_id_finds_its_call() {
        let mut calls = ToolCalls::default();
        for index in 0..CALLS_KEPT_MAX * 2 {
            calls.begin(ToolCall::new(format!("call-{index}"), "x").kind(ToolKind::Delete));
        }
        let id = format!("call-{}", CALLS_KEPT_MAX * 2 - 1);
        let update = serde_json::from_value(json!({"toolCallId": id})).expect("an update");
        assert_eq!(calls.update(update).kind, ToolKind::Delete);
        assert_eq!(calls.0.len(), CALLS_KEPT_MAX);
    }
}
