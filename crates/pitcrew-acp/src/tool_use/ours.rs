//! Recognizes calls of our own tools, in all the ways that agents make them.
//!
//! Strict: these calls need no permission. A call that may hide something else does not count.

use super::named::Named;
use crate::schema::{ContentBlock, ToolCall, ToolCallContent, ToolKind};
use pitcrew_model::ORCHESTRATOR_TOOLS;
use serde_json::{Map, Value};
use std::{collections::BTreeSet, path::Path};

/// The name of our MCP server.
const SERVER: &str = "pitcrew";
/// The type of an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Texts,
    Flag,
    /// A list of sub-tasks, each with its own arguments.
    Subtasks,
}

/// The arguments of our tools. A call with any other argument does not count. Arguments with
/// commands are missing on purpose: a person decides on those.
const ARGUMENTS: &[(&str, Form)] = &[
    ("summary", Form::Text),
    ("outcome", Form::Text),
    ("output", Form::Text),
    ("kind", Form::Text),
    ("message", Form::Text),
    ("to", Form::Text),
    ("reply_to", Form::Text),
    ("plan", Form::Text),
    ("all", Form::Flag),
    ("task", Form::Text),
    ("fresh", Form::Flag),
    ("agent", Form::Text),
    ("prompt", Form::Text),
    ("expected_output", Form::Text),
    ("model", Form::Text),
    ("workspace", Form::Text),
    ("target_files", Form::Texts),
    ("timeout", Form::Text),
    ("blocking", Form::Flag),
    ("subtasks", Form::Subtasks),
    ("id", Form::Text),
    ("ids", Form::Texts),
    ("requests", Form::Texts),
    ("verdict", Form::Text),
    ("reason", Form::Text),
];
/// Read-only tools that need no argument.
const LOOKS: &[&str] = &["orchestrator_list_workers", "a2a_list_agents"];

/// A call without visible input may do anything, whatever its title: a person decides.
pub fn is_ours(call: &ToolCall, named: &Named) -> bool {
    let shown = shown_input(call);
    let ((Some(Value::Object(input)), _) | (None, Some(input))) = (&call.raw_input, &shown) else {
        return false;
    };
    let is_text = |it: &ToolCallContent| matches!(it, ToolCallContent::Content(_));
    // A parent names the files that a sub-task may change; the call itself does not touch them.
    let mut targets = BTreeSet::new();
    add_targets(input, &mut targets);
    let touches = named.paths.iter().any(|it| !targets.contains(it.as_path()));
    if named.is_command_cut || touches || !call.content.iter().all(is_text) {
        return false;
    }
    // A call of any other kind does more than call our tool.
    let (is_other, title) = (call.kind == ToolKind::Other, name_of(call, input));
    if !is_other && call.kind != ToolKind::Execute {
        return false;
    }
    if !named.commands.is_empty() {
        return are_our_commands(input);
    }
    let looks = input.is_empty() && LOOKS.iter().any(|it| is_title_of(title, it));
    is_our_server(title, input)
        || is_other && (looks || is_title(title) && are_our_arguments(input))
}

/// The title of a call, or the name beside it if the title repeats the input, as in qwen.
fn name_of<'a>(call: &'a ToolCall, input: &Map<String, Value>) -> &'a str {
    let repeats = serde_json::from_str(&call.title).is_ok_and(|it: Map<_, _>| it == *input);
    let name = call.meta.as_ref().and_then(|it| it.get("toolName")?.as_str());
    name.filter(|_| repeats).unwrap_or(&call.title)
}

fn add_targets<'a>(input: &'a Map<String, Value>, targets: &mut BTreeSet<&'a Path>) {
    let list = |key| input.get(key).and_then(Value::as_array).into_iter().flatten();
    targets.extend(list("target_files").filter_map(Value::as_str).map(Path::new));
    for subtask in list("subtasks").filter_map(Value::as_object) {
        add_targets(subtask, targets);
    }
    if let Some(Value::Object(arguments)) = input.get("arguments") {
        add_targets(arguments, targets);
    }
}

