use super::*;
use crate::egress::ledger::{EgressLine, ledger_path};
use std::{net::IpAddr, path::Path};
use tokio::net::TcpListener;

/// A network in which every name resolves to one test server.
struct Outside {
    server: SocketAddr,
}

const ADDRESS: &str = "203.0.113.7";

impl Network for Outside {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let address = if name == "rebound.example" { "127.0.0.1" } else { ADDRESS };
        Ok(vec![address.parse().unwrap()])
    }

    async fn dial(&self, address: SocketAddr) -> io::Result<TcpStream> {
        assert_eq!(address.ip().to_string(), ADDRESS, "an address that was never checked");
        TcpStream::connect(self.server).await
    }

    fn own(&self) -> Vec<IpAddr> {
        Vec::new()
    }
}

/// The bytes that the server and the program received, and the record.
struct Exchange {
    received: String,
    answer: String,
    lines: Vec<EgressLine>,
}

fn gateway(dir: &Path, server: SocketAddr, token: Option<&str>) -> Gateway<Outside> {
    let patterns = vec!["*.example".parse().unwrap()];
    Gateway {
        credentials: token.map(Into::into),
        allowed: Allowed { patterns, private: Vec::new(), forward: Vec::new() },
        ledger: Ledger::open(dir).unwrap(),
        reached: Reached::open(dir).unwrap(),
        upstream: Upstream::default(),
        network: Outside { server },
    }
}

/// The program sends `words` and closes. The server, if it is reached, reads all and sends `reply`.
fn exchange(token: Option<&str>, words: &str, reply: &str) -> Exchange {
    exchange_through(|_| Upstream::default(), token, words, reply)
}

/// The same on a machine with a proxy, built from the address of the server.
fn exchange_through(
    upstream: impl FnOnce(SocketAddr) -> Upstream,
    token: Option<&str>,
    words: &str,
    reply: &str,
) -> Exchange {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().unwrap();
    let (received, answer) = runtime.block_on(async {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = server.local_addr().unwrap();
        let gateway =
            Gateway { upstream: upstream(address), ..gateway(dir.path(), address, token) };
        let serving = async {
            let (mut stream, _) = server.accept().await.unwrap();
            let mut received = String::new();
            stream.read_to_string(&mut received).await.unwrap();
            stream.write_all(reply.as_bytes()).await.unwrap();
            received
        };
        let (mut program, inside) = tokio::io::duplex(64);
        let sending = async {
            let (mut from, mut to) = tokio::io::split(&mut program);
            let mut answer = String::new();
            let send = async {
                to.write_all(words.as_bytes()).await.ok();
                to.shutdown().await.ok();
            };
            let ((), read) = tokio::join!(send, from.read_to_string(&mut answer));
            read.unwrap();
            answer
        };
        let serving_program = async { tokio::join!(gateway.serve(inside), sending).1 };
        tokio::pin!(serving_program);
        let result = tokio::select! {
            answer = &mut serving_program => (String::new(), answer),
            received = serving => (received, serving_program.await),
        };
        gateway.ledger.flush().unwrap();
        result
    });
    let text = std::fs::read_to_string(ledger_path(dir.path())).unwrap();
    let lines = text.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    Exchange { received, answer, lines }
}

#[test]
fn tunnel_carries_both_directions_and_counts_bytes() {
    let exchanged = exchange(None, "CONNECT pkg.example:443 HTTP/1.1\r\n\r\nhello", "world!");
    assert_eq!(exchanged.received, "hello");
    assert_eq!(exchanged.answer, "HTTP/1.1 200 Connection established\r\n\r\nworld!");
    let [decided, ended] = exchanged.lines.as_slice() else { panic!("{:?}", exchanged.lines) };
    assert_eq!((decided.host.as_str(), decided.port, decided.allowed), ("pkg.example", 443, true));
    assert_eq!((decided.reason.as_str(), decided.count), ("rule *.example", 1));
    assert_eq!((ended.count, ended.bytes_up, ended.bytes_down), (0, 5, 6));
}

#[test]
fn plain_request_is_forwarded_without_proxy_headers() {
    let head = "GET http://pkg.example/x HTTP/1.1\r\nHost: other.test\r\nProxy-Connection: keep-alive\r\n\r\n";
    let exchanged = exchange(None, head, "HTTP/1.1 204 No Content\r\n\r\n");
    assert_eq!(
        exchanged.received,
        "GET /x HTTP/1.1\r\nHost: pkg.example\r\nconnection: close\r\n\r\n"
    );
    assert_eq!(exchanged.answer, "HTTP/1.1 204 No Content\r\n\r\n");
}

