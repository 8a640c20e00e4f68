//! The names, descriptions and schemas of our own tools.

use crate::model::ToolSpec;
use serde_json::{Value, json};

fn spec(name: &str, description: &str, required: &[&str], properties: Value) -> ToolSpec {
    let mut schema = json!({ "type": "object", "required": required });
    schema["properties"] = properties;
    ToolSpec { name: name.to_owned(), description: description.to_owned(), schema }
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn number(description: &str) -> Value {
    json!({ "type": "integer", "minimum": 1, "description": description })
}

pub(super) fn read() -> ToolSpec {
    spec(
        "read_file",
        "Read a text file. A long file is cut: ask for the lines you need.",
        &["path"],
        json!({
            "path": text("The file, relative to the working directory."),
            "first_line": number("The first line. Default: 1."),
            "lines_count": number("The number of lines. Default: all."),
        }),
    )
}

pub(super) fn write() -> ToolSpec {
    spec(
        "write_file",
        "Write a whole file. Creates missing folders and replaces existing content.",
        &["path", "content"],
        json!({
            "path": text("The file, relative to the working directory."),
            "content": text("The full new content."),
        }),
    )
}

pub(super) fn edit() -> ToolSpec {
    spec(
        "edit_file",
        "Replace a text in a file. The old text must occur exactly once, including whitespace.",
        &["path", "old_text", "new_text"],
        json!({
            "path": text("The file, relative to the working directory."),
            "old_text": text("The text to replace. Include surrounding lines to make it unique."),
            "new_text": text("The replacement. Empty deletes the old text."),
        }),
    )
}

pub(super) fn search() -> ToolSpec {
    spec(
        "search",
        "Find lines that match an extended regular expression. Skips ignored files.",
        &["pattern"],
        json!({
            "pattern": text("The expression, as for `grep -E`."),
            "path": text("The file or folder to search. Default: everything."),
        }),
    )
}

pub(super) fn list() -> ToolSpec {
    spec(
        "list_files",
        "List files. Skips ignored files.",
        &[],
        json!({ "pattern": text("A glob such as `src/**/*.rs`. Default: all files.") }),
    )
}

pub(super) fn run() -> ToolSpec {
    spec(
        "run_command",
        "Run a shell command in the working directory and wait for its end. It may need approval.",
        &["command"],
        json!({
            "command": text("The command, for `sh -c`."),
            "timeout_s": number("Seconds until it is stopped. Default: 120."),
        }),
    )
}