/// The input of a server tool's call as gemini shows it: the only text of the call, as JSON.
fn shown_input(call: &ToolCall) -> Option<Map<String, Value>> {
    let [ToolCallContent::Content(shown)] = &call.content[..] else { return None };
    let ContentBlock::Text(shown) = &shown.content else { return None };
    let is_other = call.kind == ToolKind::Other;
    is_other.then(|| serde_json::from_str(&shown.text).ok()).flatten()
}

/// At least one command, all of them ours, and nothing else that could change what they do.
fn are_our_commands(input: &Map<String, Value>) -> bool {
    let is_ours = |it: &Value| {
        let mut lines = it.as_str().unwrap_or_default().lines().peekable();
        lines.peek().is_some() && lines.all(is_our_command)
    };
    input.iter().all(|(key, value)| match key.as_str() {
        "command" | "cmd" => is_ours(value),
        "commands" => value.as_array().is_some_and(|it| it.iter().all(is_ours)),
        "description" | "title" => value.is_string(),
        "timeout" => value.is_number() || value.is_null(),
        "is_background" | "run_in_background" => value.is_boolean(),
        _ => false,
    })
}

/// `pitcrew tool NAME --json '...'`, without anything that a shell would interpret.
fn is_our_command(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("pitcrew tool ") else { return false };
    let Some((name, rest)) = rest.split_once(' ') else { return false };
    let body = rest.strip_prefix("--json '").and_then(|it| it.strip_suffix('\''));
    let input = body.and_then(unquoted).and_then(|it| serde_json::from_str(&it).ok());
    // A tool that passes on commands is judged like a command.
    let is_ours = |it: &Map<String, Value>| it.is_empty() || are_our_arguments(it);
    ORCHESTRATOR_TOOLS.contains(&name) && input.as_ref().is_some_and(is_ours)
}

/// The text between two single quotes, where `'\''` stands for a quote, as every shell reads it.
fn unquoted(body: &str) -> Option<String> {
    // In fish, a quote after a backslash does not end the string.
    let is_plain =
        |it: &&str| !it.ends_with('\\') && !it.contains(|it: char| it == '\'' || it.is_control());
    let parts: Vec<&str> = body.split(r"'\''").collect();
    parts.iter().all(is_plain).then(|| parts.join("'"))
}

/// A call of our server's tool with separate server, tool and arguments.
fn is_our_server(title: &str, input: &Map<String, Value>) -> bool {
    let is_known = |it: &String| matches!(it.as_str(), "server" | "tool" | "arguments");
    let text = |key| input.get(key).and_then(Value::as_str);
    let arguments = input.get("arguments").and_then(Value::as_object);
    let is_tool = |it: &str| ORCHESTRATOR_TOOLS.contains(&it) && is_title_of(title, it);
    input.keys().all(is_known)
        && text("server") == Some(SERVER)
        && text("tool").is_some_and(is_tool)
        && arguments.is_some_and(are_our_arguments)
}

fn is_title(title: &str) -> bool {
    ORCHESTRATOR_TOOLS.iter().any(|it| is_title_of(title, it))
}

/// Whether the whole title is the name, in one of the agents' spellings.
fn is_title_of(title: &str, name: &str) -> bool {
    [
        format!("mcp__{SERVER}__{name}"),
        format!("mcp.{SERVER}.{name}"),
        format!("{SERVER}_{name}"),
        format!("{SERVER}: {}", name.replace('_', " ")),
        format!("{name} ({SERVER} MCP Server)"),
    ]
    .iter()
    .any(|it| it == title)
}

fn are_our_arguments(input: &Map<String, Value>) -> bool {
    let is_ours = |(key, value): (&String, &Value)| {
        let form = ARGUMENTS.iter().find(|it| it.0 == key).map(|it| it.1);
        form.is_some_and(|form| value.is_null() || has_form(value, form))
    };
    !input.is_empty() && input.iter().all(is_ours)
}

fn has_form(value: &Value, form: Form) -> bool {
    let all = |it: fn(&Value) -> bool| value.as_array().is_some_and(|items| items.iter().all(it));
    match form {
        Form::Text => value.is_string(),
        Form::Flag => value.is_boolean(),
        Form::Texts => all(Value::is_string),
        Form::Subtasks => all(|it| it.as_object().is_some_and(are_our_arguments)),
    }
}

