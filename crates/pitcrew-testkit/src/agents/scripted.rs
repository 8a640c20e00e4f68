//! What sends each agent to a scripted model, and keeps it quiet otherwise.

use serde_json::{Value, json};
use std::path::Path;

#[derive(Default)]
pub struct Scripted {
    pub arguments: &'static [&'static str],
    pub variables: Vec<(&'static str, String)>,
    /// Files of its home.
    pub files: Vec<(&'static str, String)>,
}

impl Scripted {
    pub fn new(agent: &str, home: &Path, model: &str) -> Self {
        match agent {
            "goose" => goose(model),
            "claude" => claude(model),
            "codex" => codex(home, model),
            "gemini" => gemini(model),
            "opencode" => opencode(model),
            "qwen" => qwen(model),
            "copilot" => copilot(model),
            "vibe" => vibe(home, model),
            name => panic!("nothing is known of how {name} is started"),
        }
    }
}

fn set(pairs: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    pairs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
}

fn goose(model: &str) -> Scripted {
    let variables = set(&[
        ("GOOSE_PROVIDER", "openai"),
        ("GOOSE_MODEL", "scripted"),
        ("GOOSE_MODE", "approve"),
        ("GOOSE_DISABLE_KEYRING", "1"),
        ("GOOSE_TELEMETRY_ENABLED", "false"),
        ("OPENAI_HOST", model),
        ("OPENAI_API_KEY", "none"),
    ]);
    Scripted { arguments: &["acp"], variables, ..Scripted::default() }
}

fn claude(model: &str) -> Scripted {
    let variables = set(&[
        ("ANTHROPIC_BASE_URL", model),
        ("ANTHROPIC_API_KEY", "none"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("DISABLE_ERROR_REPORTING", "1"),
        ("DISABLE_TELEMETRY", "1"),
        // Tools are offered at once, instead of behind a search.
        ("ENABLE_TOOL_SEARCH", "false"),
        // It refuses to work as root unless told that nothing can be harmed.
        ("IS_SANDBOX", "1"),
    ]);
    Scripted { variables, ..Scripted::default() }
}

fn codex(home: &Path, model: &str) -> Scripted {
    let place = home.join(".codex").display().to_string();
    let variables = set(&[("CODEX_HOME", &place), ("SCRIPTED_KEY", "none")]);
    let settings = format!(
        r#"model = "gpt-5"
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = "{model}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
"#
    );
    Scripted { variables, files: vec![(".codex/config.toml", settings)], ..Scripted::default() }
}

fn gemini(model: &str) -> Scripted {
    let variables = set(&[
        ("GEMINI_API_KEY", "none"),
        ("GOOGLE_GEMINI_BASE_URL", model),
        ("GEMINI_SANDBOX", "false"),
        ("GEMINI_TELEMETRY_ENABLED", "false"),
        // It would start itself anew, and leave the first of the two behind.
        ("GEMINI_CLI_NO_RELAUNCH", "true"),
        // In a folder that is not trusted it starts no servers of ours.
        ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
    ]);
    let settings = json!({
        "security": { "auth": { "selectedType": "gemini-api-key" } },
        "privacy": { "usageStatisticsEnabled": false },
        "general": { "disableAutoUpdate": true, "enableAutoUpdate": false },
    });
    let files = vec![(".gemini/settings.json", settings.to_string())];
    Scripted { arguments: &["--acp", "-m", "gemini-2.5-pro"], variables, files }
}

fn opencode(model: &str) -> Scripted {
    let mut variables = set(&[
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
    ]);
    variables.push(("OPENCODE_CONFIG_CONTENT", opencode_settings(model).to_string()));
    Scripted { arguments: &["acp"], variables, ..Scripted::default() }
}

fn opencode_settings(model: &str) -> Value {
    let limits = json!({ "context": 100_000, "output": 8_000 });
    json!({
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "autoupdate": false,
        "share": "disabled",
        "permission": { "edit": "ask", "bash": "ask" },
        "provider": { "scripted": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Scripted",
            "options": { "baseURL": format!("{model}/v1"), "apiKey": "none" },
            "models": { "scripted": { "name": "Scripted", "tool_call": true, "limit": limits } },
        } },
    })
}

fn qwen(model: &str) -> Scripted {
    let variables = set(&[
        ("OPENAI_API_KEY", "none"),
        ("OPENAI_BASE_URL", &format!("{model}/v1")),
        ("OPENAI_MODEL", "scripted"),
        ("QWEN_SANDBOX", "false"),
    ]);
    let settings = json!({
        "security": { "auth": { "selectedType": "openai" } },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
        "general": { "disableAutoUpdate": true },
    });
    let files = vec![(".qwen/settings.json", settings.to_string())];
    Scripted { arguments: &["--acp"], variables, files }
}

fn copilot(model: &str) -> Scripted {
    let variables = set(&[
        ("COPILOT_PROVIDER_BASE_URL", &format!("{model}/v1")),
        ("COPILOT_PROVIDER_TYPE", "openai"),
        ("COPILOT_PROVIDER_API_KEY", "none"),
        ("COPILOT_MODEL", "scripted"),
        ("COPILOT_OFFLINE", "true"),
        ("COPILOT_AUTO_UPDATE", "false"),
    ]);
    Scripted { arguments: &["--acp"], variables, ..Scripted::default() }
}

fn vibe(home: &Path, model: &str) -> Scripted {
    let place = home.join(".vibe").display().to_string();
    let variables = set(&[("VIBE_HOME", &place), ("SCRIPTED_KEY", "none")]);
    let settings = format!(
        r#"active_model = "scripted"
enable_telemetry = false
enable_update_checks = false
enable_auto_update = false

[[providers]]
name = "scripted"
api_base = "{model}/v1"
api_key_env_var = "SCRIPTED_KEY"
api_style = "openai"
backend = "generic"

[[models]]
name = "scripted"
provider = "scripted"
alias = "scripted"
"#
    );
    Scripted { variables, files: vec![(".vibe/config.toml", settings)], ..Scripted::default() }
}
