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
struct Visit {
    heard: String,
    answer: String,
    lines: Vec<EgressLine>,
}

fn door(dir: &Path, server: SocketAddr, token: Option<&str>) -> Door<Outside> {
    let patterns = vec!["*.example".parse().unwrap()];
    Door {
        credentials: token.map(Into::into),
        allowed: Allowed { patterns, private: Vec::new(), forward: Vec::new() },
        ledger: Ledger::open(dir).unwrap(),
        reached: Reached::open(dir).unwrap(),
        upstream: Upstream::default(),
        network: Outside { server },
    }
}

/// The program sends `words` and closes. The server, if it is reached, reads all and sends `reply`.
fn visit(token: Option<&str>, words: &str, reply: &str) -> Visit {
    visit_by(|_| Upstream::default(), token, words, reply)
}

/// The same on a machine with a proxy, built from the address of the server.
fn visit_by(
    upstream: impl FnOnce(SocketAddr) -> Upstream,
    token: Option<&str>,
    words: &str,
    reply: &str,
) -> Visit {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().unwrap();
    let (heard, answer) = runtime.block_on(async {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = server.local_addr().unwrap();
        let door = Door { upstream: upstream(address), ..door(dir.path(), address, token) };
        let serving = async {
            let (mut stream, _) = server.accept().await.unwrap();
            let mut heard = String::new();
            stream.read_to_string(&mut heard).await.unwrap();
            stream.write_all(reply.as_bytes()).await.unwrap();
            heard
        };
        let (mut program, inside) = tokio::io::duplex(64);
        let talking = async {
            let (mut from, mut to) = tokio::io::split(&mut program);
            let mut answer = String::new();
            let speak = async {
                to.write_all(words.as_bytes()).await.ok();
                to.shutdown().await.ok();
            };
            let ((), read) = tokio::join!(speak, from.read_to_string(&mut answer));
            read.unwrap();
            answer
        };
        let visiting = async { tokio::join!(door.visit(inside), talking).1 };
        tokio::pin!(visiting);
        let result = tokio::select! {
            answer = &mut visiting => (String::new(), answer),
            heard = serving => (heard, visiting.await),
        };
        door.ledger.flush().unwrap();
        result
    });
    let text = std::fs::read_to_string(ledger_path(dir.path())).unwrap();
    let lines = text.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    Visit { heard, answer, lines }
}

#[test]
fn tunnel_carries_both_directions_and_counts_bytes() {
    let visited = visit(None, "CONNECT pkg.example:443 HTTP/1.1\r\n\r\nhello", "world!");
    assert_eq!(visited.heard, "hello");
    assert_eq!(visited.answer, "HTTP/1.1 200 Connection established\r\n\r\nworld!");
    let [decided, ended] = visited.lines.as_slice() else { panic!("{:?}", visited.lines) };
    assert_eq!((decided.host.as_str(), decided.port, decided.allowed), ("pkg.example", 443, true));
    assert_eq!((decided.reason.as_str(), decided.count), ("rule *.example", 1));
    assert_eq!((ended.count, ended.bytes_up, ended.bytes_down), (0, 5, 6));
}

#[test]
fn plain_request_is_forwarded_without_proxy_headers() {
    let head = "GET http://pkg.example/x HTTP/1.1\r\nHost: other.test\r\nProxy-Connection: keep-alive\r\n\r\n";
    let visited = visit(None, head, "HTTP/1.1 204 No Content\r\n\r\n");
    assert_eq!(visited.heard, "GET /x HTTP/1.1\r\nHost: pkg.example\r\nconnection: close\r\n\r\n");
    assert_eq!(visited.answer, "HTTP/1.1 204 No Content\r\n\r\n");
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
        let visited = visit_by(by_proxy, None, &words, reply);
        let begin = "POST http://pkg.example:80/x HTTP/1.1\r\nHost: pkg.example\r\n";
        assert_eq!(visited.heard, format!("{begin}{passed}"));
        assert_eq!(visited.answer, reply);
        let direct = visit(None, &words, reply);
        assert!(direct.heard.ends_with(passed), "{}", direct.heard);
    }
}

#[test]
fn refused_destination_is_not_dialled_and_names_the_fix() {
    let visited = visit(None, "CONNECT evil.test:443 HTTP/1.1\r\n\r\n", "");
    assert!(visited.answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{}", visited.answer);
    assert!(
        visited.answer.contains("evil.test:443 is refused")
            && visited.answer.contains("egress_allow")
    );
    let [line] = visited.lines.as_slice() else { panic!("{:?}", visited.lines) };
    assert!(
        !line.allowed && line.reason == "it is not on the allow-list" && line.host == "evil.test"
    );
}

#[test]
fn listed_name_that_resolves_to_the_loopback_is_refused() {
    let visited = visit(None, "CONNECT rebound.example:443 HTTP/1.1\r\n\r\n", "");
    assert!(visited.answer.starts_with("HTTP/1.1 403 "), "{}", visited.answer);
    assert!(visited.lines[0].reason.contains("loopback"), "{:?}", visited.lines);
}

#[test]
fn unreadable_head_is_refused_and_recorded() {
    let visited = visit(None, "CONNECT pkg.example\0.evil.test:443 HTTP/1.1\r\n\r\n", "");
    assert!(visited.answer.starts_with("HTTP/1.1 400 "), "{}", visited.answer);
    assert_eq!((visited.lines[0].host.as_str(), visited.lines[0].allowed), (UNREADABLE, false));
    let long =
        format!("CONNECT pkg.example:443 HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(HEAD_BYTES_MAX));
    let visited = visit(None, &long, "");
    assert!(
        visited.answer.is_empty() || visited.answer.starts_with("HTTP/1.1 400 "),
        "{}",
        visited.answer
    );
    assert_eq!(visited.lines[0].reason, "the head is too long");
}

#[test]
fn missing_or_wrong_secret_is_refused() {
    let ask = |header: &str| format!("CONNECT pkg.example:443 HTTP/1.1\r\n{header}\r\n");
    for header in
        ["", "Proxy-Authorization: Basic d3Jvbmc=\r\n", "Authorization: Basic cmlnaHQ=\r\n"]
    {
        let visited = visit(Some("cmlnaHQ="), &ask(header), "");
        assert!(visited.answer.starts_with("HTTP/1.1 407 "), "{}", visited.answer);
        assert!(visited.lines.is_empty());
    }
    let visited = visit(Some("cmlnaHQ="), &ask("Proxy-Authorization: basic cmlnaHQ=\r\n"), "");
    assert!(visited.answer.starts_with("HTTP/1.1 200 "), "{}", visited.answer);
}