#[cfg(test)]
mod tests {
    use crate::tool_use::tool_use;
    use serde_json::{Value, json};
    use std::path::Path;

    fn kind_of(call: &Value) -> String {
        let mut call = call.clone();
        call["toolCallId"] = json!("1");
        tool_use(&serde_json::from_value(call).expect("a tool call"), Path::new("/nowhere")).kind
    }

    /// As observed in claude, goose, gemini, opencode, codex, qwen and copilot.
    #[test]
    fn recognizes_our_tools_in_every_agents_spelling() {
        let input = json!({"summary": "did it", "outcome": "success"});
        for title in [
            "mcp__pitcrew__orchestrator_complete_task",
            "pitcrew: orchestrator complete task",
            "orchestrator_complete_task (pitcrew MCP Server)",
            "pitcrew_orchestrator_complete_task",
        ] {
            let call = json!({"title": title, "kind": "other", "rawInput": input});
            assert_eq!(kind_of(&call), "orchestrator", "{title}");
        }
        // In qwen the title is the input, and the name is beside it.
        let beside = |title: &str, input: &Value| {
            let meta = json!({"toolName": "mcp__pitcrew__orchestrator_complete_task"});
            kind_of(&json!({"title": title, "kind": "other", "rawInput": input, "_meta": meta}))
        };
        assert_eq!(beside(&input.to_string(), &input), "orchestrator");
        assert_ne!(beside("Remove everything", &input), "orchestrator");
        let more = json!({"summary": "did it", "url": "y"});
        assert_ne!(beside(&more.to_string(), &more), "orchestrator");
        assert_ne!(beside(&input.to_string(), &more), "orchestrator");
        // In gemini the input is the text of the call.
        let shown = |text: &str| {
            let content = json!([{"type": "content", "content": {"type": "text", "text": text}}]);
            let title = "orchestrator_complete_task (pitcrew MCP Server)";
            kind_of(&json!({"title": title, "kind": "other", "content": content}))
        };
        assert_eq!(shown(r#"{"summary": "did it"}"#), "orchestrator");
        for text in ["", "{}", "did it", r#"{"summary": "x", "url": "y"}"#, r#"[{"summary": "x"}]"#]
        {
            assert_ne!(shown(text), "orchestrator", "{text}");
        }
        let named = json!({"title": "mcp.pitcrew.orchestrator_complete_task", "kind": "execute",
            "rawInput": {"server": "pitcrew", "tool": "orchestrator_complete_task", "arguments": input}});
        assert_eq!(kind_of(&named), "orchestrator");
        let line = "pitcrew tool a2a_notify_orchestrator --json '{\"kind\": \"question\"}'";
        let input = json!({"command": line, "commands": [line]});
        let shell = json!({"title": "Ask", "kind": "execute", "rawInput": input});
        assert_eq!(kind_of(&shell), "orchestrator");
    }

    /// Spawning a sub-task that names its files needs no permission; one that runs a command does.
    #[test]
    fn recognizes_our_other_tools() {
        let kind = |tool: &str, input: &Value| {
            let title = format!("mcp__pitcrew__{tool}");
            kind_of(&json!({"title": title, "kind": "other", "rawInput": input}))
        };
        let one = json!({"agent": "claude", "prompt": "look", "target_files": ["src/a"]});
        for (tool, input) in [
            ("a2a_spawn_subtask", one.clone()),
            ("a2a_spawn_parallel_subtasks", json!({"subtasks": [one], "blocking": true})),
            ("a2a_await_subtasks", json!({"ids": ["subtask-3"], "timeout": "5m"})),
            ("orchestrator_list_workers", json!({})),
        ] {
            assert_eq!(kind(tool, &input), "orchestrator", "{tool}");
        }
        for (tool, input) in [
            ("a2a_spawn_subtask", json!({"agent": "command", "command": "rm x"})),
            ("a2a_spawn_parallel_subtasks", json!({"subtasks": [{"command": "rm x"}]})),
            ("a2a_spawn_subtask", json!({"agent": "x", "path": "/etc/x"})),
            ("orchestrator_complete_task", json!({})),
        ] {
            assert_ne!(kind(tool, &input), "orchestrator", "{tool} {input}");
        }
    }

    #[test]
    fn other_calls_are_not_ours() {
        let name = "mcp__pitcrew__orchestrator_complete_task";
        for input in [
            json!({"summary": "x", "url": "y"}),
            json!({"path": "a"}),
            json!("x"),
            json!({"server": "other", "tool": "orchestrator_complete_task"}),
            json!({"server": "pitcrew", "tool": "rm"}),
            json!({"server": "pitcrew", "tool": "orchestrator_complete_task"}),
            json!({"server": "pitcrew", "tool": "orchestrator_complete_task",
                "arguments": {"summary": "x"}, "env": {"x": "y"}}),
            json!({"server": "pitcrew", "tool": "a2a_notify_orchestrator",
                "arguments": {"summary": "x"}}),
            json!({"summary": {"code": "x"}}),
            json!({"summary": ["x"]}),
            json!({}),
            json!(null),
        ] {
            let call = json!({"title": name, "kind": "other", "rawInput": input});
            assert_ne!(kind_of(&call), "orchestrator", "{input}");
        }
        for title in [
            "rm orchestrator_complete_task",
            "{\"orchestrator_complete_task\": \"x\"}",
            "mcp__other__orchestrator_complete_task",
            "orchestrator_complete_tasks",
            "orchestrator_complete_task",
            "./orchestrator_complete_task x",
            "orchestrator_complete_task; rm x",
            "./pitcrew_orchestrator_complete_task",
            "pitcrew_orchestrator_complete_task; rm x",
            "pitcrew: orchestrator complete task (x)",
            "mcp__pitcrew__orchestrator_complete_task\nrm x",
        ] {
            let call = json!({"title": title, "kind": "other", "rawInput": {"summary": "x"}});
            assert_ne!(kind_of(&call), "orchestrator", "{title}");
        }
        for kind in ["execute", "other"] {
            let call = json!({"title": name, "kind": kind});
            assert_eq!(kind_of(&call), kind, "its effect is unknown");
        }
        for kind in ["edit", "delete", "move", "fetch", "switch_mode"] {
            let call = json!({"title": name, "kind": kind, "rawInput": {"summary": "x"}});
            assert_eq!(kind_of(&call), kind);
        }
    }

    #[test]
    fn a_call_that_touches_files_is_not_ours() {
        let name = "mcp__pitcrew__orchestrator_complete_task";
        let command = "pitcrew tool orchestrator_complete_task --json '{}'";
        for input in [json!({"summary": "x"}), json!({"command": command})] {
            let mut call = json!({"title": name, "kind": "other", "rawInput": input});
            call["content"] =
                json!([{"type": "content", "content": {"type": "text", "text": "x"}}]);
            assert_eq!(kind_of(&call), "orchestrator", "{input}");
            for path in ["/etc/x", "src/a", ""] {
                call["content"] = json!([{"type": "diff", "path": path, "newText": "x"}]);
                assert_ne!(kind_of(&call), "orchestrator", "{input} {path}");
            }
            call["content"] = json!([]);
            call["locations"] = json!([{"path": "/etc/x"}]);
            assert_ne!(kind_of(&call), "orchestrator", "{input}");
        }
    }

    /// An agent runs the whole command, not the part that we kept.
    #[test]
    fn a_command_that_was_cut_is_not_ours() {
        let (start, end) =
            ("pitcrew tool orchestrator_complete_task --json '{\"summary\":\"", "\"}'");
        let ours = format!("{start}{}{end}", "x".repeat(16 * 1_024 - start.len() - end.len()));
        let longer = format!("{ours}; rm x");
        let whole = ours.replacen("\":\"", "\":\"x", 1);
        for (input, kind) in [
            (json!({"command": ours}), "orchestrator"),
            (json!({"command": longer}), "execute"),
            (json!({"command": whole}), "execute"),
            (json!({"commands": [longer]}), "execute"),
            (json!({"commands": [ours, "rm x"]}), "execute"),
            (json!({"a": {"command": ours}, "b": {"command": "rm x"}}), "execute"),
            (json!([ours, {"command": "rm x"}]), "execute"),
        ] {
            let call = json!({"title": "t", "kind": "execute", "rawInput": input});
            assert_eq!(kind_of(&call), kind);
        }
    }

    /// Summaries have apostrophes, and agents quote them for their shell.
    #[test]
    fn a_quoted_apostrophe_is_data() {
        let of = |body: &str| {
            let command = format!("pitcrew tool orchestrator_complete_task --json '{body}'");
            kind_of(&json!({"title": "t", "kind": "execute", "rawInput": {"command": command}}))
        };
        assert_eq!(of(r#"{"summary": "read the task'\''s work"}"#), "orchestrator");
        for not_ours in [
            r#"{"summary": "a'; rm x; '"}"#,
            r#"{"summary": "a'\'; rm x; '\'"}"#,
            r#"{"summary": "a'\'''; rm x; '"}"#,
            r#"{"summary": "a\'\''; rm x; #"}"#,
            r#"{"summary": "a'$(rm x)'b"}"#,
        ] {
            assert_eq!(of(not_ours), "execute", "{not_ours}");
        }
    }

    /// A call that passes on a command needs permission like one that runs it.
    #[test]
    fn a_command_that_passes_on_a_command_is_not_ours() {
        let spawn = |input: &Value| {
            let command = format!("pitcrew tool a2a_spawn_subtask --json '{input}'");
            kind_of(&json!({"title": "t", "kind": "execute", "rawInput": {"command": command}}))
        };
        let words = json!({"agent": "claude", "prompt": "look"});
        assert_eq!(spawn(&words), "orchestrator");
        let command = json!({"agent": "command", "prompt": "x", "command": "git push -f"});
        assert_eq!(spawn(&command), "execute");
    }

    #[test]
    fn an_unknown_key_beside_a_command_makes_it_not_ours() {
        let command = "pitcrew tool orchestrator_complete_task --json '{}'";
        let with = |key: &str, value: &Value| {
            let mut input = json!({ "command": command });
            input[key] = value.clone();
            kind_of(&json!({"title": "t", "kind": "execute", "rawInput": input}))
        };
        for (key, value) in [
            ("description", json!("Ends the task")),
            ("timeout", json!(1_000)),
            ("is_background", json!(false)),
        ] {
            assert_eq!(with(key, &value), "orchestrator", "{key}");
        }
        for (key, value) in [
            ("env", json!({"PATH": "/tmp"})),
            ("code", json!("rm x")),
            ("args", json!({"x": "y"})),
            ("args", json!("; rm x")),
            ("script", json!(command)),
            ("cwd", json!("src")),
            ("shell", json!("/tmp/x")),
            ("Command", json!("")),
            ("cmd", json!("")),
            ("cmd", json!(["pitcrew", "tool"])),
            ("commands", json!([""])),
            ("commands", json!({})),
            ("description", json!({"x": "y"})),
        ] {
            assert_eq!(with(key, &value), "execute", "{key} {value}");
        }
    }

    #[test]
    fn a_command_with_extra_shell_syntax_is_not_ours() {
        for command in [
            "pitcrew tool orchestrator_complete_task --json '{}'; rm -r x",
            "pitcrew tool orchestrator_complete_task --json '{}'\nrm -r x",
            "pitcrew tool orchestrator_complete_task --json '{}' 'x'",
            "pitcrew tool orchestrator_complete_task --json \"$(rm x)\"",
            "pitcrew tool rm --json '{}'",
            "./pitcrew tool orchestrator_complete_task --json '{}'",
            "pitcrew land",
            r"pitcrew tool orchestrator_complete_task --json '\'",
            r"pitcrew tool orchestrator_complete_task --json '{}\'; rm x; echo \'",
            "pitcrew tool orchestrator_complete_task --json '{}\0'",
        ] {
            let call = json!({"title": "t", "kind": "execute", "rawInput": {"command": command}});
            assert_eq!(kind_of(&call), "execute", "{command}");
        }
    }
}
