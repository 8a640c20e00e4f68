//! The `tools` of a definition: the names that vendors use, as capabilities.

use pitcrew_model::{Capability, ORCHESTRATOR_TOOLS, ToolSet};

/// Names of tools, in lower case, and what they need.
const NAMES: &[(&str, Capability)] = &[
    ("read", Capability::Read),
    ("view", Capability::Read),
    ("search", Capability::Read),
    ("grep", Capability::Read),
    ("glob", Capability::Read),
    ("ls", Capability::Read),
    ("notebookread", Capability::Read),
    ("edit", Capability::Edit),
    ("multiedit", Capability::Edit),
    ("write", Capability::Edit),
    ("notebookedit", Capability::Edit),
    ("execute", Capability::Execute),
    ("shell", Capability::Execute),
    ("bash", Capability::Execute),
    ("powershell", Capability::Execute),
    ("web", Capability::Web),
    ("webfetch", Capability::Web),
    ("websearch", Capability::Web),
    ("fetch", Capability::Web),
    ("agent", Capability::Delegate),
    ("task", Capability::Delegate),
    ("custom-agent", Capability::Delegate),
];

/// Tools that touch nothing, so every agent has them.
const HARMLESS: &[&str] = &["todo", "todowrite", "todoread", "think"];

/// Every name that `tools` may contain.
pub(super) fn names() -> Vec<&'static str> {
    NAMES.iter().map(|it| it.0).chain(ORCHESTRATOR_TOOLS.iter().copied()).collect()
}

/// The tools of a list, and the names that mean nothing to us. `None`: all tools.
pub(super) fn parse(list: &[String]) -> (Option<ToolSet>, Vec<&String>) {
    let mut tools = ToolSet::default();
    let mut unknown = Vec::new();
    for item in list {
        // `Agent(reviewer)` and `Bash(git:*)` narrow a tool; only the tool counts here.
        let name = item.split('(').next().unwrap_or_default().trim().to_ascii_lowercase();
        if name == "*" {
            return (None, Vec::new());
        }
        if let Some((_, capability)) = NAMES.iter().find(|it| it.0 == name) {
            tools.capabilities.insert(*capability);
        } else if ORCHESTRATOR_TOOLS.contains(&name.as_str()) {
            tools.names.insert(name);
        } else if !HARMLESS.contains(&name.as_str()) {
            unknown.push(item);
        }
    }
    (Some(tools), unknown)
}
