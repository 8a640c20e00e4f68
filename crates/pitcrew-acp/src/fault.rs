//! What an error was about: the login, a limit of the provider, the model, or something else.
//!
//! What an agent says in a structured way counts first, then the rules of its backend. Agents write
//! about errors all day, so the words of a turn that ended well are believed only where they begin
//! as a rule says.

mod log;
mod reset;

use crate::{
    frame::RpcError,
    plain::one_line,
    profile::{ErrorKind, ErrorRule},
    turn::Words,
};
pub(crate) use log::of_log;
use pitcrew_model::{ErrorCause, Timestamp};
use reset::{Reset, reset_in};
use serde_json::Value;

const MESSAGE_BYTES_MAX: usize = 1_000;
/// The protocol's own: the client has to log in first.
const AUTH_REQUIRED: i64 = -32_000;
/// Providers answer so with a status that says something else.
const UNPAID: [&str; 4] = [
    "insufficient_quota",
    "credit balance is too low",
    "out of usage credits",
    "credits exhausted",
];

/// What an error says besides its words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    kind: Option<ErrorKind>,
    reset: Option<Reset>,
}

impl Facts {
    /// Whether there is nothing in the structured part of an error that says more than its facts.
    pub fn are_all_of(data: &Value) -> bool {
        match data {
            Value::Null => true,
            Value::Object(members) => members.keys().all(|it| it == "errorKind" || it == "resetAt"),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
        }
    }

    /// `data` is the structured part of an error, `detail` its telling words.
    pub fn of(code: i64, data: &Value, detail: &str) -> Self {
        let words = ["errorKind", "kind", "type", "code", "status"];
        let named = words.iter().find_map(|it| kind_of_word(data[*it].as_str()?));
        let numbers = ["code", "status", "statusCode", "httpStatus"];
        let told = numbers.iter().find_map(|it| kind_of_status(data[*it].as_i64()?));
        // Some put the answer of the provider into words: `429 Too Many Requests`.
        let led = || detail.split_whitespace().next()?.parse().ok().and_then(kind_of_status);
        let kind = named.or(told).or_else(|| kind_of_status(code)).or_else(led);
        let kind = kind.or((code == AUTH_REQUIRED).then_some(ErrorKind::Auth));
        Self { kind, reset: Reset::told(data) }
    }
}

fn kind_of_status(status: i64) -> Option<ErrorKind> {
    match status {
        // What is not paid for comes back as little by waiting as a key that is refused.
        401..=403 => Some(ErrorKind::Auth),
        429 => Some(ErrorKind::Quota),
        400..=599 => Some(ErrorKind::Model),
        _ => None,
    }
}

fn kind_of_word(word: &str) -> Option<ErrorKind> {
    match word.to_ascii_lowercase().as_str() {
        "auth"
        | "auth_required"
        | "authentication_failed"
        | "authentication_error"
        | "unauthorized"
        | "unauthenticated"
        | "invalid_api_key"
        | "oauth_org_not_allowed"
        | "insufficient_quota"
        | "billing_error" => Some(ErrorKind::Auth),
        "quota"
        | "rate_limit"
        | "rate_limited"
        | "rate_limit_error"
        | "rate_limit_exceeded"
        | "usage_limit"
        | "usage_limit_reached"
        | "quota_exhausted"
        | "resource_exhausted" => Some(ErrorKind::Quota),
        "model"
        | "overloaded"
        | "overloaded_error"
        | "invalid_request"
        | "invalid_request_error"
        | "server_error"
        | "api_error"
        | "model_not_found"
        | "max_output_tokens" => Some(ErrorKind::Model),
        _ => None,
    }
}

/// What is known when an error is judged.
pub(crate) struct Known<'a> {
    pub rules: &'a [ErrorRule],
    /// The agent has said that nobody is logged in.
    pub is_logged_out: bool,
    /// When the error was told.
    pub at: Timestamp,
}

