//! One proxy connection of a program in the box, from the request to the end.

use super::{
    decide::{Verdict, decide},
    ledger::{Key, Ledger},
    network::Network,
    reached::Reached,
    request::{HEAD_BYTES_MAX, Request, RequestKind, head_end},
    spec::Allowed,
    tunnel::{Moved, pass, tunnel},
    upstream::{Proxy, Upstream},
};
use pitcrew_model::{Host, Place};
use std::{
    fmt::Write as _,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// How long a program may take to send its request.
const HEAD_MS_MAX: u64 = 10_000;
/// The name of the destination if a request cannot be parsed.
const UNREADABLE: &str = "(unreadable)";

/// The state that all connections share.
pub(super) struct Gateway<N> {
    /// The value that is required after `Basic`.
    pub(super) credentials: Option<String>,
    pub(super) allowed: Allowed,
    pub(super) ledger: Ledger,
    pub(super) reached: Reached,
    pub(super) upstream: Upstream,
    pub(super) network: N,
}

/// A connection to a destination, or to the proxy that leads there.
struct Outside {
    stream: TcpStream,
    /// Bytes that were already received from it.
    received: Vec<u8>,
    by: Option<Proxy>,
}

/// A response that replaces a connection.
struct Answer {
    status: &'static str,
    text: String,
}

impl<N: Network> Gateway<N> {
    pub(super) async fn serve<S: AsyncRead + AsyncWrite + Unpin>(&self, mut stream: S) {
        let (head, rest) = match timeout(Duration::from_millis(HEAD_MS_MAX), head(&mut stream))
            .await
        {
            Ok(Ok(Some(head))) => head,
            Ok(Ok(None)) => return self.refuse_unreadable(stream, "the head is too long").await,
            Ok(Err(_)) | Err(_) => return,
        };
        let request = match Request::parse(&head) {
            Ok(request) => request,
            Err(error) => return self.refuse_unreadable(stream, &error.to_string()).await,
        };
        if !self.is_known(&request) {
            let text = "the proxy of this run asks for the credentials in HTTPS_PROXY".into();
            return answer(stream, &Answer { status: "407 Proxy Authentication Required", text })
                .await;
        }
        match self.open(&request).await {
            Ok((outside, key)) => {
                let moved = Moved::default();
                // If one side closes early, the other side notices it.
                begin(&mut stream, &request, &rest, outside, &moved).await.ok();
                self.count(&key, &moved);
            }
            Err(refusal) => answer(stream, &refusal).await,
        }
    }

    /// Serves a port that is forwarded to a port of the machine, so no request is read.
    pub(super) async fn forward<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        mut stream: S,
        port: u16,
    ) {
        let place = Place { host: Host::Address(Ipv4Addr::LOCALHOST.into()), port };
        let request = Request { place, kind: RequestKind::Tunnel, credentials: None };
        // A refused connection is closed.
        let Ok((outside, key)) = self.open(&request).await else { return };
        let moved = Moved::default();
        moved.down.fetch_add(outside.received.len() as u64, Ordering::Relaxed);
        if stream.write_all(&outside.received).await.is_ok() {
            tunnel(&mut stream, outside.stream, &moved).await;
        }
        self.count(&key, &moved);
    }

    fn count(&self, key: &Key, moved: &Moved) {
        let count = |it: &AtomicU64| it.load(Ordering::Relaxed);
        self.ledger.moved(key, count(&moved.up), count(&moved.down));
    }

    fn is_known(&self, request: &Request) -> bool {
        let Some(wanted) = &self.credentials else { return true };
        let given = request.credentials.as_deref().unwrap_or_default().as_bytes();
        let wanted = wanted.as_bytes();
        // Compares in constant time, so that the duration does not reveal where the values differ.
        given.len() == wanted.len()
            && given.iter().zip(wanted).fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
    }

    async fn refuse_unreadable(&self, stream: impl AsyncRead + AsyncWrite + Unpin, reason: &str) {
        let key = Key { host: UNREADABLE.into(), port: 0, allowed: false };
        self.ledger.decided(key, reason).ok();
        answer(stream, &Answer { status: "400 Bad Request", text: reason.into() }).await;
    }

    /// Decides, records the decision, and dials.
    async fn open(&self, request: &Request) -> Result<(Outside, Key), Answer> {
        let place = &request.place;
        let verdict = decide(&self.network, &self.allowed, place).await;
        let (allowed, reason) = match &verdict {
            Verdict::Dial { rule, .. } => (true, rule.clone()),
            Verdict::Nowhere { rule, reason } => (true, format!("{rule}: {reason}")),
            Verdict::Refuse { reason } => (false, reason.clone()),
        };
        let key = Key { host: place.host.to_string(), port: place.port, allowed };
        let key = self.ledger.decided(key, &reason).map_err(|error| Answer {
            status: "503 Service Unavailable",
            text: format!("the decision about {place} cannot be written down: {error}"),
        })?;
        let unreachable = |reason: &io::Error| Answer {
            status: "502 Bad Gateway",
            text: format!("{place} is allowed and cannot be reached: {reason}"),
        };
        let opened = match verdict {
            Verdict::Refuse { reason } => {
                return Err(Answer {
                    status: "403 Forbidden",
                    text: format!(
                        "{place} is refused: {reason}; `egress_allow` in the settings of the user names what may be reached"
                    ),
                });
            }
            Verdict::Nowhere { reason, .. } => {
                self.by_proxy(request).await.unwrap_or_else(|| Err(io::Error::other(reason)))
            }
            Verdict::Dial { addresses, .. } => match self.by_proxy(request).await {
                Some(opened) => opened,
                None => self.dial(&addresses).await,
            },
        };
        self.reached.dialled(place, opened.as_ref().err());
        opened.map(|it| (it, key)).map_err(|it| unreachable(&it))
    }

    /// Connects through the machine's proxy for this destination. Returns nothing if there is none.
    async fn by_proxy(&self, request: &Request) -> Option<io::Result<Outside>> {
        let proxy = match self.upstream.proxy(&request.place, &request.kind)? {
            Ok(proxy) => proxy,
            Err(error) => return Some(Err(error)),
        };
        let opened = proxy.open(&request.place, &request.kind).await;
        Some(opened.map(|(stream, received)| Outside { stream, received, by: Some(proxy) }))
    }

    async fn dial(&self, addresses: &[SocketAddr]) -> io::Result<Outside> {
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in addresses {
            match self.network.dial(*address).await {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(Outside { stream, received: Vec::new(), by: None });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// Reads the head of a request and the bytes after it. Returns nothing if the head is too long.
async fn head(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
    let mut bytes = Vec::with_capacity(1_024);
    loop {
        if let Some(end) = head_end(&bytes) {
            let rest = bytes.split_off(end);
            return Ok(Some((bytes, rest)));
        }
        if bytes.len() >= HEAD_BYTES_MAX {
            return Ok(None);
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Confirms the tunnel or sends the head of the request, then moves the remaining bytes.
async fn begin(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    request: &Request,
    rest: &[u8],
    outside: Outside,
    moved: &Moved,
) -> io::Result<()> {
    let Outside { stream: mut outside, received, by } = outside;
    let sent = |bytes: &[u8]| moved.up.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    moved.down.fetch_add(received.len() as u64, Ordering::Relaxed);
    match &request.kind {
        RequestKind::Tunnel => {
            let opened = b"HTTP/1.1 200 Connection established\r\n\r\n";
            stream.write_all(&[opened, received.as_slice()].concat()).await?;
            outside.write_all(rest).await?;
            sent(rest);
            tunnel(stream, outside, moved).await;
        }
        RequestKind::Pass { head, body } => {
            let by_proxy = by.map(|it| it.request(&request.place, head));
            let head = by_proxy.as_ref().unwrap_or(head).as_bytes();
            outside.write_all(head).await?;
            sent(head);
            pass(stream, rest, *body, outside, moved).await;
        }
    }
    Ok(())
}

async fn answer(mut stream: impl AsyncWrite + Unpin, answer: &Answer) {
    let body = format!("pitcrew: {}\n", answer.text);
    let mut text = format!("HTTP/1.1 {}\r\n", answer.status);
    if answer.status.starts_with("407") {
        text.push_str("Proxy-Authenticate: Basic realm=\"pitcrew\"\r\n");
    }
    write!(
        text,
        "Content-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .expect("a text takes everything");
    // The program may have closed the connection; then there is nothing to answer.
    stream.write_all(text.as_bytes()).await.ok();
    stream.shutdown().await.ok();
}

#[cfg(test)]
mod tests;