/// A proxy would treat the following bytes as the next request, to any destination.
#[test]
fn nothing_is_forwarded_after_a_checked_request() {
    let by_proxy = |server: SocketAddr| {
        let variables = [("http_proxy".to_owned(), format!("http://{server}"))];
        Upstream::of_environment(&variables.into())
    };
    let second = "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n";
    for (body, passed) in [
        ("\r\n", "connection: close\r\n\r\n"),
        ("Content-Length: 4\r\n\r\nbody", "content-length: 4\r\nconnection: close\r\n\r\nbody"),
        (
            "Transfer-Encoding: chunked\r\n\r\n4;a=b\r\nbody\r\n0\r\nA: b\r\n\r\n",
            "transfer-encoding: chunked\r\nconnection: close\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
        ),
    ] {
        let words = format!("POST http://pkg.example/x HTTP/1.1\r\n{body}{second}");
        let reply = "HTTP/1.1 204 No Content\r\n\r\n";
        let exchanged = exchange_through(by_proxy, None, &words, reply);
        let begin = "POST http://pkg.example:80/x HTTP/1.1\r\nHost: pkg.example\r\n";
        assert_eq!(exchanged.received, format!("{begin}{passed}"));
        assert_eq!(exchanged.answer, reply);
        let direct = exchange(None, &words, reply);
        assert!(direct.received.ends_with(passed), "{}", direct.received);
    }
}

#[test]
fn refused_destination_is_not_dialled_and_names_the_fix() {
    let exchanged = exchange(None, "CONNECT evil.test:443 HTTP/1.1\r\n\r\n", "");
    assert!(exchanged.answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{}", exchanged.answer);
    assert!(
        exchanged.answer.contains("evil.test:443 is refused")
            && exchanged.answer.contains("egress_allow")
    );
    let [line] = exchanged.lines.as_slice() else { panic!("{:?}", exchanged.lines) };
    assert!(
        !line.allowed && line.reason == "it is not on the allow-list" && line.host == "evil.test"
    );
}

#[test]
fn listed_name_that_resolves_to_the_loopback_is_refused() {
    let exchanged = exchange(None, "CONNECT rebound.example:443 HTTP/1.1\r\n\r\n", "");
    assert!(exchanged.answer.starts_with("HTTP/1.1 403 "), "{}", exchanged.answer);
    assert!(exchanged.lines[0].reason.contains("loopback"), "{:?}", exchanged.lines);
}

#[test]
fn unreadable_head_is_refused_and_recorded() {
    let exchanged = exchange(None, "CONNECT pkg.example\0.evil.test:443 HTTP/1.1\r\n\r\n", "");
    assert!(exchanged.answer.starts_with("HTTP/1.1 400 "), "{}", exchanged.answer);
    assert_eq!((exchanged.lines[0].host.as_str(), exchanged.lines[0].allowed), (UNREADABLE, false));
    let long =
        format!("CONNECT pkg.example:443 HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(HEAD_BYTES_MAX));
    let exchanged = exchange(None, &long, "");
    assert!(
        exchanged.answer.is_empty() || exchanged.answer.starts_with("HTTP/1.1 400 "),
        "{}",
        exchanged.answer
    );
    assert_eq!(exchanged.lines[0].reason, "the head is too long");
}

#[test]
fn missing_or_wrong_secret_is_refused() {
    let ask = |header: &str| format!("CONNECT pkg.example:443 HTTP/1.1\r\n{header}\r\n");
    for header in
        ["", "Proxy-Authorization: Basic d3Jvbmc=\r\n", "Authorization: Basic cmlnaHQ=\r\n"]
    {
        let exchanged = exchange(Some("cmlnaHQ="), &ask(header), "");
        assert!(exchanged.answer.starts_with("HTTP/1.1 407 "), "{}", exchanged.answer);
        assert!(exchanged.lines.is_empty());
    }
    let exchanged = exchange(Some("cmlnaHQ="), &ask("Proxy-Authorization: basic cmlnaHQ=\r\n"), "");
    assert!(exchanged.answer.starts_with("HTTP/1.1 200 "), "{}", exchanged.answer);
}
