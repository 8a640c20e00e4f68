//! The proxy through which this machine itself reaches the network, as is common in companies.
//! Allowed destinations are passed to it by name: it resolves the name and applies its own rules.
//! Only proxies over plain HTTP are supported.

use super::{
    request::{RequestKind, head_end},
    serve::base64,
};
use pitcrew_model::{Host, Place};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fmt, io,
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// How long the proxy may take to connect to a destination.
const TUNNEL_MS_MAX: u64 = 30_000;
const ANSWER_BYTES_MAX: usize = 16 * 1_024;

/// The proxies that the user's environment names.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upstream {
    /// For tunnels, as written in the environment: `http://user:password@host:port`.
    tunnels: Option<String>,
    /// For requests over plain HTTP.
    requests: Option<String>,
    /// Destinations that bypass them: names with their subdomains, addresses, networks, or `*`.
    direct: Vec<String>,
}

impl Upstream {
    pub fn of_environment(user: &BTreeMap<String, String>) -> Self {
        let first = |names: &[&str]| {
            let set = names.iter().filter_map(|it| user.get(*it));
            set.map(|it| it.trim()).find(|it| !it.is_empty()).map(str::to_owned)
        };
        let direct = first(&["no_proxy", "NO_PROXY"]).unwrap_or_default();
        let direct = direct.split([',', ' ']).map(|it| it.trim().to_ascii_lowercase());
        Self {
            tunnels: first(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
            requests: first(&["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]),
            direct: direct.filter(|it| !it.is_empty()).collect(),
        }
    }

    /// Whether the network is reached directly.
    pub(super) fn is_none(&self) -> bool {
        self.tunnels.is_none() && self.requests.is_none()
    }

    /// Returns a copy without passwords.
    #[must_use]
    pub fn shown(&self) -> Self {
        let plain = |url: &String| match (url.split_once("://"), url.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
            (None, Some((_, rest))) => rest.to_owned(),
            (_, None) => url.clone(),
        };
        let (tunnels, requests) = (self.tunnels.as_ref(), self.requests.as_ref());
        let direct = self.direct.clone();
        Self { tunnels: tunnels.map(plain), requests: requests.map(plain), direct }
    }

    /// Returns the proxy for a destination, or nothing if it is reached directly.
    pub(super) fn proxy(&self, place: &Place, kind: &RequestKind) -> Option<io::Result<Proxy>> {
        let url = match kind {
            RequestKind::Tunnel => self.tunnels.as_ref()?,
            RequestKind::Pass { .. } => self.requests.as_ref()?,
        };
        let is_loopback = match &place.host {
            Host::Name(name) => name == "localhost",
            Host::Address(address) => address.is_loopback(),
        };
        let is_direct = is_loopback || self.direct.iter().any(|it| covers(it, place));
        (!is_direct).then(|| Proxy::parse(url))
    }
}

// A proxy address may contain a password, and `Debug` output ends up in logs.
impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tunnels, requests, direct } = self.shown();
        let mut shown = f.debug_struct("Upstream");
        shown.field("tunnels", &tunnels).field("requests", &requests).field("direct", &direct);
        shown.finish()
    }
}

/// Whether an entry of `NO_PROXY` covers this destination.
fn covers(entry: &str, place: &Place) -> bool {
    if entry == "*" {
        return true;
    }
    let (entry, port) = match entry.rsplit_once(':').map(|it| (it.0, it.1.parse::<u16>())) {
        Some((host, Ok(port))) if !host.contains(':') => (host, Some(port)),
        Some(_) | None => (entry, None),
    };
    if port.is_some_and(|it| it != place.port) {
        return false;
    }
    match &place.host {
        Host::Name(name) => {
            let entry = entry.trim_start_matches('*').trim_start_matches('.');
            let above = name.strip_suffix(entry).filter(|_| !entry.is_empty());
            above.is_some_and(|it| it.is_empty() || it.ends_with('.'))
        }
        Host::Address(address) => {
            let entry = entry.trim_matches(['[', ']']);
            entry.parse() == Ok(*address) || is_in_network(entry, *address)
        }
    }
}

/// `10.0.0.0/8`
fn is_in_network(network: &str, address: IpAddr) -> bool {
    let parsed = network.split_once('/').and_then(|(base, bits)| {
        Some((base.parse::<Ipv4Addr>().ok()?, bits.parse::<u32>().ok().filter(|it| *it <= 32)?))
    });
    let (Some((base, bits)), IpAddr::V4(address)) = (parsed, address) else { return false };
    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
    u32::from(base) & mask == u32::from(address) & mask
}

/// One proxy.
pub(super) struct Proxy {
    place: Place,
    /// The value after `Basic`.
    credentials: Option<String>,
}

