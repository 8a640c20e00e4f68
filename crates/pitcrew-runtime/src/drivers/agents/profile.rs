//! What is known of the agents of a backend.

use pitcrew_acp::Profile;

/// How people call it, and its mode that asks before it changes anything.
///
/// Not every agent begins in one: codex and qwen begin where a model decides, vibe where edits are
/// accepted.
const KNOWN: &[(&str, &str, &str)] = &[
    ("claude", "Claude Code", "default"),
    ("codex", "Codex", "workspace-write"),
    ("copilot", "GitHub Copilot CLI", "agent"),
    ("gemini", "Gemini CLI", "default"),
    ("goose", "goose", "approve"),
    ("opencode", "OpenCode", "build"),
    ("qwen", "Qwen Code", "default"),
    ("vibe", "Mistral Vibe", "ask"),
];

/// The profile of the backend with this name; of one that nobody knows nothing is known.
pub fn profile(backend: &str) -> Profile {
    let known = KNOWN.iter().find(|it| it.0 == backend);
    known.map_or_else(Profile::default, |(_, title, mode)| Profile {
        title: Some((*title).to_owned()),
        mode: Some((*mode).to_owned()),
        ..Profile::default()
    })
}
