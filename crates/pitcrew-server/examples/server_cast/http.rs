//! One request over a unix socket.

use http_body_util::{BodyExt, Full};
use hyper::{
    Method, Request, Response,
    body::{Bytes, Incoming},
    client::conn::http1,
};
use hyper_util::rt::TokioIo;
use std::{error::Error, path::Path};
use tokio::net::UnixStream;

pub type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Sends a request; the body of the answer is not read yet.
pub async fn send(
    socket: &Path,
    method: Method,
    path: &str,
    authorization: Option<&str>,
    body: Vec<u8>,
) -> Outcome<Response<Incoming>> {
    let stream = UnixStream::connect(socket).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // The task ends with the body of the answer.
    tokio::spawn(connection);
    let mut request = Request::builder().method(method).uri(path).header("host", "pitcrew");
    if let Some(authorization) = authorization {
        request = request.header("authorization", authorization);
    }
    Ok(sender.send_request(request.body(Full::new(Bytes::from(body)))?).await?)
}

/// Sends a request and reads the whole answer.
pub async fn call(
    socket: &Path,
    method: Method,
    path: &str,
    authorization: Option<&str>,
    body: Vec<u8>,
) -> Outcome<(u16, Vec<u8>)> {
    let response = send(socket, method, path, authorization, body).await?;
    let status = response.status().as_u16();
    Ok((status, response.into_body().collect().await?.to_bytes().to_vec()))
}
