//! Why a model gave no answer, and whether to retry.

use pitcrew_model::text;
use serde_json::Value;
use std::time::Duration;

/// The longest part of a provider's message that is passed on.
const REASON_BYTES_MAX: usize = 500;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Temporary: a retry may help.
    Passing { reason: String },
    /// The service cannot be reached; a retry may help.
    Unreachable { reason: String },
    /// A limit on requests, tokens or money was reached.
    Quota { reason: String, wait: Wait },
    /// The key is missing, wrong or lacks permission.
    Auth { reason: String },
    /// Permanent: a retry would fail in the same way.
    Lasting { reason: String },
}

/// When the limit is lifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Unknown,
    For(Duration),
    /// Not by waiting: the account must be paid.
    Never,
}

/// An HTTP error response.
pub(super) struct Refusal<'a> {
    pub status: u16,
    pub header: &'a dyn Fn(&str) -> Option<String>,
    pub body: &'a str,
    /// Seconds since the epoch.
    pub now_s: u64,
}

/// A shorter text is not a secret, and occurs in many words.
const SECRET_BYTES_MIN: usize = 8;

/// The key, which is redacted even if a service repeats it.
#[derive(Clone, Default)]
pub(super) struct Secret(Option<String>);

impl Secret {
    pub fn new(key: &str) -> Self {
        Self((key.len() >= SECRET_BYTES_MIN).then(|| key.to_owned()))
    }

    /// The text without the key. Redact before any cut, which could leave a part of the key.
    pub fn hidden(&self, text: &str) -> String {
        match &self.0 {
            Some(key) => text.replace(key, "[key]"),
            None => text.to_owned(),
        }
    }
}

impl Failure {
    pub(super) fn of_refusal(refusal: &Refusal<'_>, secret: &Secret) -> Self {
        let body: Value = serde_json::from_str(refusal.body).unwrap_or_default();
        let said = said(&body).unwrap_or_else(|| refusal.body.trim().to_owned());
        let reason = match text::cut(&secret.hidden(&said), REASON_BYTES_MAX) {
            "" => format!("the model service answered {}", refusal.status),
            said => format!("the model service answered {}: {said}", refusal.status),
        };
        match refusal.status {
            401 | 403 => Self::Auth { reason },
            429 => Self::Quota { reason, wait: wait(refusal, &body) },
            402 => Self::Quota { reason, wait: Wait::Never },
            408 | 409 | 500..=599 => Self::Passing { reason },
            _ => Self::Lasting { reason },
        }
    }

    /// An error event in the middle of an answer.
    pub(super) fn of_event(body: &Value, secret: &Secret) -> Self {
        let error = body.get("error").unwrap_or(body);
        let said = said(body).unwrap_or_else(|| body.to_string());
        let said = secret.hidden(&said);
        let reason = format!("the answer broke off: {}", text::cut(&said, REASON_BYTES_MAX));
        let word = ["type", "code", "status"].iter().find_map(|it| error[*it].as_str());
        match word.unwrap_or_default() {
            "authentication_error" | "permission_error" => Self::Auth { reason },
            "rate_limit_error" | "rate_limit_exceeded" | "RESOURCE_EXHAUSTED" => {
                Self::Quota { reason, wait: Wait::Unknown }
            }
            "invalid_request_error" | "not_found_error" | "INVALID_ARGUMENT" => {
                Self::Lasting { reason }
            }
            _ => Self::Passing { reason },
        }
    }

    pub fn reason(&self) -> &str {
        match self {
            Self::Passing { reason }
            | Self::Unreachable { reason }
            | Self::Quota { reason, .. }
            | Self::Auth { reason }
            | Self::Lasting { reason } => reason,
        }
    }
}

/// The provider's own message.
fn said(body: &Value) -> Option<String> {
    // Gemini wraps its answers in a list.
    let body = body.get(0).unwrap_or(body);
    let error = &body["error"];
    [&error["message"], error, &body["message"]]
        .into_iter()
        .find_map(|it| it.as_str().map(str::to_owned))
}

/// How long the provider asks us to wait.
fn wait(refusal: &Refusal<'_>, body: &Value) -> Wait {
    let header = |name: &str| (refusal.header)(name);
    let number = |name: &str| header(name)?.trim().parse::<u64>().ok();
    let first = body.get(0).unwrap_or(body);
    let header = number("retry-after-ms")
        .map(Duration::from_millis)
        .or_else(|| duration(&header("retry-after")?))
        .or_else(|| {
            let until_s = number("anthropic-ratelimit-unified-reset")?;
            Some(Duration::from_secs(until_s.saturating_sub(refusal.now_s)))
        })
        .or_else(|| {
            let resets = ["x-ratelimit-reset-requests", "x-ratelimit-reset-tokens"];
            resets.iter().filter_map(|it| duration(&header(it)?)).max()
        })
        .or_else(|| {
            let details = first["error"]["details"].as_array()?;
            details.iter().find_map(|it| duration(it["retryDelay"].as_str()?))
        });
    match header {
        Some(time) => Wait::For(time),
        None if first["error"]["code"] == "insufficient_quota" => Wait::Never,
        None => Wait::Unknown,
    }
}

