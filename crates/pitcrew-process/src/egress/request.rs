//! Requests to the proxy: the head of one request, parsed strictly and within limits.

use super::body::Body;
use pitcrew_model::Place;
use std::fmt::Write as _;

pub(super) const HEAD_BYTES_MAX: usize = 16 * 1_024;
const HEADERS_MAX: usize = 100;

/// Headers that are meant for the proxy and are not forwarded, and those that the proxy sets
/// itself.
const NOT_PASSED_ON: &[&str] = &[
    "connection",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) place: Place,
    pub(super) kind: RequestKind,
    /// The value after `Proxy-Authorization: Basic`.
    pub(super) credentials: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// Raw bytes in both directions.
    Tunnel,
    /// One request over plain HTTP, in the form in which it is forwarded.
    Pass { head: String, body: Body },
}

/// Why a head cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct BadRequest(String);

fn bad<T>(reason: impl Into<String>) -> Result<T, BadRequest> {
    Err(BadRequest(reason.into()))
}

/// Returns the end of the head if it has arrived completely.
pub(super) fn head_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|it| it == b"\r\n\r\n").map(|it| it + 4)
}

impl Request {
    /// Parses a head, including the empty line at its end.
    pub(super) fn parse(head: &[u8]) -> Result<Self, BadRequest> {
        let Ok(head) = str::from_utf8(head) else { return bad("the head is not UTF-8") };
        let Some(head) = head.strip_suffix("\r\n\r\n") else { return bad("the head has no end") };
        let is_plain = |it: char| matches!(it, '\t' | ' '..='~') || !it.is_ascii();
        let mut lines = head.split("\r\n");
        if head.split("\r\n").any(|line| !line.chars().all(is_plain)) {
            return bad("the head has a control character");
        }
        let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let &[method, target, "HTTP/1.1" | "HTTP/1.0"] = words.as_slice() else {
            return bad("the first line is not an HTTP/1 request");
        };
        if !is_token(method) || !target.is_ascii() {
            return bad("the first line is not an HTTP/1 request");
        }
        let headers = headers(lines)?;
        let credentials = credentials(&headers);
        if method == "CONNECT" {
            let place = target
                .parse()
                .or_else(|it| bad(format!("`{target}` is not a host and port: {it}")))?;
            return Ok(Self { place, kind: RequestKind::Tunnel, credentials });
        }
        let (place, path) = absolute(target)?;
        let body = body(&headers)?;
        let head = passed_on(method, &place, path, &headers);
        Ok(Self { place, kind: RequestKind::Pass { head, body }, credentials })
    }
}

fn is_token(text: &str) -> bool {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&it);
    !text.is_empty() && text.bytes().all(is_plain)
}

fn headers<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Vec<(String, &'a str)>, BadRequest> {
    let mut headers = Vec::new();
    for line in lines {
        // Names that end with a space and folded lines are used to smuggle headers.
        let Some((name, value)) = line.split_once(':').filter(|(name, _)| is_token(name)) else {
            return bad("a header has no name");
        };
        headers.push((name.to_ascii_lowercase(), value.trim_matches([' ', '\t'])));
        if headers.len() > HEADERS_MAX {
            return bad("there are too many headers");
        }
    }
    Ok(headers)
}

fn credentials(headers: &[(String, &str)]) -> Option<String> {
    let (_, value) = headers.iter().find(|(name, _)| name == "proxy-authorization")?;
    let (scheme, rest) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("basic").then(|| rest.trim().to_owned())
}

