use super::*;
use crate::profile::{ErrorKind, ErrorRule};
use pitcrew_model::Timestamp;

const AT: Timestamp = Timestamp(1_794_700_000_000);
const UNTIL_UNKNOWN: ErrorCause = ErrorCause::Quota { until: None };

fn rules(rules: &[(&str, ErrorKind)]) -> Vec<ErrorRule> {
    rules.iter().map(|(says, kind)| ErrorRule { says: (*says).into(), kind: *kind }).collect()
}

fn said(chunks: &[&str], marks: &[&str]) -> Option<(ErrorCause, String)> {
    let rules = rules(&[
        ("429", ErrorKind::Quota),
        ("Ran into this error: Rate limit", ErrorKind::Quota),
        ("Ran into this error:", ErrorKind::Model),
        ("Error: 401 ", ErrorKind::Auth),
        ("systemError", ErrorKind::Model),
    ]);
    let mut words = Words::default();
    for chunk in chunks {
        if *chunk == "TOOL" { words.supersede() } else { words.say(chunk) }
    }
    let marks: Vec<String> = marks.iter().map(ToString::to_string).collect();
    of_words(&words, &marks, &ErrorContext { rules: &rules, is_logged_out: false, at: AT })
}

#[test]
fn a_turn_that_ends_with_an_error_text_failed() {
    let (cause, message) =
        said(&["Ran into this error: Bad request (400).\n\nPlease retry"], &[]).expect("an error");
    assert_eq!(
        (cause, message.as_str()),
        (ErrorCause::Model, "Ran into this error: Bad request (400).")
    );
    let late = said(
        &["I look.", "TOOL", "Half of ", "it is\nRan into this error: Rate limit, retry after 60s"],
        &[],
    );
    assert_eq!(late.expect("an error").0, ErrorCause::Quota { until: Some(AT.plus(60_000)) });
    let piece = said(&["Info: Retrying...", "Info: Retrying...", "Error: 401 no key"], &[]);
    assert_eq!(piece.expect("an error"), (ErrorCause::Auth, "Error: 401 no key".into()));
}

#[test]
fn writing_about_errors_is_not_an_error() {
    for words in [
        &["I fixed it: it says `Ran into this error: no` no more."][..],
        &["429 tests pass."],
        &["Ran into this error: no", "TOOL", "All is done."],
        // After the tool call came no text, and the text before it was not the last.
        &["Ran into this error: no", "TOOL"],
        &["systemError is a mark, and not a word"],
        &[],
    ] {
        assert_eq!(said(words, &[]), None, "{words:?}");
    }
}

/// The rules of all built-in backends.
fn shipped() -> Vec<(String, Vec<ErrorRule>)> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../pitcrew-config/backends");
    let files = std::fs::read_dir(dir).expect("a folder").map(|it| it.expect("a file").path());
    let value = |line: &str, key: &str| {
        let quoted = line.strip_prefix(key)?.strip_prefix(" = ")?;
        Some(quoted[1..quoted.len() - 1].to_owned())
    };
    let rules = |text: &str| {
        let says = text.lines().filter_map(|it| value(it, "says"));
        let kinds = text.lines().filter_map(|it| value(it, "kind"));
        let kinds = kinds.filter_map(|it| match it.as_str() {
            "auth" => Some(ErrorKind::Auth),
            "quota" => Some(ErrorKind::Quota),
            "model" => Some(ErrorKind::Model),
            _ => None,
        });
        says.zip(kinds).map(|(says, kind)| ErrorRule { says, kind }).collect()
    };
    files
        .map(|it| {
            let name = it.file_stem().expect("a name").to_string_lossy().into_owned();
            (name, rules(&std::fs::read_to_string(&it).expect("a text")))
        })
        .collect()
}

fn said_with(rules: &[ErrorRule], text: &str) -> Option<ErrorCause> {
    let mut words = Words::default();
    words.say(text);
    Some(of_words(&words, &[], &ErrorContext { rules, is_logged_out: false, at: AT })?.0)
}

