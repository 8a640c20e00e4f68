//! The structured part of an error.

use super::reset::Reset;
use crate::profile::ErrorKind;
use serde_json::Value;

/// The protocol's code for a missing login.
const AUTH_REQUIRED: i64 = -32_000;

/// The structured facts of an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(super) kind: Option<ErrorKind>,
    pub(super) reset: Option<Reset>,
}

impl Facts {
    /// Whether the structured part contains nothing beyond these facts.
    pub fn are_all_of(data: &Value) -> bool {
        match data {
            Value::Null => true,
            Value::Object(members) => members.keys().all(|it| it == "errorKind" || it == "resetAt"),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
        }
    }

    /// `data` is the structured part of an error, `detail` the text with the details.
    pub fn of(code: i64, data: &Value, detail: &str) -> Self {
        let words = ["errorKind", "kind", "type", "code", "status"];
        let named = words.iter().find_map(|it| kind_of_word(data[*it].as_str()?));
        let numbers = ["code", "status", "statusCode", "httpStatus"];
        let found = numbers.iter().find_map(|it| kind_of_status(data[*it].as_i64()?));
        // Some agents include the provider's status as text: `429 Too Many Requests`.
        let led = || detail.split_whitespace().next()?.parse().ok().and_then(kind_of_status);
        let kind = named.or(found).or_else(|| kind_of_status(code)).or_else(led);
        let kind = kind.or((code == AUTH_REQUIRED).then_some(ErrorKind::Auth));
        Self { kind, reset: Reset::structured(data) }
    }
}

pub(super) fn kind_of_status(status: i64) -> Option<ErrorKind> {
    match status {
        // An unpaid account, like a rejected key, is not fixed by waiting.
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
        "unreachable"
        | "connection_error"
        | "api_connection_error"
        | "network_error"
        | "econnrefused"
        | "enotfound"
        | "eai_again"
        | "etimedout"
        | "enetunreach"
        | "ehostunreach" => Some(ErrorKind::Unreachable),
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
