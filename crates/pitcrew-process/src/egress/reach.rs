//! Addresses that no program in a box may reach, under any name.

use std::{
    fs::File,
    io::Read,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket},
};

/// Why an address is off limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum OffLimits {
    #[error("no address of a machine")]
    NoMachine,
    #[error("an address of this machine's loopback")]
    Loopback,
    #[error("the address of a cloud's metadata")]
    Metadata,
    #[error("a link-local address")]
    LinkLocal,
    #[error("an address of this machine")]
    Own,
    #[error("an address of a private network")]
    Private,
    #[error("an IPv6 address with an IPv4 address in it")]
    Embedded,
}

/// Cloud metadata services, which return the machine's credentials to any program on it.
const METADATA: &[IpAddr] = &[
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

/// Returns why `address` is off limits for a machine that has the addresses `own`.
pub(super) fn off_limits(address: IpAddr, own: &[IpAddr]) -> Option<OffLimits> {
    if METADATA.contains(&address) {
        return Some(OffLimits::Metadata);
    }
    let wrong = match address {
        IpAddr::V4(address) => of_v4(address),
        IpAddr::V6(address) => of_v6(address, own),
    };
    match wrong {
        // An address of this machine in a private network counts as own, not as private.
        None | Some(OffLimits::Private) if own.contains(&address) => Some(OffLimits::Own),
        wrong => wrong,
    }
}

fn of_v4(address: Ipv4Addr) -> Option<OffLimits> {
    let [a, b, ..] = address.octets();
    if address.is_loopback() {
        Some(OffLimits::Loopback)
    } else if address.is_link_local() {
        Some(OffLimits::LinkLocal)
    } else if a == 0 || a >= 224 {
        Some(OffLimits::NoMachine)
    } else if address.is_private() || (a == 100 && (64..128).contains(&b)) {
        Some(OffLimits::Private)
    } else {
        None
    }
}

fn of_v6(address: Ipv6Addr, own: &[IpAddr]) -> Option<OffLimits> {
    let parts = address.segments();
    if address.is_loopback() {
        return Some(OffLimits::Loopback);
    }
    if address.is_unspecified() || address.is_multicast() {
        return Some(OffLimits::NoMachine);
    }
    match parts {
        // An IPv6-only network reaches IPv4 addresses through this prefix (NAT64).
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
            off_limits(Ipv4Addr::new(a, b, c, d).into(), own)
        }
        [0, 0, 0, 0, 0, 0 | 0xffff, _, _]
        | [0, 0, 0, 0, 0xffff, 0, _, _]
        | [0x64, 0xff9b, 1, ..]
        | [0x2001, 0, ..]
        | [0x2002, ..] => Some(OffLimits::Embedded),
        [first, ..] if first & 0xffc0 == 0xfe80 => Some(OffLimits::LinkLocal),
        [first, ..] if first & 0xfe00 == 0xfc00 || first & 0xffc0 == 0xfec0 => {
            Some(OffLimits::Private)
        }
        _ => None,
    }
}

/// Only routers have longer tables. Own addresses are then found by `is_local`.
const TABLE_BYTES_MAX: u64 = 4 * 1_024 * 1_024;

/// Returns the addresses of this machine that the system lists.
pub(super) fn own_addresses() -> Vec<IpAddr> {
    let read = |path| {
        let mut text = String::new();
        let file = File::open(path).map(|it| it.take(TABLE_BYTES_MAX));
        file.and_then(|mut it| it.read_to_string(&mut text)).map(|_| text).unwrap_or_default()
    };
    let v4 = local_v4(&read("/proc/net/fib_trie")).into_iter().map(IpAddr::V4);
    v4.chain(local_v6(&read("/proc/net/if_inet6")).into_iter().map(IpAddr::V6)).collect()
}

