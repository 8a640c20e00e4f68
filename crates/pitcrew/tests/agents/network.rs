//! Proves that tests with real agents run without a network.

use pitcrew_testkit::{can_be_offline, is_offline, offline, skipped};
use std::{
    fs,
    net::{Ipv4Addr, TcpListener, TcpStream},
};

#[test]
fn agents_have_no_network() {
    let test = "network::agents_have_no_network";
    if let Err(reason) = can_be_offline() {
        return skipped(test, &format!("an empty network cannot be made: {reason}"));
    }
    offline(test, || {
        assert!(is_offline());
        let devices = fs::read_to_string("/proc/self/net/dev").expect("a list");
        let names: Vec<&str> =
            devices.lines().filter_map(|it| Some(it.split_once(':')?.0.trim())).collect();
        assert_eq!(names, ["lo"]);
        // An address reserved for documentation, with no host and no route.
        let error = TcpStream::connect((Ipv4Addr::new(192, 0, 2, 1), 80)).expect_err("no way");
        assert_eq!(error.kind(), std::io::ErrorKind::NetworkUnreachable);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        TcpStream::connect(listener.local_addr().expect("an address")).expect("loopback works");
    });
}
