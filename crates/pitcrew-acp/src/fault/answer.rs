//! Classifies errors in the agent's answers.

use super::{ErrorContext, cause, network};
use crate::{
    frame::RpcError,
    profile::{ErrorKind, ErrorRule},
};
use pitcrew_model::ErrorCause;

/// Billing errors that providers send with a misleading status.
const UNPAID: [&str; 4] = [
    "insufficient_quota",
    "credit balance is too low",
    "out of usage credits",
    "credits exhausted",
];

/// The cause of an error that an agent answered with.
pub(crate) fn of_answer(error: &RpcError, known: &ErrorContext<'_>) -> ErrorCause {
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
        None if network::is_meant(&error.message) => ErrorCause::Unreachable,
        None => ErrorCause::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Incoming;
    use pitcrew_model::Timestamp;
    use serde_json::{Value, json};

    const AT: Timestamp = Timestamp(1_794_700_000_000);
    const UNTIL_UNKNOWN: ErrorCause = ErrorCause::Quota { until: None };

    fn answered(error: &Value, rules: &[ErrorRule]) -> ErrorCause {
        let frame = json!({"id": 1, "error": error}).to_string();
        let Ok(Incoming::Answer { result: Err(error), .. }) = Incoming::parse(&frame) else {
            panic!("no error: {frame}");
        };
        of_answer(&error, &ErrorContext { rules, is_logged_out: false, at: AT })
    }

    /// The agents' real answers.
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
    fn errors_of_the_network_need_no_rule() {
        for error in [
            json!({"code": -32603, "message": "Internal error: API Error: Connection error.", "data": {"errorKind": "unknown"}}),
            json!({"code": -32603, "message": "no", "data": {"code": "ECONNREFUSED"}}),
            json!({"code": -32603, "message": "no", "data": {"errorKind": "unreachable"}}),
        ] {
            assert_eq!(answered(&error, &[]), ErrorCause::Unreachable, "{error}");
        }
    }

    #[test]
    fn recognized_data_is_not_displayed() {
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
    fn unstructured_errors_match_rules() {
        let rule = |says: &str, kind| ErrorRule { says: says.into(), kind };
        let rules = [
            rule("-32001", ErrorKind::Auth),
            rule("usage limit", ErrorKind::Quota),
            rule("APIError", ErrorKind::Model),
        ];
        let error =
            |code: i64, message: &str| answered(&json!({"code": code, "message": message}), &rules);
        assert_eq!(error(-32001, "who are you?"), ErrorCause::Auth);
        assert_eq!(error(-1, "your Usage Limit is reached"), UNTIL_UNKNOWN);
        assert_eq!(error(-1, "apierror"), ErrorCause::Model);
        assert_eq!(error(-1, "-32001"), ErrorCause::Other, "a number does not match text");
    }
}
