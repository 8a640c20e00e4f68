//! The tools by name: what a model reads before it calls one.

use serde_json::{Value, json};

/// Ends a worker's task.
pub const COMPLETE_TASK: &str = "orchestrator_complete_task";
/// Tells or asks something.
pub const NOTIFY_ORCHESTRATOR: &str = "a2a_notify_orchestrator";

/// A tool as it is offered.
pub struct ToolInfo {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    /// JSON schema of the arguments; always an object.
    pub input: Value,
}

/// Every tool of a worker.
pub fn tools() -> Vec<ToolInfo> {
    vec![
        ToolInfo {
            name: COMPLETE_TASK,
            title: "Complete the task",
            description: "Report that your task has ended. Call this exactly once, when the work \
                is finished or when you are sure that it cannot be finished; a turn that ends \
                without this call does not count as completion. After the call make no further \
                changes and end your turn. Your work is then checked and integrated for you: you \
                need not commit.",
            input: json!({
                "type": "object",
                "properties": {
                    "summary": {
                        "type": "string",
                        "minLength": 1,
                        "description": "What was done and what a reviewer should know, in a few sentences. It becomes the commit message: begin with one short line."
                    },
                    "outcome": {
                        "type": "string",
                        "enum": ["success", "partial", "failed"],
                        "default": "success",
                        "description": "success: everything that was asked is done. partial: some of it is done; say in the summary what is missing. failed: it cannot be done; say why."
                    }
                },
                "required": ["summary"]
            }),
        },
        ToolInfo {
            name: NOTIFY_ORCHESTRATOR,
            title: "Tell or ask the orchestrator",
            description: "Send a status note, or ask a person a question. A status note needs no \
                answer: go on working. After a question end your turn: the answer arrives as your \
                next prompt. Ask only what you cannot find out yourself.",
            input: json!({
                "type": "object",
                "properties": {
                    "kind": {
                        "type": "string",
                        "enum": ["status", "question"],
                        "description": "status: for information. question: you need an answer before you can go on."
                    },
                    "message": {
                        "type": "string",
                        "minLength": 1,
                        "description": "The note or the question, complete in itself: the reader does not see your conversation."
                    }
                },
                "required": ["kind", "message"]
            }),
        },
    ]
}

/// What agents put before the name of a tool: that of their own surface, or of our server.
const SURFACES: &[&str] = &["mcppitcrew", "copilot", "pitcrew"];

/// The one name of a tool, however its call spells it: `orchestrator_completeTask`,
/// `copilot_orchestratorCompleteTask`, `mcp__pitcrew__orchestrator_complete_task` and the name
/// without its prefix mean the same tool.
pub fn canonical_name(spelling: &str) -> Option<&'static str> {
    let letters = letters(spelling);
    let surface = SURFACES.iter().find_map(|it| letters.strip_prefix(it));
    match surface.unwrap_or(&letters) {
        "orchestratorcompletetask" | "completetask" => Some(COMPLETE_TASK),
        "a2anotifyorchestrator" | "notifyorchestrator" => Some(NOTIFY_ORCHESTRATOR),
        _ => None,
    }
}

/// Letters and digits in lower case: what all spellings of a name have in common.
pub(crate) fn letters(spelling: &str) -> String {
    spelling.chars().filter(char::is_ascii_alphanumeric).map(|it| it.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S1-029, S1-030: one canonical name, and whoever learned another one gets there too.
    #[test]
    fn every_tool_has_one_name_and_many_spellings() {
        for spelling in [
            "orchestrator_complete_task",
            "orchestrator_completeTask",
            "orchestrator-complete-task",
            "completeTask",
            "copilot_orchestratorCompleteTask",
            "mcp__pitcrew__orchestrator_complete_task",
        ] {
            assert_eq!(canonical_name(spelling), Some(COMPLETE_TASK), "{spelling}");
        }
        assert_eq!(canonical_name("a2a_notifyOrchestrator"), Some(NOTIFY_ORCHESTRATOR));
        assert_eq!(canonical_name("orchestrator_complete"), None);
        for tool in tools() {
            assert_eq!(canonical_name(tool.name), Some(tool.name));
            assert_eq!(tool.input["type"], "object", "{}", tool.name);
        }
        let names: Vec<&str> = tools().iter().map(|it| it.name).collect();
        assert_eq!(names, pitcrew_model::ORCHESTRATOR_TOOLS, "no person is asked about these");
    }
}
