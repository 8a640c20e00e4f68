//! One request and its response: with `lines`, the only place that uses the HTTP library.

use super::HttpResponse;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    Method, Request, Response,
    body::{Bytes, Incoming},
    client::conn::http1::{self, SendRequest},
};
use hyper_util::rt::TokioIo;
use pitcrew_api::Token;
use std::{net::SocketAddr, path::Path, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
    time::timeout,
};

/// A longer response is an error.
const RESPONSE_BYTES_MAX: usize = 256 * 1_024 * 1_024;
/// Even on a slow disk, a command is answered within this time.
const RESPONSE_TIME_MAX: Duration = Duration::from_mins(2);

/// Why there is no response.
#[derive(Clone, Debug)]
pub enum CallError {
    /// The request was not sent, so nothing happened.
    NotSent(String),
    /// The connection broke; the request may have been processed.
    Broken(String),
}

pub async fn call(
    socket: &Path,
    token: &Token,
    method: Method,
    path: &str,
    body: Vec<u8>,
) -> Result<HttpResponse, CallError> {
    let answered = async {
        let response = send(socket, token, method, path, body).await?;
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), RESPONSE_BYTES_MAX).collect().await;
        let body = body.map_err(|error| CallError::Broken(error.to_string()))?;
        Ok(HttpResponse { status, body: body.to_bytes().to_vec() })
    };
    let late = || CallError::Broken("it did not answer in time".to_owned());
    timeout(RESPONSE_TIME_MAX, answered).await.map_err(|_| late())?
}

pub(super) async fn send(
    socket: &Path,
    token: &Token,
    method: Method,
    path: &str,
    body: Vec<u8>,
) -> Result<Response<Incoming>, CallError> {
    let not_sent = |error: &dyn std::fmt::Display| CallError::NotSent(error.to_string());
    let mut sender = connect(socket).await?;
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "pitcrew")
        .header(Token::HEADER, token.authorization())
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| not_sent(&error))?;
    sender.send_request(request).await.map_err(|error| CallError::Broken(error.to_string()))
}

/// Connects to a unix socket, or, for an agent outside a box, to a loopback port that leads to the
/// socket (see `pitcrew confine`).
async fn connect(socket: &Path) -> Result<SendRequest<Full<Bytes>>, CallError> {
    let not_sent = |error: std::io::Error| CallError::NotSent(error.to_string());
    match socket.to_str().and_then(|it| it.parse::<SocketAddr>().ok()) {
        Some(address) => converse(TcpStream::connect(address).await.map_err(not_sent)?).await,
        None => converse(UnixStream::connect(socket).await.map_err(not_sent)?).await,
    }
}

async fn converse<T>(stream: T) -> Result<SendRequest<Full<Bytes>>, CallError>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connected = http1::handshake(TokioIo::new(stream)).await;
    let (sender, connection) = connected.map_err(|error| CallError::NotSent(error.to_string()))?;
    // Ends with the response body, which the caller holds.
    tokio::spawn(async move { connection.await.ok() });
    Ok(sender)
}