/// What an error was about that an agent answered with.
pub(crate) fn of_answer(error: &RpcError, known: &Known<'_>) -> ErrorCause {
    let message = error.message.to_ascii_lowercase();
    let applies = |it: &&ErrorRule| match it.says.parse::<i64>() {
        Ok(code) => code == error.code,
        Err(_) => message.contains(&it.says.to_ascii_lowercase()),
    };
    let is_unpaid = UNPAID.iter().any(|it| message.contains(it));
    let kind = is_unpaid.then_some(ErrorKind::Auth).or(error.facts.kind);
    let kind = kind.or_else(|| Some(known.rules.iter().find(applies)?.kind));
    match kind.or(known.is_logged_out.then_some(ErrorKind::Auth)) {
        Some(kind) => cause(kind, error.facts.reset, &error.message, known.at),
        None => ErrorCause::Other,
    }
}

/// The error that a turn ended with although the agent says that it ended well; nothing where it did.
///
/// Only what the agent said last counts, and only where it begins with what a rule says: a line of
/// the last paragraph, or the last piece of the message. A rule may also name a mark that the agent
/// sets, as it is.
pub(crate) fn of_words(
    words: &Words,
    marks: &[String],
    known: &Known<'_>,
) -> Option<(ErrorCause, String)> {
    let text = words.last_message()?;
    let begins: Vec<&str> =
        [Some(text), words.last_piece()].into_iter().flatten().map(str::trim_start).collect();
    let lines = lines_at_the_end(text);
    let begun = known.rules.iter().filter(|it| !is_word(&it.says)).find_map(|rule| {
        // A few words may be the title of anything.
        let lines = if is_short(&rule.says) { &[][..] } else { &lines };
        let said = begins.iter().chain(lines).find(|it| begins_with(it, &rule.says))?;
        Some((rule.kind, *said))
    });
    let marked = || {
        let rule = known.rules.iter().find(|it| marks.contains(&it.says))?;
        Some((rule.kind, words.last_piece().unwrap_or(text)))
    };
    let (kind, said) = begun.or_else(marked)?;
    let line = said.trim_start().lines().next().unwrap_or_default();
    Some((cause(kind, None, said, known.at), one_line(line, MESSAGE_BYTES_MAX)))
}

/// The lines of the last paragraph, each with all that follows it.
fn lines_at_the_end(text: &str) -> Vec<&str> {
    let text = text.trim_end();
    let starts = text.rmatch_indices('\n').map(|it| it.0 + 1).chain([0]);
    let lines = starts.map(|it| &text[it..]);
    let mut lines: Vec<&str> = lines
        .take_while(|it| it.lines().next().is_some_and(|line| !line.trim().is_empty()))
        .map(str::trim_start)
        .collect();
    lines.reverse();
    lines
}

/// Whether a text begins with what a rule says, and not with a sentence that has the same words.
///
/// A rule with a colon or a number is told apart from those by itself; behind another one there has
/// to be what ends it, or the status of an answer.
fn begins_with(text: &str, says: &str) -> bool {
    let Some(rest) = text.strip_prefix(says) else { return false };
    let is_ended = says.trim_end().ends_with(|it: char| !it.is_alphanumeric());
    if is_ended {
        return true;
    }
    let is_cut_off = rest.starts_with(char::is_alphanumeric) && !says.ends_with(' ');
    if says.contains(|it: char| it == ':' || it.is_ascii_digit()) {
        return !is_cut_off;
    }
    let line = rest.lines().next().unwrap_or_default().trim_start();
    let status = line.trim_start_matches(['\'', '"']).get(..3).and_then(|it| it.parse().ok());
    !is_cut_off
        && (line.is_empty()
            || line.starts_with([':', '.', ';', '(', '[', '{', '|', '·'])
            || status.and_then(kind_of_status).is_some())
}

fn is_short(says: &str) -> bool {
    says.split_whitespace().count() <= 2
        && says.chars().all(|it| it.is_alphanumeric() || it.is_whitespace())
}

/// One word, or a number: any line may begin with it.
fn is_word(says: &str) -> bool {
    says.chars().all(|it| it.is_alphanumeric() || "_-".contains(it))
}

