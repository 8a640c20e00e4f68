//! A minimal HTTP client to query an orchestrator without its command line, and to send it more
//! commands than processes can be started for.

use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

/// The body of the answer, or `None` without a successful answer.
pub fn ask(socket: &Path, token: &str, method: &str, path: &str) -> Option<String> {
    send(socket, token, method, path, "")
}

/// The same with a request body.
pub fn send(socket: &Path, token: &str, method: &str, path: &str, body: &str) -> Option<String> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: pitcrew\r\nAuthorization: Bearer {token}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.starts_with("HTTP/1.1 200").then(|| body.to_owned())
}
