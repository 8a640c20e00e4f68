//! The version of an agent's program.

use super::BackendStatus;
use pitcrew_config::BackendSettings;
use pitcrew_process::{Cancel, FoundProgram, Policy, Run, Streams, run_confined};
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path, thread, time::Duration};

/// The slowest known agent needs 3 s on an idle machine.
const PATIENCE: Duration = Duration::from_secs(15);
const OUTPUT_BYTES_MAX: usize = 4 * 1_024;

/// Queries the versions of all installed agents in parallel.
pub fn versions(backends: &[BackendStatus]) -> BTreeMap<String, String> {
    thread::scope(|scope| {
        let asked: Vec<_> = backends
            .iter()
            .filter_map(|it| Some((it, it.found()?)))
            .map(|(it, found)| (it.name.clone(), scope.spawn(|| version(&it.backend, found))))
            .collect();
        let answered = asked.into_iter().map(|(name, it)| (name, it.join().ok().flatten()));
        answered.filter_map(|(name, version)| Some((name, version?))).collect()
    })
}

/// The version in the program's npm package. Without a package, or if `version_args` is set, the
/// program is asked.
fn version(backend: &BackendSettings, found: &FoundProgram) -> Option<String> {
    match &backend.version_args {
        Some(arguments) if arguments.is_empty() => None,
        Some(arguments) => ask(backend, found, arguments),
        None => of_package(&found.path).or_else(|| ask(backend, found, &["--version".into()])),
    }
}

/// Reads the version of the npm package that contains a program.
fn of_package(program: &Path) -> Option<String> {
    let program = fs::canonicalize(program).ok()?;
    let is_modules = |it: &Path| it.file_name().is_some_and(|it| it == "node_modules");
    let inside = program.ancestors().skip(1).take_while(|it| !is_modules(it));
    let package = inside.filter(|it| it.ancestors().any(is_modules)).find_map(|it| {
        let text = fs::read(it.join("package.json")).ok()?;
        serde_json::from_slice::<Value>(&text).ok()
    })?;
    numbers(package["version"].as_str()?)
}

fn ask(backend: &BackendSettings, found: &FoundProgram, arguments: &[String]) -> Option<String> {
    let mut run = Run::new(&found.path, "/")
        .args(arguments)
        .timeout(PATIENCE)
        .output_bytes_max(OUTPUT_BYTES_MAX);
    run.streams = Streams::Together;
    for (name, value) in backend.environment_here() {
        run = run.env(name, value);
    }
    if let (false, Some(folder)) = (found.on_path, found.path.parent()) {
        let path = std::env::var("PATH").unwrap_or_default();
        run = run.env("PATH", format!("{path}:{}", folder.display()));
    }
    let answer = run_confined(&Policy::unconfined(), run, &Cancel::default()).ok()?;
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    text.split_whitespace().find_map(numbers)
}

/// Returns the word if it is a version.
fn numbers(word: &str) -> Option<String> {
    let word = word.trim_start_matches('v').trim_end_matches(['.', ',', ')']);
    let begins = word.starts_with(|it: char| it.is_ascii_digit()) && word.contains('.');
    let plain = word.chars().all(|it| it.is_ascii_alphanumeric() || ".-+".contains(it));
    (begins && plain && word.len() <= 40).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_found_in_program_output() {
        let first = |text: &str| text.split_whitespace().find_map(numbers);
        for (said, expected) in [
            (" 1.34.0", "1.34.0"),
            ("GitHub Copilot CLI 1.0.102.\nRun 'copilot update'", "1.0.102"),
            ("@agentclientprotocol/codex-acp 2.6.0", "2.6.0"),
            ("2.1.240 (Claude Code)", "2.1.240"),
            ("v0.3.1-beta.2", "0.3.1-beta.2"),
        ] {
            assert_eq!(first(said).as_deref(), Some(expected), "{said}");
        }
        assert_eq!(first("no version \u{1b}[2J here"), None);
    }
}
