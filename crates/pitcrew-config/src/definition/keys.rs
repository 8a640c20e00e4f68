//! The keys of a definition: ours, and those of other vendors that are accepted and ignored.

/// A key that we understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Name,
    Description,
    Backend,
    Models,
    Tools,
    Strengths,
    Weaknesses,
    Workspace,
    CanSpawnSubtasks,
    MaxSubtaskDepth,
    /// A way to combine agents.
    Pattern,
}

/// Our keys as they are documented. `models` and `preferred_models` are other names of `model`.
const KEYS: &[(&str, Key)] = &[
    ("name", Key::Name),
    ("description", Key::Description),
    ("backend", Key::Backend),
    ("model", Key::Models),
    ("models", Key::Models),
    ("preferred_models", Key::Models),
    ("tools", Key::Tools),
    ("strengths", Key::Strengths),
    ("weaknesses", Key::Weaknesses),
    ("workspace", Key::Workspace),
    ("can_spawn_subtasks", Key::CanSpawnSubtasks),
    ("max_subtask_depth", Key::MaxSubtaskDepth),
    ("advisors", Key::Pattern),
    ("router", Key::Pattern),
    ("handoff", Key::Pattern),
    ("team", Key::Pattern),
];

/// Keys that other programs read from the same files.
const OTHER_KEYS: &[&str] = &[
    "agents",
    "argument-hint",
    "author",
    "background",
    "color",
    "disable",
    "disable-model-invocation",
    "disallowedTools",
    "effort",
    "handoffs",
    "hidden",
    "hooks",
    "infer",
    "initialPrompt",
    "isolation",
    "license",
    "maxTurns",
    "mcp-servers",
    "mcpServers",
    "memory",
    "metadata",
    "mode",
    "permission",
    "permissionMode",
    "skills",
    "steps",
    "tags",
    "target",
    "temperature",
    "user-invocable",
    "user-invokable",
    "version",
];

/// What a key means. Vendors write keys with underscores, hyphens and capitals.
pub(super) enum Meaning {
    Ours(Key),
    /// Another program's key.
    Other,
    /// Probably a misspelled key of ours.
    NearMiss(&'static str),
    Unknown,
}

pub(super) fn meaning(key: &str) -> Meaning {
    let wanted = letters(key);
    if let Some((_, key)) = KEYS.iter().find(|it| letters(it.0) == wanted) {
        return Meaning::Ours(*key);
    }
    if OTHER_KEYS.iter().any(|it| letters(it) == wanted) {
        return Meaning::Other;
    }
    match crate::suggest::nearest(key, names()) {
        Some(near) => Meaning::NearMiss(near),
        None => Meaning::Unknown,
    }
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|it| it.0)
}

fn letters(key: &str) -> String {
    key.chars().filter(char::is_ascii_alphanumeric).map(|it| it.to_ascii_lowercase()).collect()
}
