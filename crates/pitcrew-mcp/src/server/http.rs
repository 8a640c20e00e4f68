//! Answers one request of the streamable HTTP transport, without a session.
//!
//! The caller is already authenticated. Both protocol eras are supported. A short answer is plain
//! JSON; a long one becomes a stream if the client requested progress.

use super::{
    Server, ToolHandler,
    invalid_message::{InvalidMessage, invalid_message},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body::Body;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, combinators::BoxBody};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
};
use std::{convert::Infallible, error::Error, io, sync::Arc, time::Duration};
use tokio::time::timeout;

const JSON: &str = "application/json";

/// The accepted headers of a request.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Allowed `Host` headers. They prevent DNS rebinding.
    pub hosts: Vec<String>,
    /// Allowed `Origin` headers, if present.
    pub origins: Vec<String>,
    pub body_bytes_max: usize,
    pub body_time_max: Duration,
}

/// Answers one request on behalf of the caller of `handler`.
pub async fn serve_http<O: ToolHandler + Clone, B>(
    handler: O,
    options: HttpOptions,
    request: Request<B>,
) -> Response<impl Body<Data = Bytes, Error = Infallible> + Send>
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let bytes_max = options.body_bytes_max;
    // Some agents drop a server with sessions, or with a stream for every answer.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_allowed_hosts(options.hosts)
        .with_allowed_origins(options.origins)
        .enforce_origin_validation()
        .with_max_request_body_bytes(bytes_max);
    let server = move || Ok(Server { handler: handler.clone() });
    let service =
        StreamableHttpService::new(server, Arc::new(NeverSessionManager::default()), config);
    let (parts, body) = request.into_parts();
    let collected = timeout(options.body_time_max, Limited::new(body, bytes_max).collect()).await;
    let late = |_| Err(io::Error::from(io::ErrorKind::TimedOut).into());
    let bytes = match collected.unwrap_or_else(late) {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            return refuse(StatusCode::PAYLOAD_TOO_LARGE, &InvalidMessage::too_long(bytes_max));
        }
        Err(error) => return refuse(StatusCode::BAD_REQUEST, &InvalidMessage::torn(&*error)),
    };
    let calls_itself_json = is_json(&parts.headers);
    let response = service.handle(Request::from_parts(parts, Full::new(bytes.clone()))).await;
    // The library reports an invalid message as an unsupported media type.
    if calls_itself_json && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return refuse(StatusCode::BAD_REQUEST, &invalid_message(&bytes));
    }
    response
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    kind.is_some_and(|it| it.starts_with(JSON))
}

fn refuse(
    status: StatusCode,
    invalid_message: &InvalidMessage,
) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = Response::new(Full::new(Bytes::from(invalid_message.answer())).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}
