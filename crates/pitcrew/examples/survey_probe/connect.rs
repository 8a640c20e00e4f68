//! Finds the sockets and ports that can be connected to: those on which the survey listens, and
//! those found from inside the box.

use crate::{Report, errno, notes::Orders};
use std::{
    collections::BTreeSet,
    fs,
    net::{SocketAddr, TcpListener, TcpStream, UdpSocket},
    time::Duration,
};

const PATIENCE: Duration = Duration::from_millis(300);

pub fn survey(orders: &Orders, report: &mut Report) {
    let mut known = BTreeSet::new();
    for (kind, place) in &orders.sockets {
        for way in ways(kind, place) {
            report.add(format_args!("connect {kind} {place}{way}"));
        }
        known.insert(place.clone());
    }
    for place in named_sockets() {
        if known.contains(&place) {
            continue;
        }
        for kind in ["abstract-stream", "abstract-dgram", "stream", "dgram"] {
            let (is_abstract, name) =
                place.strip_prefix('@').map_or((false, &*place), |it| (true, it));
            if is_abstract == kind.starts_with("abstract") {
                for way in ways(kind, name) {
                    report.add(format_args!("connect {kind} {place}{way}"));
                }
            }
        }
    }
    for port in listening() {
        if !known.contains(&port.to_string()) {
            let name = name_of(port);
            for way in ways("tcp", &port.to_string()) {
                report.add(format_args!("connect tcp port {name}{way}"));
            }
        }
    }
    loopback(report);
}

/// The ways in which a place can be reached, as phrases that follow its name.
fn ways(kind: &str, place: &str) -> Vec<&'static str> {
    let mut ways = Vec::new();
    match kind {
        "stream" | "abstract-stream" => {
            let reached = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET]
                .into_iter()
                .any(|it| reaches(kind, place, || socket(it)));
            ways.extend(reached.then_some(""));
        }
        "dgram" | "abstract-dgram" => {
            let reached = reaches(kind, place, || socket(libc::SOCK_DGRAM));
            ways.extend(reached.then_some(""));
            let by_pair = reaches(kind, place, pair);
            ways.extend(by_pair.then_some(" (by a socket pair)"));
        }
        "tcp" => {
            let Ok(port) = place.parse::<u16>() else { return ways };
            let plain = SocketAddr::from(([127, 0, 0, 1], port));
            ways.extend(TcpStream::connect_timeout(&plain, PATIENCE).is_ok().then_some(""));
            ways.extend(connects_by_mptcp(port).then_some(" (by MPTCP)"));
        }
        "udp" => {
            let Ok(port) = place.parse::<u16>() else { return ways };
            let asked = UdpSocket::bind("127.0.0.1:0").and_then(|it| {
                it.set_read_timeout(Some(PATIENCE))?;
                it.send_to(b"survey", ("127.0.0.1", port))?;
                it.recv(&mut [0; 8])
            });
            ways.extend(asked.is_ok().then_some(""));
        }
        _ => {}
    }
    ways
}

/// Whether a named socket accepts a connection. Nothing is sent.
fn reaches(kind: &str, place: &str, make: impl Fn() -> Vec<i32>) -> bool {
    // SAFETY: all fields are numbers.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = 1;
    // An abstract name begins with a zero byte.
    let from = usize::from(kind.starts_with("abstract"));
    if place.len() + from >= address.sun_path.len() {
        return false;
    }
    for (to, byte) in address.sun_path[from..].iter_mut().zip(place.bytes()) {
        *to = byte.cast_signed();
    }
    let length = size_of::<libc::sa_family_t>() + from + place.len() + usize::from(from == 0);
    let sockets = make();
    let connected = sockets.first().is_some_and(|socket| {
        let length = u32::try_from(length).unwrap_or(0);
        // SAFETY: the address lives until the call returns.
        let done = unsafe { libc::connect(*socket, (&raw const address).cast(), length) };
        // `EAGAIN` means that the queue is full, so the socket was reached.
        done == 0 || errno() == libc::EAGAIN
    });
    for socket in sockets {
        // SAFETY: it was just created.
        unsafe { libc::close(socket) };
    }
    connected
}

fn socket(kind: i32) -> Vec<i32> {
    // SAFETY: the call uses none of our memory.
    let made = unsafe { libc::socket(libc::AF_UNIX, kind | libc::SOCK_NONBLOCK, 0) };
    if made < 0 { Vec::new() } else { vec![made] }
}

fn pair() -> Vec<i32> {
    let mut made = [0; 2];
    // SAFETY: two descriptors are written to an array of two.
    let is_made =
        unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_DGRAM, 0, made.as_mut_ptr()) } == 0;
    if is_made { made.to_vec() } else { Vec::new() }
}

/// Whether a socket with a path can be connected to, for any type of socket.
pub fn leads_anywhere(path: &str) -> bool {
    ["stream", "dgram"].iter().any(|it| !ways(it, path).is_empty())
}

fn connects_by_mptcp(port: u16) -> bool {
    const IPPROTO_MPTCP: i32 = 262;
    let address = libc::sockaddr_in {
        sin_family: 2,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes([127, 0, 0, 1]) },
        sin_zero: [0; 8],
    };
    let length = u32::try_from(size_of::<libc::sockaddr_in>()).unwrap_or(0);
    // SAFETY: the address lives until the call returns, and the socket is closed.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM, IPPROTO_MPTCP);
        let connected = libc::connect(socket, (&raw const address).cast(), length) == 0;
        libc::close(socket);
        socket >= 0 && connected
    }
}

/// Named sockets of all processes, as listed by the kernel.
fn named_sockets() -> BTreeSet<String> {
    let text = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let names = text.lines().skip(1).filter_map(|it| it.split_whitespace().nth(7));
    names.map(str::to_owned).collect()
}

/// TCP ports with a listener, as listed by the kernel.
fn listening() -> BTreeSet<u16> {
    const LISTENS: &str = "0A";
    let mut ports = BTreeSet::new();
    for path in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = fs::read_to_string(path).unwrap_or_default();
        for line in text.lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if words.get(3) == Some(&LISTENS)
                && let Some((_, port)) = words[1].rsplit_once(':')
            {
                ports.extend(u16::from_str_radix(port, 16));
            }
        }
    }
    ports
}

/// The environment variable that contains this loopback port.
fn name_of(port: u16) -> &'static str {
    let leads = |name: &str| {
        std::env::var(name).is_ok_and(|it| it.trim_end_matches('/').ends_with(&format!(":{port}")))
    };
    if leads("HTTPS_PROXY") {
        "of the proxy"
    } else if leads("PITCREW_SOCKET") {
        "of the way to the orchestrator"
    } else {
        "that nothing names"
    }
}

/// Reports whether a server can be started here, and the network devices.
fn loopback(report: &mut Report) {
    for address in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0"] {
        if TcpListener::bind(address).is_ok() {
            report.add(format_args!("listen tcp {address}"));
        }
    }
    let devices = fs::read_to_string("/proc/net/dev").unwrap_or_default();
    for line in devices.lines().skip(2) {
        if let Some((name, _)) = line.split_once(':') {
            report.add(format_args!("link {}", name.trim()));
        }
    }
}