/// Parses `20`, `1.5s`, `6m0s` or `120ms`.
fn duration(text: &str) -> Option<Duration> {
    let mut sum = 0.0;
    let mut rest = text.trim();
    while !rest.is_empty() {
        let digits = rest.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.find(|it: char| !it.is_ascii_alphabetic()).unwrap_or(rest.len());
        sum += number
            * match &rest[..letters] {
                "ms" => 0.001,
                "" | "s" => 1.0,
                "m" => 60.0,
                "h" => 3_600.0,
                "d" => 86_400.0,
                _ => return None,
            };
        rest = &rest[letters..];
    }
    Duration::try_from_secs_f64(sum).ok().filter(|_| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const KEY: &str = "the-secret-key";

    fn of(status: u16, headers: &[(&str, &str)], body: &Value) -> Failure {
        let header = |name: &str| headers.iter().find(|it| it.0 == name).map(|it| it.1.to_owned());
        let body = body.to_string();
        let refusal = Refusal { status, header: &header, body: &body, now_s: 1_000 };
        Failure::of_refusal(&refusal, &Secret::new(KEY))
    }

    fn of_event(body: &Value) -> Failure {
        Failure::of_event(body, &Secret::new(KEY))
    }

    fn wait_of(headers: &[(&str, &str)], body: &Value) -> Wait {
        let Failure::Quota { wait, .. } = of(429, headers, body) else { panic!("a quota") };
        wait
    }

    #[test]
    fn parses_each_providers_retry_delay() {
        let seconds = |it| Wait::For(Duration::from_secs(it));
        let headers = |it: &[(&str, &str)]| wait_of(it, &json!({}));
        assert_eq!(headers(&[]), Wait::Unknown);
        assert_eq!(headers(&[("retry-after", "20")]), seconds(20));
        assert_eq!(
            headers(&[("retry-after", "20"), ("retry-after-ms", "1500")]),
            Wait::For(Duration::from_millis(1_500))
        );
        assert_eq!(headers(&[("anthropic-ratelimit-unified-reset", "1090")]), seconds(90));
        let resets =
            [("x-ratelimit-reset-requests", "120ms"), ("x-ratelimit-reset-tokens", "6m0s")];
        assert_eq!(headers(&resets), seconds(360));
        let details = json!({ "error": { "details": [{}, { "retryDelay": "7s" }] } });
        assert_eq!(wait_of(&[], &details), seconds(7));
        assert_eq!(wait_of(&[], &json!([details])), seconds(7));
        let unpaid = json!({ "error": { "code": "insufficient_quota" } });
        assert_eq!(wait_of(&[], &unpaid), Wait::Never);
        for odd in ["", "s", "-1", "1 2", "1w", "..", "Wed, 21 Oct 2026 07:28:00 GMT"] {
            assert_eq!(headers(&[("retry-after", odd)]), Wait::Unknown, "{odd}");
        }
        let endless = "9".repeat(400);
        assert_eq!(headers(&[("retry-after", &endless)]), Wait::Unknown);
    }

    #[test]
    fn distinguishes_temporary_from_permanent_failures() {
        let body = json!({ "error": { "message": "not so" } });
        for status in [500, 502, 503, 529, 408] {
            let reason = format!("the model service answered {status}: not so");
            assert_eq!(of(status, &[], &body), Failure::Passing { reason });
        }
        for status in [401, 403] {
            assert!(matches!(of(status, &[], &body), Failure::Auth { .. }), "{status}");
        }
        for status in [400, 404, 413, 422, 300] {
            assert!(matches!(of(status, &[], &body), Failure::Lasting { .. }), "{status}");
        }
        assert!(matches!(of(402, &[], &body), Failure::Quota { wait: Wait::Never, .. }));
        assert_eq!(
            of(404, &[], &json!({ "error": "no such model" })).reason(),
            "the model service answered 404: no such model"
        );
        let html = json!("x".repeat(5_000));
        assert!(of(404, &[], &html).reason().len() < 600);
    }

    #[test]
    fn a_broken_answer_gives_the_reason() {
        let overloaded = json!({ "error": { "type": "overloaded_error", "message": "busy" } });
        let reason = "the answer broke off: busy".to_owned();
        assert_eq!(of_event(&overloaded), Failure::Passing { reason });
        let openai = json!({ "message": "no", "type": "invalid_request_error" });
        assert!(matches!(of_event(&openai), Failure::Lasting { .. }));
        let limit = json!({ "error": { "type": "rate_limit_error" } });
        assert!(matches!(of_event(&limit), Failure::Quota { wait: Wait::Unknown, .. }));
    }

    #[test]
    fn no_cut_leaves_a_part_of_the_key() {
        for before in REASON_BYTES_MAX - KEY.len()..=REASON_BYTES_MAX {
            let said = format!("{}{KEY} is wrong", "x".repeat(before));
            let body = json!({ "error": { "message": said } });
            for failure in [of(401, &[], &body), of_event(&body)] {
                assert!(!failure.reason().contains("the-"), "{before}: {}", failure.reason());
            }
        }
    }
}
