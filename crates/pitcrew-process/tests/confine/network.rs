//! Sockets: what Landlock restricts, and the bypasses that only seccomp can block.

use crate::scene::{Scene, shown, users};
use pitcrew_process::{ConfineSpec, Unix};
use std::{
    io::{ErrorKind, Read},
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener},
    },
};

/// Builds a Perl command that creates a socket of this type and protocol, and the address of a
/// port.
fn internet(kind: &str, protocol: u32, port: u16, rest: &str) -> String {
    format!(
        "perl -MSocket -e 'socket(my $s, AF_INET, {kind}, {protocol}) or exit 1;
         my $to = pack_sockaddr_in({port}, inet_aton(\"127.0.0.1\")); {rest}'"
    )
}

const CONNECT: &str = "connect($s, $to) or exit 2; syswrite($s, \"out\") or exit 3";
const FAST_OPEN: &str = "send($s, \"out\", 0x20000000, $to) or exit 2";
const MPTCP: u32 = 262;

fn with_ports(scene: &Scene, ports: &[u16]) -> ConfineSpec {
    ConfineSpec { ports: Some(ports.to_vec()), ..scene.spec() }
}

#[test]
fn only_the_allowed_port_can_be_connected_to_over_any_kind_of_tcp() {
    for user in users() {
        let scene = Scene::new(user);
        let closed = TcpListener::bind("127.0.0.1:0").unwrap();
        let open = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = closed.local_addr().unwrap().port();
        let spec = with_ports(&scene, &[open.local_addr().unwrap().port()]);
        scene.only_free(&spec, "tcp", &internet("SOCK_STREAM", 0, port, CONNECT));
        scene.only_free(&spec, "named tcp", &internet("SOCK_STREAM", 6, port, CONNECT));
        scene.only_free(&spec, "fast open", &internet("SOCK_STREAM", 0, port, FAST_OPEN));
        let flags = "setsockopt($s, 6, 30, 1) or exit 1; connect($s, $to) or exit 2;
                     syswrite($s, \"out\") or exit 3";
        scene.only_free(&spec, "lazy fast open", &internet("SOCK_STREAM", 0, port, flags));
        let mptcp = internet("SOCK_STREAM", MPTCP, port, CONNECT);
        if scene.free(&mptcp).success() {
            scene.only_free(&spec, "mptcp", &mptcp);
        }
        let bind =
            "bind($s, pack_sockaddr_in(0, INADDR_LOOPBACK)) or exit 2; listen($s, 1) or exit 3";
        scene.only_free(&spec, "bind", &internet("SOCK_STREAM", 0, port, bind));
        let allowed = internet("SOCK_STREAM", 0, open.local_addr().unwrap().port(), CONNECT);
        let finished = scene.confined(&spec, &allowed);
        assert!(finished.success(), "{}", crate::scene::describe(&finished));
        let mut text = String::new();
        open.accept().unwrap().0.read_to_string(&mut text).unwrap();
        assert_eq!(text, "out");
    }
}

#[test]
fn data_cannot_be_sent_without_a_connection() {
    for user in users() {
        let scene = Scene::new(user);
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        receiver.set_nonblocking(true).unwrap();
        let port = receiver.local_addr().unwrap().port();
        let send = internet("SOCK_DGRAM", 0, port, "send($s, \"out\", 0, $to) or exit 2");
        let name = internet("SOCK_DGRAM", 17, port, "connect($s, $to) or exit 2");
        let spec = scene.spec();
        scene.only_free(&spec, "udp", &send);
        scene.only_free(&spec, "named udp", &name);
        let mut buffer = [0; 8];
        assert_eq!(receiver.recv(&mut buffer).unwrap(), 3, "the free one came");
        assert_eq!(receiver.recv(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
        for (name, family) in [("vsock", 40), ("packet", 17), ("crypto", 38)] {
            let script =
                format!("perl -e 'socket(my $s, {family}, 2, 0) or exit ($!{{EPERM}} ? 1 : 0)'");
            let finished = scene.confined(&spec, &script);
            assert_eq!(finished.code, Some(1), "{name}");
        }
    }
}

fn unix(address: &str) -> String {
    format!(
        "perl -MSocket -e 'socket(my $s, AF_UNIX, SOCK_STREAM, 0) or exit 1;
         connect($s, {address}) or exit 2'"
    )
}

/// A service behind such a socket may start programs on request.
#[test]
fn path_sockets_are_refused_unless_one_is_needed() {
    for user in users() {
        let scene = Scene::new(user);
        let path = scene.path("checkout/socket");
        let _listener = UnixListener::bind(&path).unwrap();
        scene.give();
        let script = unix(&format!("pack_sockaddr_un(\"{}\")", shown(&path)));
        let spec = scene.spec();
        if pitcrew_process::landlock_abi() < 9 {
            scene.only_free(&spec, "a socket", &script);
        }
        let spec = ConfineSpec { unix: Unix::Only(vec![path]), ..spec };
        assert!(scene.confined(&spec, &script).success());
        // Sockets between a program's own processes do not lead outside.
        let pair = "perl -MSocket -e 'socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or exit 1'";
        assert!(scene.confined(&scene.spec(), pair).success());
    }
}

#[test]
fn abstract_sockets_are_refused_even_if_path_sockets_are_allowed() {
    for user in users() {
        let scene = Scene::new(user);
        let name = format!("pitcrew-test-{}-{user:?}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let _listener = UnixListener::bind_addr(&address).unwrap();
        let script = unix(&format!("pack(\"S\", 1) . \"\\0{name}\""));
        let spec = ConfineSpec { unix: Unix::Any, ..scene.spec() };
        scene.only_free(&spec, "an abstract socket", &script);
    }
}

#[test]
fn open_network_stays_open() {
    let scene = Scene::new(crate::scene::User::Current);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let spec = ConfineSpec { ports: None, ..scene.spec() };
    for (kind, rest) in [("SOCK_STREAM", CONNECT), ("SOCK_DGRAM", "connect($s, $to) or exit 2")] {
        assert!(scene.confined(&spec, &internet(kind, 0, port, rest)).success(), "{kind}");
    }
}