#[test]
fn no_backend_rule_matches_an_ordinary_sentence() {
    let backends = shipped();
    assert!(backends.len() >= 8, "{}", backends.len());
    for (name, rules) in &backends {
        for text in [
            "Rate limiting is now in src/api.",
            "Rate limit headers are sent.",
            "API Error responses are now JSON",
            "API error handling is done.",
            "Client errors are logged.\nServer error pages are new.",
            "The docs are new:\nRate limit: 10 a second\nAPI Error: what it means",
            "Invalid API key tests pass.",
            "You've hit your target.",
            "unexpected status codes are logged",
            "usage limit checks are in place",
            "quota exceeded tests pass",
            "Error: 401 and Ran into this error: are both tested.\n\nAll is done.",
        ] {
            let text = format!("I am done.\n\n{text}");
            assert_eq!(said_with(rules, &text), None, "{name}: {text}");
        }
        for text in ["Rate limiting is now in src/api.", "API Error responses are now JSON"] {
            assert_eq!(said_with(rules, text), None, "{name}: {text}");
        }
    }
}

#[test]
fn the_backends_rules_match_their_errors() {
    let backends = shipped();
    for (name, text, wanted) in [
        ("goose", "Ran into this error: Server error (500).\n\nPlease retry if", ErrorCause::Model),
        ("goose", "Ran into this error: Authentication error: no", ErrorCause::Auth),
        ("goose", "Ran into this error: Rate limit exceeded: no", UNTIL_UNKNOWN),
        ("goose", "Ran into this error: Credits exhausted: top up", ErrorCause::Auth),
        ("codex", "unexpected status 401 Unauthorized: no", ErrorCause::Auth),
        ("codex", "unexpected status 500 Internal Server Error: no", ErrorCause::Model),
        ("codex", "exceeded retry limit, last status: 429 Too Many Requests", UNTIL_UNKNOWN),
        ("codex", "exceeded retry limit, last status: 503 no", ErrorCause::Model),
        ("codex", "stream disconnected before completion: no", ErrorCause::Model),
        ("codex", "You've hit your usage limit. Upgrade to Plus", UNTIL_UNKNOWN),
        ("codex", "{\"error\":{\"message\":\"no\"}}", ErrorCause::Model),
        ("copilot", "I look.\nError: 401 no key", ErrorCause::Auth),
        ("copilot", "Error: 429 too many", UNTIL_UNKNOWN),
        (
            "copilot",
            "Error: Failed to get response from the AI model; retried 5 times",
            ErrorCause::Model,
        ),
        ("claude", "API Error: 500 no", ErrorCause::Model),
        ("claude", "You've hit your session limit · resets soon", UNTIL_UNKNOWN),
        ("claude", "Credit balance is too low", ErrorCause::Auth),
        ("vibe", "Client error '400 Bad Request' for url", ErrorCause::Model),
        ("vibe", "Rate limit: no", UNTIL_UNKNOWN),
    ] {
        let rules = &backends.iter().find(|it| it.0 == name).expect("a backend").1;
        assert_eq!(said_with(rules, text), Some(wanted), "{name}: {text}");
    }
}

#[test]
fn a_time_before_the_error_is_ignored() {
    let said = said(&["Done in 3 days.\nRan into this error: Rate limit, retry in 60s"], &[]);
    assert_eq!(said.expect("an error").0, ErrorCause::Quota { until: Some(AT.plus(60_000)) });
}

#[test]
fn a_marker_identifies_an_error() {
    let (cause, message) =
        said(&["Warning: old.\n\n", "high demand\n\n"], &["systemError"]).expect("an error");
    assert_eq!((cause, message.as_str()), (ErrorCause::Model, "high demand"));
    assert_eq!(said(&["high demand"], &["idle"]), None);
}
