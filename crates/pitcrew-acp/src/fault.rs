//! What an error was about: the login, a limit of the provider, the model, or something else.
//!
//! What an agent says in a structured way counts first, then the rules of its backend. Agents write
//! about errors all day, so the words of a turn that ended well are believed only where they begin
//! as a rule says.

mod reset;

use crate::{
    frame::RpcError,
    plain::one_line,
    profile::{ErrorKind, ErrorRule},
    turn::Words,
};
use pitcrew_model::{ErrorCause, Timestamp};
use reset::{Reset, reset_in};
use serde_json::Value;

const MESSAGE_BYTES_MAX: usize = 1_000;
/// The protocol's own: the client has to log in first.
const AUTH_REQUIRED: i64 = -32_000;

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
        401 | 403 => Some(ErrorKind::Auth),
        402 | 429 | 529 => Some(ErrorKind::Quota),
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
        | "oauth_org_not_allowed" => Some(ErrorKind::Auth),
        "quota"
        | "rate_limit"
        | "rate_limited"
        | "rate_limit_error"
        | "rate_limit_exceeded"
        | "usage_limit"
        | "usage_limit_reached"
        | "quota_exhausted"
        | "insufficient_quota"
        | "resource_exhausted"
        | "billing_error"
        | "overloaded"
        | "overloaded_error" => Some(ErrorKind::Quota),
        "model"
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
    let kind = error.facts.kind.or_else(|| Some(known.rules.iter().find(applies)?.kind));
    match kind.or(known.is_logged_out.then_some(ErrorKind::Auth)) {
        Some(kind) => cause(kind, error.facts.reset, &error.message, known.at),
        None => ErrorCause::Other,
    }
}

/// The error that a turn ended with although the agent says that it ended well; nothing where it did.
///
/// Only what the agent said last counts, and only where it begins with what a rule says: a line, or
/// the last piece of the message. A rule may also name a mark that the agent sets, as it is.
pub(crate) fn of_words(
    words: &Words,
    marks: &[String],
    known: &Known<'_>,
) -> Option<(ErrorCause, String)> {
    let text = words.last_message()?;
    let lines = || text.lines().chain(words.last_piece()).map(str::trim_start);
    let begun = known.rules.iter().filter(|it| !is_word(&it.says)).find_map(|rule| {
        let said = lines().find(|it| it.starts_with(&rule.says))?;
        Some((rule.kind, said))
    });
    let marked = || {
        let rule = known.rules.iter().find(|it| marks.contains(&it.says))?;
        Some((rule.kind, words.last_piece().unwrap_or(text)))
    };
    let (kind, said) = begun.or_else(marked)?;
    Some((cause(kind, None, text, known.at), one_line(said, MESSAGE_BYTES_MAX)))
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
            (json!({"code": -32603, "message": "no", "data": {"status": 529}}), UNTIL_UNKNOWN),
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
            ("credit balance", ErrorKind::Quota),
            ("APIError", ErrorKind::Model),
        ]);
        let error =
            |code: i64, message: &str| answered(&json!({"code": code, "message": message}), &rules);
        assert_eq!(error(-32001, "who are you?"), ErrorCause::Auth);
        assert_eq!(error(-1, "your Credit Balance is too low"), UNTIL_UNKNOWN);
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

    #[test]
    fn a_mark_is_as_good_as_a_word() {
        let (cause, message) =
            said(&["Warning: old.\n\n", "high demand\n\n"], &["systemError"]).expect("an error");
        assert_eq!((cause, message.as_str()), (ErrorCause::Model, "high demand"));
        assert_eq!(said(&["high demand"], &["idle"]), None);
    }
}