/// Splits `http://place/path`.
fn absolute(target: &str) -> Result<(Place, &str), BadRequest> {
    let scheme = target.get(..7).filter(|it| it.eq_ignore_ascii_case("http://"));
    let Some(rest) = scheme.map(|it| &target[it.len()..]) else {
        return bad("a proxy is asked by CONNECT, or with an address that begins with http://");
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    match Place::parse_or(authority, 80) {
        Ok(place) => Ok((place, path)),
        Err(error) => bad(format!("`{authority}` is not a host and port: {error}")),
    }
}

/// Returns the framing of the body. Fails if the framing or the host is ambiguous.
fn body(headers: &[(String, &str)]) -> Result<Body, BadRequest> {
    let said = |wanted: &'static str| headers.iter().filter(move |(name, _)| name == wanted);
    let value = |wanted| said(wanted).next().map(|(_, value)| *value);
    let frames_count = said("content-length").count() + said("transfer-encoding").count();
    if frames_count > 1 || said("host").count() > 1 {
        return bad("the length of the body, or the host, is said twice");
    }
    let body = Body::framed(value("content-length"), value("transfer-encoding"));
    body.map_or_else(|| bad("the length of the body cannot be read"), Ok)
}

/// Builds the head of the one request for the server, which closes the connection after it.
fn passed_on(method: &str, place: &Place, path: &str, headers: &[(String, &str)]) -> String {
    let slash = if path.starts_with('/') { "" } else { "/" };
    let path = path.split('#').next().unwrap_or_default();
    let mut head = format!("{method} {slash}{path} HTTP/1.1\r\n");
    let host = if place.port == 80 { place.host.to_string() } else { place.to_string() };
    write!(head, "Host: {host}\r\n").expect("a text takes everything");
    let named: Vec<String> = headers
        .iter()
        .filter(|(name, _)| name == "connection")
        .flat_map(|(_, value)| value.split(','))
        .map(|it| it.trim().to_ascii_lowercase())
        .collect();
    let is_passed = |name: &String| {
        // Headers that frame the body are kept, whatever the `Connection` header lists.
        let is_frame = name == "content-length" || name == "transfer-encoding";
        is_frame || !(NOT_PASSED_ON.contains(&name.as_str()) || named.contains(name))
    };
    for (name, value) in headers.iter().filter(|(name, _)| is_passed(name)) {
        write!(head, "{name}: {value}\r\n").expect("a text takes everything");
    }
    head.push_str("connection: close\r\n\r\n");
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(head: &str) -> Result<Request, BadRequest> {
        Request::parse(head.replace('\n', "\r\n").as_bytes())
    }

    #[test]
    fn tunnel_request_names_a_destination() {
        let head =
            "CONNECT A.example:443 HTTP/1.1\nHost: b.example\nproxy-authorization: Basic eA==\n\n";
        let request = parse(head).unwrap();
        assert_eq!(request.place.to_string(), "a.example:443");
        assert_eq!(request.kind, RequestKind::Tunnel);
        assert_eq!(request.credentials.as_deref(), Some("eA=="));
    }

    #[test]
    fn plain_request_goes_to_the_host_of_its_address() {
        let head = "GET http://a.example:8080/x?y#z HTTP/1.1\nHost: b.example\nConnection: close, X-Mine\n\
            X-Mine: 1\nAccept: */*\nProxy-Authorization: Basic eA==\nContent-Length: 2\n\n";
        let Request { place, kind, .. } = parse(head).unwrap();
        assert_eq!(place.to_string(), "a.example:8080");
        let passed = "GET /x?y HTTP/1.1\r\nHost: a.example:8080\r\naccept: */*\r\n\
            content-length: 2\r\nconnection: close\r\n\r\n";
        assert_eq!(kind, RequestKind::Pass { head: passed.into(), body: Body::Bytes(2) });
    }

    #[test]
    fn address_without_a_path_means_the_root() {
        let RequestKind::Pass { head, .. } =
            parse("GET http://a.example?q HTTP/1.0\n\n").unwrap().kind
        else {
            panic!("no request to pass on");
        };
        assert!(head.starts_with("GET /?q HTTP/1.1\r\nHost: a.example\r\n"), "{head}");
    }

    #[test]
    fn ambiguous_heads_are_refused() {
        for head in [
            "GET / HTTP/1.1\nHost: a.example\n\n",
            "GET https://a.example/ HTTP/1.1\n\n",
            "CONNECT a.example HTTP/1.1\n\n",
            "CONNECT a.example:443@b.example:443 HTTP/1.1\n\n",
            "CONNECT  a.example:443 HTTP/1.1\n\n",
            "CONNECT a.example:443 HTTP/2.0\n\n",
            "CONNECT a.example:443 HTTP/1.1\nBad : x\n\n",
            "CONNECT a.example:443 HTTP/1.1\nA: x\n folded\n\n",
            "CONNECT a.exa\0mple:443 HTTP/1.1\n\n",
            "GET http://user@a.example/ HTTP/1.1\n\n",
            "GET http://a.example/ HTTP/1.1\nHost: a\nHost: b\n\n",
            "POST http://a.example/ HTTP/1.1\nContent-Length: 1\nTransfer-Encoding: chunked\n\n",
            "POST http://a.example/ HTTP/1.1\nContent-Length: 1\nContent-Length: 2\n\n",
            "POST http://a.example/ HTTP/1.1\nContent-Length: +1\n\n",
            "POST http://a.example/ HTTP/1.1\nTransfer-Encoding: gzip\n\n",
        ] {
            assert!(parse(head).is_err(), "{head:?}");
        }
        // A single line feed does not end a line.
        assert!(Request::parse(b"GET http://a.example/ HTTP/1.1\nX: 1\r\n\r\n").is_err());
        assert!(Request::parse(b"CONNECT a.example:443 HTTP/1.1\r\n").is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            Request::parse(&bytes).ok();
            head_end(&bytes);
        }

        /// A forwarded head parses as one request to the same destination, so nothing was smuggled.
        #[test]
        fn forwarded_request_has_one_head(
            path in "[ -~]{0,40}",
            name in "[ -~]{1,20}",
            value in "[\\t -~\\r\\n]{0,40}",
        ) {
            let head = format!("GET http://a.example/{path} HTTP/1.1\r\n{name}: {value}\r\n\r\n");
            if let Ok(Request { kind: RequestKind::Pass { head, .. }, place, .. }) = Request::parse(head.as_bytes()) {
                prop_assert_eq!(place.to_string(), "a.example:80");
                prop_assert_eq!(head_end(head.as_bytes()), Some(head.len()));
                let hosts = head.split("\r\n").filter(|it| it.to_ascii_lowercase().starts_with("host:"));
                prop_assert_eq!(hosts.count(), 1);
                prop_assert!(head.starts_with("GET /") && head.ends_with("\r\nconnection: close\r\n\r\n"));
            }
        }

        #[test]
        fn displayed_destination_parses_back(host in "[a-zA-Z0-9.-]{1,30}", port in 1_u16..) {
            let head = format!("CONNECT {host}:{port} HTTP/1.1\r\n\r\n");
            if let Ok(request) = Request::parse(head.as_bytes()) {
                prop_assert_eq!(request.place.port, port);
                prop_assert_eq!(request.place.to_string(), format!("{host}:{port}").to_ascii_lowercase());
            }
        }
    }
}