impl Proxy {
    fn parse(url: &str) -> io::Result<Self> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
        let unusable = |reason: &str| {
            let place = rest.rsplit('@').next().unwrap_or_default();
            Err(io::Error::other(format!("the proxy {scheme}://{place} cannot be used: {reason}")))
        };
        if !scheme.eq_ignore_ascii_case("http") {
            return unusable("only one that is spoken to by http:// can");
        }
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        let (credentials, place) = match authority.rsplit_once('@') {
            Some((credentials, place)) => (Some(base64(&decoded(credentials))), place),
            None => (None, authority),
        };
        match Place::parse_or(place, 80) {
            Ok(place) => Ok(Self { place, credentials }),
            Err(error) => unusable(&error.to_string()),
        }
    }

    async fn dial(&self) -> io::Result<TcpStream> {
        let port = self.place.port;
        match &self.place.host {
            Host::Name(name) => TcpStream::connect((name.as_str(), port)).await,
            Host::Address(address) => TcpStream::connect((*address, port)).await,
        }
    }

    fn authorization(&self) -> String {
        let line = |it| format!("Proxy-Authorization: Basic {it}\r\n");
        self.credentials.as_ref().map(line).unwrap_or_default()
    }

    /// Connects to a destination. Returns the connection and the bytes that were already received
    /// on it.
    pub(super) async fn open(
        &self,
        to: &Place,
        kind: &RequestKind,
    ) -> io::Result<(TcpStream, Vec<u8>)> {
        let within = Duration::from_millis(TUNNEL_MS_MAX);
        let opened = timeout(within, async {
            let mut stream = self.dial().await?;
            let said = match kind {
                RequestKind::Tunnel => self.tunnel(&mut stream, to).await?,
                RequestKind::Pass { .. } => Vec::new(),
            };
            Ok((stream, said))
        });
        let opened = opened.await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        opened
            .map_err(|it: io::Error| io::Error::other(format!("by the proxy {}: {it}", self.place)))
    }

    async fn tunnel(&self, stream: &mut TcpStream, to: &Place) -> io::Result<Vec<u8>> {
        let head = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n{}\r\n", self.authorization());
        stream.write_all(head.as_bytes()).await?;
        let mut answer = Vec::new();
        let end = loop {
            if let Some(end) = head_end(&answer) {
                break end;
            }
            if answer.len() >= ANSWER_BYTES_MAX || stream.read_buf(&mut answer).await? == 0 {
                return Err(io::Error::other("it does not answer as a proxy does"));
            }
        };
        let first = String::from_utf8_lossy(answer.split(|it| *it == b'\r').next().unwrap_or(&[]));
        let status = first.split(' ').nth(1).unwrap_or_default();
        if !first.starts_with("HTTP/1.") || !status.starts_with('2') {
            let said: String = first.chars().filter(|it| !it.is_control()).take(100).collect();
            return Err(io::Error::other(format!("it says `{said}`")));
        }
        Ok(answer.split_off(end))
    }

    /// Rewrites the head of a plain request for a proxy: with the full URL.
    pub(super) fn request(&self, to: &Place, head: &str) -> String {
        let (method, rest) = head.split_once(' ').unwrap_or((head, ""));
        let (first, others) = rest.split_once("\r\n").unwrap_or((rest, ""));
        format!("{method} http://{to}{first}\r\n{}{others}", self.authorization())
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the proxy {}", self.place)
    }
}

/// Decodes percent-encoding. Invalid sequences are kept.
fn decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let code = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match code.and_then(|it| u8::from_str_radix(it, 16).ok()) {
            Some(byte) => {
                found.push(byte);
                at += 3;
            }
            None => {
                found.push(bytes[at]);
                at += 1;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::egress::body::Body;

    fn upstream(pairs: &[(&str, &str)]) -> Upstream {
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Upstream::of_environment(&pairs.collect())
    }

    #[test]
    fn direct_destinations_bypass_the_proxy() {
        let it = upstream(&[
            ("HTTPS_PROXY", "http://proxy.example:3128"),
            ("NO_PROXY", "inner.example, .dot.example,*.star.example,10.0.0.0/8,one.example:8443"),
        ]);
        let asked = |place: &str| it.proxy(&place.parse().unwrap(), &RequestKind::Tunnel).is_some();
        for place in ["api.example:443", "notinner.example:443", "11.0.0.1:443", "one.example:443"]
        {
            assert!(asked(place), "{place}");
        }
        for place in [
            "inner.example:443",
            "a.inner.example:443",
            "a.dot.example:443",
            "a.star.example:443",
            "10.1.2.3:443",
            "one.example:8443",
            "127.0.0.1:5432",
            "localhost:5432",
        ] {
            assert!(!asked(place), "{place}");
        }
        let plain = RequestKind::Pass { head: String::new(), body: Body::Bytes(0) };
        assert!(it.proxy(&"api.example:80".parse().unwrap(), &plain).is_none());
        assert!(upstream(&[]).is_none());
    }

    #[test]
    fn passwords_are_sent_but_not_shown() {
        let it = upstream(&[("all_proxy", "http://me:s%40cret@proxy.example:3128/")]);
        let proxy = it.proxy(&"a.example:443".parse().unwrap(), &RequestKind::Tunnel);
        let proxy = proxy.unwrap().unwrap();
        assert_eq!(proxy.credentials, Some(base64(b"me:s@cret")));
        assert_eq!(proxy.to_string(), "the proxy proxy.example:3128");
        for shown in [format!("{it:?}"), serde_json::to_string(&it.shown()).unwrap()] {
            assert!(shown.contains("proxy.example:3128") && !shown.contains("cret"), "{shown}");
        }
    }

    #[test]
    fn unsupported_proxy_is_refused_with_the_reason() {
        let it = upstream(&[("HTTPS_PROXY", "socks5://u:secret@proxy.example:1080")]);
        let error =
            it.proxy(&"a.example:443".parse().unwrap(), &RequestKind::Tunnel).unwrap().err();
        let error = error.unwrap().to_string();
        assert!(error.contains("socks5://proxy.example") && !error.contains("secret"), "{error}");
    }
}