/// In the routing table, a line `|-- ADDRESS` is followed by lines that describe the address.
fn local_v4(table: &str) -> Vec<Ipv4Addr> {
    let mut last: Option<Ipv4Addr> = None;
    let mut found = Vec::new();
    for line in table.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            last = address.parse().ok();
        } else if line.starts_with("/32 host LOCAL") {
            found.extend(last);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn local_v6(table: &str) -> Vec<Ipv6Addr> {
    let first = table.lines().filter_map(|it| it.split_ascii_whitespace().next());
    first.filter_map(|it| u128::from_str_radix(it, 16).ok()).map(Ipv6Addr::from).collect()
}

/// Whether the system would reach `address` without leaving this machine. Sends nothing.
pub(super) fn is_local(address: IpAddr) -> bool {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let from = || {
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect((address, 9))?;
        socket.local_addr()
    };
    from().is_ok_and(|it| it.ip() == address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(address: &str, expected: Option<OffLimits>) {
        let own = ["203.0.113.9".parse().unwrap(), "10.0.0.9".parse().unwrap()];
        assert_eq!(off_limits(address.parse().unwrap(), &own), expected, "{address}");
    }

    #[test]
    fn internal_addresses_are_off_limits() {
        for (address, expected) in [
            ("127.0.0.1", OffLimits::Loopback),
            ("127.255.3.4", OffLimits::Loopback),
            ("::1", OffLimits::Loopback),
            ("0.0.0.0", OffLimits::NoMachine),
            ("0.1.2.3", OffLimits::NoMachine),
            ("224.0.0.1", OffLimits::NoMachine),
            ("255.255.255.255", OffLimits::NoMachine),
            ("::", OffLimits::NoMachine),
            ("ff02::1", OffLimits::NoMachine),
            ("169.254.169.254", OffLimits::Metadata),
            ("fd00:ec2::254", OffLimits::Metadata),
            ("100.100.100.200", OffLimits::Metadata),
            ("169.254.1.1", OffLimits::LinkLocal),
            ("fe80::1", OffLimits::LinkLocal),
            ("febf::1", OffLimits::LinkLocal),
            ("10.1.2.3", OffLimits::Private),
            ("172.16.0.1", OffLimits::Private),
            ("172.31.255.255", OffLimits::Private),
            ("192.168.1.1", OffLimits::Private),
            ("100.64.0.1", OffLimits::Private),
            ("fd12::1", OffLimits::Private),
            ("fec0::1", OffLimits::Private),
            ("::ffff:1.2.3.4", OffLimits::Embedded),
            ("::ffff:127.0.0.1", OffLimits::Embedded),
            ("::7f00:1", OffLimits::Embedded),
            ("2002:7f00:1::1", OffLimits::Embedded),
            ("2001:0:1::1", OffLimits::Embedded),
            ("64:ff9b::7f00:1", OffLimits::Loopback),
            ("64:ff9b::a9fe:a9fe", OffLimits::Metadata),
            ("64:ff9b:1::1", OffLimits::Embedded),
            ("203.0.113.9", OffLimits::Own),
            ("10.0.0.9", OffLimits::Own),
        ] {
            check(address, Some(expected));
        }
        for address in
            ["203.0.113.8", "172.32.0.1", "100.128.0.1", "2606:4700::1", "64:ff9b::808:808"]
        {
            check(address, None);
        }
    }

    proptest! {
        /// A loopback address is refused in every IPv6 notation.
        #[test]
        fn every_notation_of_the_loopback_is_refused(
            b in any::<u8>(),
            c in any::<u8>(),
            d in any::<u8>(),
        ) {
            let inner = Ipv4Addr::new(127, b, c, d);
            let [high, low] = [u16::from_be_bytes([127, b]), u16::from_be_bytes([c, d])];
            let spellings: [IpAddr; 5] = [
                inner.into(),
                inner.to_ipv6_mapped().into(),
                Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low).into(),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low).into(),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1).into(),
            ];
            for spelling in spellings {
                prop_assert!(off_limits(spelling, &[]).is_some(), "{spelling}");
            }
        }
    }

    #[test]
    fn system_tables_are_parsed() {
        let table = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n     \
            |-- 192.168.7.5\n        /32 host LOCAL\n     |-- 192.168.7.255\n        /32 link BROADCAST\n     \
            |-- 192.168.7.5\n        /32 host LOCAL\n";
        assert_eq!(local_v4(table), ["192.168.7.5".parse::<Ipv4Addr>().unwrap()]);
        let table = "00000000000000000000000000000001 01 80 10 80       lo\nfe80 02\n";
        assert_eq!(local_v6(table).first(), Some(&Ipv6Addr::LOCALHOST));
    }

    #[test]
    fn loopback_is_an_address_of_this_machine() {
        assert!(own_addresses().contains(&Ipv4Addr::LOCALHOST.into()));
        assert!(is_local(Ipv4Addr::LOCALHOST.into()));
    }
}
