//! Whether a call is one of our own tools, under whatever name and on whatever way an agent makes it.
//!
//! Strict: nobody is asked about these. What may hide something else is not one of them.

use super::letters;
use crate::schema::{ToolCall, ToolKind};
use pitcrew_model::ORCHESTRATOR_TOOLS;
use serde_json::Value;

/// The name of our MCP server.
const SERVER: &str = "pitcrew";
/// The arguments of our tools. A call with any other is not one of them.
const ARGUMENTS: &[&str] = &["summary", "outcome", "kind", "message"];

pub fn is_ours(call: &ToolCall, commands: &[String]) -> bool {
    let input = call.raw_input.as_ref();
    if !commands.is_empty() {
        return commands.iter().flat_map(|it| it.lines()).all(is_our_command);
    }
    match input.filter(|it| it["server"] == SERVER) {
        Some(input) => {
            let is_tool = input["tool"].as_str().is_some_and(|it| ORCHESTRATOR_TOOLS.contains(&it));
            is_tool && takes_our_arguments(input.get("arguments"))
        }
        None => {
            call.kind == ToolKind::Other && has_our_name(&call.title) && takes_our_arguments(input)
        }
    }
}

/// `pitcrew tool NAME --json '...'`, and nothing that a shell would make more of.
fn is_our_command(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("pitcrew tool ") else { return false };
    let Some((name, rest)) = rest.split_once(' ') else { return false };
    let body = rest.strip_prefix("--json '").and_then(|it| it.strip_suffix('\''));
    ORCHESTRATOR_TOOLS.contains(&name) && body.is_some_and(|it| !it.contains('\''))
}

/// The whole title is the name, or its first word, with what agents put before it.
fn has_our_name(title: &str) -> bool {
    let ends = |it: char| it.is_whitespace() || "({:".contains(it);
    let first = title.split(ends).next().unwrap_or_default();
    let bare = |text: &str| {
        let all = letters(text);
        let rest = all.strip_prefix("mcp").unwrap_or(&all);
        rest.strip_prefix(SERVER).unwrap_or(rest).to_owned()
    };
    let names = [bare(first), bare(title)];
    ORCHESTRATOR_TOOLS.iter().any(|it| names.contains(&letters(it)))
}

fn takes_our_arguments(input: Option<&Value>) -> bool {
    match input {
        None | Some(Value::Null) => true,
        Some(Value::Object(input)) => input.keys().all(|it| ARGUMENTS.contains(&it.as_str())),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => false,
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

    /// As claude, goose, gemini, opencode, codex, qwen and copilot were seen to make it.
    #[test]
    fn our_tools_are_known_however_an_agent_calls_them() {
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
        let named = json!({"title": "mcp.pitcrew.orchestrator_complete_task", "kind": "execute",
            "rawInput": {"server": "pitcrew", "tool": "orchestrator_complete_task", "arguments": input}});
        assert_eq!(kind_of(&named), "orchestrator");
        let line = "pitcrew tool a2a_notify_orchestrator --json '{\"kind\": \"question\"}'";
        let input = json!({"command": line, "commands": [line]});
        let shell = json!({"title": "Ask", "kind": "execute", "rawInput": input});
        assert_eq!(kind_of(&shell), "orchestrator");
    }

    #[test]
    fn nothing_else_passes_for_one_of_ours() {
        let name = "mcp__pitcrew__orchestrator_complete_task";
        for input in [
            json!({"summary": "x", "url": "y"}),
            json!({"path": "a"}),
            json!("x"),
            json!({"server": "other", "tool": "orchestrator_complete_task"}),
            json!({"server": "pitcrew", "tool": "rm"}),
        ] {
            let call = json!({"title": name, "kind": "other", "rawInput": input});
            assert_ne!(kind_of(&call), "orchestrator", "{input}");
        }
        for title in [
            "rm orchestrator_complete_task",
            "{\"orchestrator_complete_task\": \"x\"}",
            "mcp__other__orchestrator_complete_task",
            "orchestrator_complete_tasks",
        ] {
            let call = json!({"title": title, "kind": "other", "rawInput": {"summary": "x"}});
            assert_ne!(kind_of(&call), "orchestrator", "{title}");
        }
        let executes = json!({"title": name, "kind": "execute"});
        assert_eq!(kind_of(&executes), "execute", "what it executes is not known");
    }

    #[test]
    fn a_command_with_anything_besides_is_not_ours() {
        for command in [
            "pitcrew tool orchestrator_complete_task --json '{}'; rm -r x",
            "pitcrew tool orchestrator_complete_task --json '{}'\nrm -r x",
            "pitcrew tool orchestrator_complete_task --json '{}' 'x'",
            "pitcrew tool orchestrator_complete_task --json \"$(rm x)\"",
            "pitcrew tool rm --json '{}'",
            "./pitcrew tool orchestrator_complete_task --json '{}'",
            "pitcrew land",
        ] {
            let call = json!({"title": "t", "kind": "execute", "rawInput": {"command": command}});
            assert_eq!(kind_of(&call), "execute", "{command}");
        }
    }
}
