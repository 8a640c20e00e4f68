//! Classifies the errors of the library.

use crate::model::{
    Failure,
    failure::{Refusal, Secret},
};
use genai::Error;
use pitcrew_model::text;
use std::time::{SystemTime, UNIX_EPOCH};

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the enum is foreign, and most variants cannot occur"
)]
pub(super) fn of_error(error: &Error, secret: &Secret) -> Failure {
    // A rejection is wrapped in an error of the stream.
    let error = match error {
        Error::WebStream { error: inner, .. } => inner.downcast_ref().unwrap_or(error),
        _ => error,
    };
    match error {
        Error::HttpError { status, body, headers, .. } => {
            let header = |name: &str| Some(headers.get(name)?.to_str().ok()?.to_owned());
            let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs());
            let status = status.as_u16();
            Failure::of_refusal(&Refusal { status, header: &header, body, now_s }, secret)
        }
        Error::ChatResponse { body, .. } => Failure::of_event(body, secret),
        Error::WebStream { error, .. } => {
            if let Some(host) = unreachable_host(&**error) {
                let reason = format!("cannot reach {host}: {}", text::chain(&**error));
                return Failure::Unreachable { reason: secret.hidden(&reason) };
            }
            let reason = format!("the model service broke off: {}", text::chain(&**error));
            Failure::Passing { reason: secret.hidden(&reason) }
        }
        Error::StreamParse { serde_error, .. } => {
            let reason = format!("the model service sent an invalid answer: {serde_error}");
            Failure::Passing { reason: secret.hidden(&reason) }
        }
        other => Failure::Lasting { reason: secret.hidden(&other.to_string()) },
    }
}

/// The host of a connection that could not be opened.
fn unreachable_host(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<reqwest::Error>()
            && error.is_connect()
        {
            let host = error.url().and_then(|it| it.host_str());
            return Some(host.unwrap_or("the model service").to_owned());
        }
        cause = error.source();
    }
    None
}
