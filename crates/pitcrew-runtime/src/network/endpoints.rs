//! Finds model endpoints in the user's variables, in an agent's command line, and in its settings
//! files. Settings in a repository are not used.

use super::{Needs, registries::read};
use pitcrew_config::{BackendSettings, user_environment};
use pitcrew_model::{Host, Place, place_of_url};
use std::{collections::BTreeMap, path::Path};

type Variables = BTreeMap<String, String>;

/// Model servers that run on the user's machine, and their default ports. Settings that name one of
/// them need not contain its address.
const LOCAL: &[(&str, u16)] = &[("ollama", 11434), ("lmstudio", 1234), ("lm-studio", 1234)];

/// The extensions of settings files with addresses. Prose mentions many unrelated ones.
const SETTINGS: &[&str] = &["json", "jsonc", "toml", "yaml", "yml", "env"];

pub(super) fn endpoints(needs: Needs<'_>) -> Vec<Place> {
    let model = needs.model.map(|it| it.endpoint.as_deref().unwrap_or(it.provider.endpoint()));
    let mut places: Vec<Place> = model.and_then(place_of_url).into_iter().collect();
    if let Some(backend) = needs.backend {
        let user = user_environment();
        places.extend(of_variables(&backend.environment_here()));
        places.extend(backend.command.iter().filter_map(|it| of_word(it)));
        places.extend(of_files(backend, &user));
    }
    places
}

/// Whether the host is this machine, under any name that local programs use for it.
pub(super) fn is_local(host: &Host) -> bool {
    match host {
        Host::Name(name) => name == "localhost",
        Host::Address(address) => address.is_loopback() || address.is_unspecified(),
    }
}

fn of_variables(variables: &Variables) -> Vec<Place> {
    let mut places = Vec::new();
    // The user's proxy is used only by our egress proxy.
    let is_proxy = |name: &str| name.to_ascii_uppercase().ends_with("_PROXY");
    for (name, value) in variables.iter().filter(|it| !is_proxy(it.0)) {
        places.extend(in_text(value));
        // Some contain a host and perhaps a port, without a scheme.
        if name.ends_with("_HOST") && !value.contains("://") {
            let usual = if name == "OLLAMA_HOST" { LOCAL[0].1 } else { 443 };
            places.extend(Place::parse_or(value, usual));
        } else if LOCAL.iter().any(|it| it.0 == value) && !variables.contains_key("OLLAMA_HOST") {
            places.extend(named(value));
        }
    }
    places
}

/// A word of a command line: a URL, or a port of this machine.
fn of_word(word: &str) -> Option<Place> {
    let value = word.split_once('=').map_or(word, |it| it.1);
    let plain = || value.parse().ok().filter(|it: &Place| is_local(&it.host));
    place_of_url(word).or_else(|| place_of_url(value)).or_else(plain)
}

fn of_files(backend: &BackendSettings, user: &Variables) -> Vec<Place> {
    let is_settings = |path: &Path| {
        let end = path.extension().or(path.file_name()).and_then(|it| it.to_str());
        end.is_some_and(|it| SETTINGS.contains(&it.trim_start_matches('.')))
    };
    let places = backend.state_places(user).into_iter().map(|it| it.source);
    let texts = places.filter(|it| is_settings(it)).map(|it| read(&it));
    texts.flat_map(|it| of_settings(&it)).collect()
}

fn of_settings(text: &str) -> Vec<Place> {
    let is_comment = |line: &&str| line.trim_start().starts_with(['#', '/']);
    let lines = text.lines().filter(|it| !is_comment(it));
    lines.flat_map(|it| in_text(it).into_iter().chain(named(it))).collect()
}

/// The local servers named by a line of settings, as whole words.
fn named(line: &str) -> Vec<Place> {
    let words = line.split(|it: char| !(it.is_ascii_alphanumeric() || it == '-'));
    let known = words.filter_map(|word| LOCAL.iter().find(|it| word.eq_ignore_ascii_case(it.0)));
    known.map(|it| Place { host: Host::Name("localhost".into()), port: it.1 }).collect()
}

/// Every URL in a text.
fn in_text(text: &str) -> Vec<Place> {
    let ends = |it: char| it.is_whitespace() || "\"'`,;()<>{}\\|".contains(it);
    let address = |(at, _)| {
        let rest: &str = &text[at..];
        place_of_url(&rest[..rest.find(ends).unwrap_or(rest.len())])
    };
    text.match_indices("http").filter_map(address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(places: &[Place]) -> Vec<String> {
        places.iter().map(ToString::to_string).collect()
    }

    fn variables(pairs: &[(&str, &str)]) -> Vec<String> {
        let map = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        shown(&of_variables(&map.collect()))
    }

    #[test]
    fn finds_models_and_not_proxies_in_variables() {
        let found = variables(&[
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:8080/v1"),
            ("DATABRICKS_HOST", "models.example"),
            ("HTTPS_PROXY", "http://proxy.example:3128"),
            ("OLLAMA_HOST", "localhost"),
            ("SETTINGS", r#"{"provider": {"baseURL": "https://inner.example:8443/v1"}}"#),
            ("SOME_KEY", "sk-1234"),
        ]);
        let expected =
            ["127.0.0.1:8080", "models.example:443", "localhost:11434", "inner.example:8443"];
        assert_eq!(found, expected);
        assert_eq!(variables(&[("GOOSE_PROVIDER", "ollama")]), ["localhost:11434"]);
        let elsewhere = [("GOOSE_PROVIDER", "ollama"), ("OLLAMA_HOST", "http://big.example:9000")];
        assert_eq!(variables(&elsewhere), ["big.example:9000"]);
    }

    #[test]
    fn finds_urls_and_local_ports_in_a_command_line() {
        let place = |it| of_word(it).map(|it| it.to_string());
        assert_eq!(place("--base-url=http://localhost:8000/v1").as_deref(), Some("localhost:8000"));
        assert_eq!(place("https://models.example/v1").as_deref(), Some("models.example:443"));
        assert_eq!(place("127.0.0.1:8000").as_deref(), Some("127.0.0.1:8000"));
        for word in ["--model", "host:8000", "core/one.txt", "image:3"] {
            assert_eq!(place(word), None, "{word}");
        }
    }

    #[test]
    fn finds_urls_in_settings_outside_comments() {
        let text = "base_url = \"http://localhost:11434/v1\"\n# url = \"https://not.example\"\n\
            {\"mcp\": {\"url\": \"https://tools.example/x\"}, \"v6\": \"http://[::1]:9000\"}\n";
        assert_eq!(
            shown(&of_settings(text)),
            ["localhost:11434", "tools.example:443", "[::1]:9000"]
        );
        assert_eq!(shown(&of_settings("model_provider = \"ollama\"\n")), ["localhost:11434"]);
        assert_eq!(shown(&of_settings("theme: llama\n")), Vec::<String>::new());
    }
}
