//! What a model is told about our own tools.

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
        "Reads a text file. A long one is cut: ask for the lines that you need.",
        &["path"],
        json!({
            "path": text("The file, relative to the working directory."),
            "first_line": number("The line to begin at; 1 if left out."),
            "lines_count": number("How many lines; all if left out."),
        }),
    )
}

pub(super) fn write() -> ToolSpec {
    spec(
        "write_file",
        "Writes a whole file, with its folders. What was there is replaced.",
        &["path", "content"],
        json!({
            "path": text("The file, relative to the working directory."),
            "content": text("All of its new text."),
        }),
    )
}

pub(super) fn edit() -> ToolSpec {
    spec(
        "edit_file",
        "Replaces a text in a file. The old text must stand there exactly once, to the last space.",
        &["path", "old_text", "new_text"],
        json!({
            "path": text("The file, relative to the working directory."),
            "old_text": text("What stands there now. Add lines around it to make it unique."),
            "new_text": text("What is to stand there instead; empty to delete it."),
        }),
    )
}

pub(super) fn search() -> ToolSpec {
    spec(
        "search",
        "Finds lines that match an extended regular expression. Ignored files are left out.",
        &["pattern"],
        json!({
            "pattern": text("The expression, as `grep -E` takes it."),
            "path": text("The file or folder to look in; everything if left out."),
        }),
    )
}

pub(super) fn list() -> ToolSpec {
    spec(
        "list_files",
        "Lists files, without those that are ignored.",
        &[],
        json!({ "pattern": text("A glob such as `src/**/*.rs`; everything if left out.") }),
    )
}

pub(super) fn run() -> ToolSpec {
    spec(
        "run_command",
        "Runs a shell command in the working directory, to its end. Somebody may be asked first.",
        &["command"],
        json!({
            "command": text("The command, for `sh -c`."),
            "timeout_s": number("Seconds until it is stopped; 120 if left out."),
        }),
    )
}