fn cause(kind: ErrorKind, reset: Option<Reset>, text: &str, at: Timestamp) -> ErrorCause {
    match kind {
        ErrorKind::Auth => ErrorCause::Auth,
        ErrorKind::Model => ErrorCause::Model,
        ErrorKind::Quota => {
            let reset = reset.or_else(|| reset_in(text, at));
            ErrorCause::Quota { until: reset.and_then(|it| it.after(at)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Incoming;
    use serde_json::json;

    const AT: Timestamp = Timestamp(1_794_700_000_000);
    const UNTIL_UNKNOWN: ErrorCause = ErrorCause::Quota { until: None };

    fn rules(rules: &[(&str, ErrorKind)]) -> Vec<ErrorRule> {
        rules.iter().map(|(says, kind)| ErrorRule { says: (*says).into(), kind: *kind }).collect()
    }

    fn answered(error: &Value, rules: &[ErrorRule]) -> ErrorCause {
        let frame = json!({"id": 1, "error": error}).to_string();
        let Ok(Incoming::Answer { result: Err(error), .. }) = Incoming::parse(&frame) else {
            panic!("no error: {frame}");
        };
        of_answer(&error, &Known { rules, is_logged_out: false, at: AT })
    }

    /// As the agents really answer.
    #[test]
    fn structured_errors_need_no_rule() {
        let in_20_minutes = ErrorCause::Quota { until: Some(AT.plus(1_200_000)) };
        for (error, wanted) in [
            // claude
            (
                json!({"code": -32603, "message": "Internal error: API Error: Request rejected (429) · no", "data": {"errorKind": "rate_limit"}}),
                UNTIL_UNKNOWN,
            ),
            (
                json!({"code": -32603, "message": "Internal error", "data": {"errorKind": "authentication_failed"}}),
                ErrorCause::Auth,
            ),
            (
                json!({"code": -32603, "message": "Internal error: API Error: 400 no", "data": {"errorKind": "unknown"}}),
                ErrorCause::Other,
            ),
            // codex
            (json!({"code": -32000, "message": "Authentication required"}), ErrorCause::Auth),
            // gemini
            (json!({"code": 401, "message": "{\"error\":{\"code\":401}}"}), ErrorCause::Auth),
            (
                json!({"code": 429, "message": "used up\nSuggested retry after 1200s."}),
                in_20_minutes,
            ),
            (json!({"code": 400, "message": "{}"}), ErrorCause::Model),
            // qwen
            (
                json!({"code": -32603, "message": "Internal error", "data": {"details": "401 the key is invalid"}}),
                ErrorCause::Auth,
            ),
            (
                json!({"code": -32603, "message": "Internal error", "data": {"details": "400 no"}}),
                ErrorCause::Model,
            ),
            // our own
            (
                json!({"code": -32603, "message": "no", "data": {"errorKind": "quota", "resetAt": AT.0 + 1_200_000}}),
                in_20_minutes,
            ),
            (
                json!({"code": -32603, "message": "no", "data": {"errorKind": "auth"}}),
                ErrorCause::Auth,
            ),
            (
                json!({"code": -32603, "message": "no", "data": {"errorKind": "model"}}),
                ErrorCause::Model,
            ),
            // others
            (json!({"code": -32603, "message": "no", "data": {"status": 529}}), ErrorCause::Model),
            (
                json!({"code": -32603, "message": "no", "data": {"errorKind": "overloaded"}}),
                ErrorCause::Model,
            ),
            (json!({"code": -32603, "message": "no", "data": {"status": 402}}), ErrorCause::Auth),
            (
                json!({"code": -32603, "message": "no", "data": {"errorKind": "billing_error"}}),
                ErrorCause::Auth,
            ),
            (
                json!({"code": 429, "message": "You exceeded your quota (insufficient_quota)"}),
                ErrorCause::Auth,
            ),
            (json!({"code": 400, "message": "Your credit balance is too low"}), ErrorCause::Auth),
            (json!({"code": -32603, "message": "429 lines are too many"}), ErrorCause::Other),
            (json!({"code": -32603, "message": "Internal error"}), ErrorCause::Other),
        ] {
            assert_eq!(answered(&error, &[]), wanted, "{error}");
        }
    }

    #[test]
    fn what_is_understood_is_not_shown() {
        let shown = |data: &str| {
            let frame = format!(r#"{{"id":1,"error":{{"code":1,"message":"no","data":{data}}}}}"#);
            match Incoming::parse(&frame) {
                Ok(Incoming::Answer { result: Err(error), .. }) => error.message,
                frame => panic!("{frame:?}"),
            }
        };
        assert_eq!(shown(r#"{"errorKind":"unknown"}"#), "no");
        assert_eq!(shown(r#"{"errorName":"APIError"}"#), r#"no: {"errorName":"APIError"}"#);
    }

    #[test]
    fn what_is_not_structured_is_known_by_a_rule() {
        let rules = rules(&[
            ("-32001", ErrorKind::Auth),
            ("usage limit", ErrorKind::Quota),
            ("APIError", ErrorKind::Model),
        ]);
        let error =
            |code: i64, message: &str| answered(&json!({"code": code, "message": message}), &rules);
        assert_eq!(error(-32001, "who are you?"), ErrorCause::Auth);
        assert_eq!(error(-1, "your Usage Limit is reached"), UNTIL_UNKNOWN);
        assert_eq!(error(-1, "apierror"), ErrorCause::Model);
        assert_eq!(error(-1, "-32001"), ErrorCause::Other, "a number is no text");
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
        of_words(&words, &marks, &Known { rules: &rules, is_logged_out: false, at: AT })
    }

    #[test]
    fn a_turn_that_ends_with_an_error_text_did_not_end_well() {
        let (cause, message) =
            said(&["Ran into this error: Bad request (400).\n\nPlease retry"], &[])
                .expect("an error");
        assert_eq!(
            (cause, message.as_str()),
            (ErrorCause::Model, "Ran into this error: Bad request (400).")
        );
        let late = said(
            &[
                "I look.",
                "TOOL",
                "Half of ",
                "it is\nRan into this error: Rate limit, retry after 60s",
            ],
            &[],
        );
        assert_eq!(late.expect("an error").0, ErrorCause::Quota { until: Some(AT.plus(60_000)) });
        let piece = said(&["Info: Retrying...", "Info: Retrying...", "Error: 401 no key"], &[]);
        assert_eq!(piece.expect("an error"), (ErrorCause::Auth, "Error: 401 no key".into()));
    }

    #[test]
    fn an_agent_that_writes_about_errors_is_not_taken_for_one() {
        for words in [
            &["I fixed it: it says `Ran into this error: no` no more."][..],
            &["429 tests pass."],
            &["Ran into this error: no", "TOOL", "All is done."],
            // Nothing was said after the tool call, and what was said before was not the last.
            &["Ran into this error: no", "TOOL"],
            &["systemError is a mark, and not a word"],
            &[],
        ] {
            assert_eq!(said(words, &[]), None, "{words:?}");
        }
    }

    /// The rules of every backend that we know.
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
        Some(of_words(&words, &[], &Known { rules, is_logged_out: false, at: AT })?.0)
    }

    #[test]
    fn no_backend_takes_a_sentence_for_an_error() {
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
    fn errors_in_the_words_of_the_backends_are_known() {
        let backends = shipped();
        for (name, text, wanted) in [
            (
                "goose",
                "Ran into this error: Server error (500).\n\nPlease retry if",
                ErrorCause::Model,
            ),
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
    fn a_time_before_the_error_is_not_when_it_ends() {
        let said = said(&["Done in 3 days.\nRan into this error: Rate limit, retry in 60s"], &[]);
        assert_eq!(said.expect("an error").0, ErrorCause::Quota { until: Some(AT.plus(60_000)) });
    }

    #[test]
    fn a_mark_is_as_good_as_a_word() {
        let (cause, message) =
            said(&["Warning: old.\n\n", "high demand\n\n"], &["systemError"]).expect("an error");
        assert_eq!((cause, message.as_str()), (ErrorCause::Model, "high demand"));
        assert_eq!(said(&["high demand"], &["idle"]), None);
    }
}
