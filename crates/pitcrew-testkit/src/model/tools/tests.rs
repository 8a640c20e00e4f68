use super::*;

fn tool(name: &str, properties: &Value, required: &[&str]) -> Tool {
    Tool::new(&json!(name), &json!({ "properties": properties, "required": required }))
}

const PATH_AND_TEXT: fn() -> Value = || json!({ "file_path": {}, "content": {} });

fn write() -> Act {
    Act::Write { path: "a/b.txt".into(), text: "it's\n".into() }
}

#[test]
fn calls_have_each_vendors_arguments() {
    let text = |key: &str| json!({ key: { "type": "string" } });
    for (tool, act, input) in [
        (
            tool("Write", &PATH_AND_TEXT(), &["file_path", "content"]),
            write(),
            json!({ "file_path": "/r/a/b.txt", "content": "it's\n" }),
        ),
        (
            tool("create", &json!({ "path": {}, "file_text": {} }), &["path"]),
            write(),
            json!({ "path": "/r/a/b.txt", "file_text": "it's\n" }),
        ),
        (
            tool(
                "developer__text_editor",
                &json!({ "command": { "enum": ["view", "write"] }, "path": {}, "file_text": {} }),
                &["command", "path"],
            ),
            write(),
            json!({ "command": "write", "path": "/r/a/b.txt", "file_text": "it's\n" }),
        ),
        (
            tool(
                "replace",
                &json!({ "file_path": {}, "old_string": {}, "new_string": {}, "instruction": { "type": "STRING" } }),
                &["file_path", "instruction"],
            ),
            Act::Edit { path: "/x".into(), old: "o".into(), new: "n".into() },
            json!({ "file_path": "/x", "old_string": "o", "new_string": "n", "instruction": "as the script says" }),
        ),
        (
            tool("Bash", &text("command"), &["command"]),
            Act::Bash { command: "ls".into() },
            json!({ "command": "ls" }),
        ),
        (
            tool("shell", &json!({ "command": { "type": "array" } }), &["command"]),
            Act::Bash { command: "ls".into() },
            json!({ "command": ["sh", "-c", "ls"] }),
        ),
        (
            tool("exec_command", &json!({ "cmd": {}, "sandbox_permissions": {} }), &["cmd"]),
            Act::Escalate { command: "ls".into() },
            json!({
                "cmd": "ls",
                "sandbox_permissions": "require_escalated",
                "justification": "as the script says",
            }),
        ),
        (
            tool("Bash", &text("command"), &["command"]),
            Act::Escalate { command: "ls".into() },
            json!({ "command": "ls" }),
        ),
        (
            tool("exec_command", &text("cmd"), &["cmd"]),
            write(),
            json!({ "cmd": "mkdir -p 'a' && printf %s 'it'\\''s\n' > 'a/b.txt'" }),
        ),
    ] {
        let call = call(&act, std::slice::from_ref(&tool), Some("/r")).expect("it fits");
        assert_eq!((call.name, call.input), (tool.name, input));
    }
}

#[test]
fn the_most_likely_tool_is_chosen() {
    let tools = [
        tool("TodoWrite", &json!({ "todos": {} }), &["todos"]),
        tool("NotebookEdit", &json!({ "notebook_path": {} }), &[]),
        tool("write_file", &PATH_AND_TEXT(), &[]),
        tool("BashOutput", &json!({ "bash_id": {} }), &[]),
        tool("Bash", &json!({ "command": {} }), &[]),
    ];
    assert_eq!(call(&write(), &tools, None).expect("it fits").name, "write_file");
    let bash = Act::Bash { command: "ls".into() };
    assert_eq!(call(&bash, &tools, None).expect("it fits").name, "Bash");
}

#[test]
fn a_tool_is_found_by_the_end_of_its_name() {
    let tools = [tool("mcp__pitcrew__orchestrator_complete_task", &json!({}), &[])];
    let complete = Act::Complete { summary: "did it".into() };
    let found = call(&complete, &tools, None).expect("it fits");
    assert_eq!(
        (found.name.as_str(), found.input),
        (&*tools[0].name, json!({ "summary": "did it" }))
    );
    let shell = [tool("bash", &json!({ "command": {} }), &[])];
    let line =
        call(&complete, &shell, None).expect("there is a shell").input["command"].to_string();
    assert!(line.contains("pitcrew tool orchestrator_complete_task --json '{"), "{line}");
}

#[test]
fn a_step_without_a_tool_lists_the_offered_ones() {
    let tools = [tool("look", &json!({}), &[])];
    let reason = call(&write(), &tools, None).expect_err("nothing writes");
    assert!(reason.contains("offered are: look"), "{reason}");
}

/// If an agent has only a shell, files are written and edited with it.
#[test]
#[expect(clippy::disallowed_methods, reason = "the line is run as an agent would")]
fn the_shell_lines_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = format!(
        "{} && {}",
        written("a/b.txt", "it's $1.00\n"),
        edited("a/b.txt", "$1.00", "$2.00\\n")
    );
    let status = std::process::Command::new("sh").args(["-c", &line]).current_dir(&folder).status();
    assert!(status.expect("sh").success(), "{line}");
    let text = std::fs::read_to_string(folder.path().join("a/b.txt")).expect("a file");
    assert_eq!(text, "it's $2.00\\n\n");
}
