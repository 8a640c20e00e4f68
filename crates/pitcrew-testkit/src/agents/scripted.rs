//! Points each agent to a scripted model as a user would: with variables and files in the home.
//!
//! Everything else is in the data file of its backend.

use serde_json::{Value, json};

#[derive(Default)]
pub struct Scripted {
    pub variables: Vec<(&'static str, String)>,
    /// Files in the home.
    pub files: Vec<(&'static str, String)>,
}

impl Scripted {
    /// `url` is the address of the model.
    pub fn new(agent: &str, url: &str) -> Self {
        match agent {
            "goose" => goose(url),
            "claude" => claude(url),
            "codex" => codex(url),
            "gemini" => gemini(url),
            "opencode" => opencode(url),
            "qwen" => qwen(url),
            "copilot" => copilot(url),
            "vibe" => vibe(url),
            name => panic!("no model configuration is known for {name}"),
        }
    }
}

fn set(pairs: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    pairs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
}

fn goose(url: &str) -> Scripted {
    let variables = set(&[
        ("GOOSE_PROVIDER", "openai"),
        ("GOOSE_MODEL", "scripted"),
        ("OPENAI_HOST", url),
        ("OPENAI_API_KEY", "none"),
    ]);
    Scripted { variables, files: Vec::new() }
}

fn claude(url: &str) -> Scripted {
    let variables = set(&[("ANTHROPIC_BASE_URL", url), ("ANTHROPIC_API_KEY", "none")]);
    Scripted { variables, files: Vec::new() }
}

fn codex(url: &str) -> Scripted {
    let settings = format!(
        r#"model = "gpt-5"
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 0
stream_max_retries = 0
"#
    );
    let files = vec![(".codex/config.toml", settings)];
    Scripted { variables: set(&[("OPENAI_API_KEY", "none")]), files }
}

fn gemini(url: &str) -> Scripted {
    let variables = set(&[
        ("GEMINI_API_KEY", "none"),
        ("GOOGLE_GEMINI_BASE_URL", url),
        ("GEMINI_MODEL", "gemini-2.5-pro"),
    ]);
    let settings = json!({
        "security": { "auth": { "selectedType": "gemini-api-key" } },
        "privacy": { "usageStatisticsEnabled": false },
        "general": { "disableAutoUpdate": true, "enableAutoUpdate": false },
    });
    Scripted { variables, files: vec![(".gemini/settings.json", settings.to_string())] }
}

fn opencode(url: &str) -> Scripted {
    let variables = vec![("OPENCODE_CONFIG_CONTENT", opencode_settings(url).to_string())];
    Scripted { variables, files: Vec::new() }
}

fn opencode_settings(url: &str) -> Value {
    let scripted = json!({
        "name": "Scripted",
        "tool_call": true,
        "limit": { "context": 100_000, "output": 8_000 },
        "cost": { "input": 3, "output": 15 },
    });
    json!({
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "provider": { "scripted": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Scripted",
            "options": { "baseURL": format!("{url}/v1"), "apiKey": "none" },
            "models": { "scripted": scripted },
        } },
    })
}

fn qwen(url: &str) -> Scripted {
    let variables = set(&[
        ("OPENAI_API_KEY", "none"),
        ("OPENAI_BASE_URL", &format!("{url}/v1")),
        ("OPENAI_MODEL", "scripted"),
    ]);
    let settings = json!({
        "security": { "auth": { "selectedType": "openai" } },
        "privacy": { "usageStatisticsEnabled": false },
        "general": { "disableAutoUpdate": true },
    });
    Scripted { variables, files: vec![(".qwen/settings.json", settings.to_string())] }
}

fn copilot(url: &str) -> Scripted {
    let variables = set(&[
        ("COPILOT_PROVIDER_BASE_URL", &format!("{url}/v1")),
        ("COPILOT_PROVIDER_TYPE", "openai"),
        ("COPILOT_PROVIDER_API_KEY", "none"),
        ("COPILOT_MODEL", "scripted"),
        ("COPILOT_OFFLINE", "true"),
    ]);
    Scripted { variables, files: Vec::new() }
}

fn vibe(url: &str) -> Scripted {
    let settings = format!(
        r#"active_model = "scripted"

[[providers]]
name = "scripted"
api_base = "{url}/v1"
api_key_env_var = "MISTRAL_API_KEY"
api_style = "openai"
backend = "generic"

[[models]]
name = "scripted"
provider = "scripted"
alias = "scripted"
"#
    );
    let files = vec![(".vibe/config.toml", settings)];
    Scripted { variables: set(&[("MISTRAL_API_KEY", "none")]), files }
}
