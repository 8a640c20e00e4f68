//! One request of the streamable HTTP transport, answered without a session.
//!
//! Who is calling was found out before: here is only the protocol. Both of its eras are served. A
//! simple answer is plain JSON; one that takes long becomes a stream where the client wants to hear
//! of its progress.

use super::{Orchestrator, Server};
use http_body::Body;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
};
use std::{fmt::Display, sync::Arc};

/// What a request must look like to be served.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// What the `Host` header may say: a page from elsewhere cannot make itself our neighbour.
    pub hosts: Vec<String>,
    /// What the `Origin` header may say, where there is one.
    pub origins: Vec<String>,
    pub body_bytes_max: usize,
}

/// Answers one request, whose caller is the one that `orchestrator` carries orders out for.
pub async fn serve_http<O: Orchestrator + Clone, B>(
    orchestrator: O,
    options: HttpOptions,
    request: http::Request<B>,
) -> http::Response<impl Body<Data = bytes::Bytes, Error = std::convert::Infallible> + Send>
where
    B: Body + Send + 'static,
    B::Error: Display,
{
    // With sessions, or a stream for every answer, some agents drop the server.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_allowed_hosts(options.hosts)
        .with_allowed_origins(options.origins)
        .enforce_origin_validation()
        .with_max_request_body_bytes(options.body_bytes_max);
    let server = move || Ok(Server { orchestrator: orchestrator.clone() });
    let service =
        StreamableHttpService::new(server, Arc::new(NeverSessionManager::default()), config);
    service.handle(request).await
}
