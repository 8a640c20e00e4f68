//! Decides whether a destination may be reached, and at which addresses. Resolves its name once and
//! never dials.

use super::{
    network::Network,
    reach::{self, OffLimits},
    spec::Allowed,
};
use pitcrew_model::{Host, Hosts, Place};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Allowed by `rule`. Only these addresses were checked, so only these may be dialled.
    Dial {
        addresses: Vec<SocketAddr>,
        rule: String,
    },
    /// Allowed, but there is no address to dial.
    Nowhere {
        rule: String,
        reason: String,
    },
    Refuse {
        reason: String,
    },
}

pub(super) async fn decide(network: &impl Network, allowed: &Allowed, place: &Place) -> Verdict {
    if let Some(verdict) = forward(allowed, place) {
        return verdict;
    }
    let Some(rule) = allowed.patterns.iter().find(|it| it.fits(place)) else {
        let reason = if allowed.patterns.iter().any(|it| it.fits_host(&place.host)) {
            "the host is on the allow-list, this port of it is not"
        } else {
            "it is not on the allow-list"
        };
        return Verdict::Refuse { reason: reason.into() };
    };
    let rule = format!("rule {rule}");
    let found = match &place.host {
        Host::Address(address) => vec![*address],
        Host::Name(name) => match network.resolve(name).await {
            Ok(found) => found,
            Err(error) => {
                return Verdict::Nowhere { rule, reason: format!("it does not resolve: {error}") };
            }
        },
    };
    let is_named = |it: &&Hosts| matches!(it, Hosts::One(_));
    let by_user = allowed.private.iter().filter(|it| it.fits(place)).map(|it| &it.hosts);
    let may_be_private = by_user.filter(is_named).count() > 0;
    sift(&found, &network.own(), may_be_private, place.port, rule)
}

/// Matches a port of our loopback that the user forwards to the box.
fn forward(allowed: &Allowed, place: &Place) -> Option<Verdict> {
    let (v4, v6): (IpAddr, IpAddr) = (Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into());
    let is_loopback = match &place.host {
        Host::Name(name) => name == "localhost",
        Host::Address(address) => *address == v4 || *address == v6,
    };
    let is_open = is_loopback && allowed.forward.contains(&place.port);
    is_open.then(|| Verdict::Dial {
        addresses: vec![(v4, place.port).into(), (v6, place.port).into()],
        rule: format!("forward {}", place.port),
    })
}

/// Keeps the addresses that may be dialled.
fn sift(
    found: &[IpAddr],
    own: &[IpAddr],
    may_be_private: bool,
    port: u16,
    rule: String,
) -> Verdict {
    let mut addresses = Vec::new();
    let mut refused = None;
    for address in found {
        let wrong = reach::off_limits(*address, own);
        let wrong = wrong.or_else(|| reach::is_local(*address).then_some(OffLimits::Own));
        match wrong {
            None => addresses.push((*address, port).into()),
            Some(OffLimits::Private) if may_be_private => addresses.push((*address, port).into()),
            Some(wrong) => refused = Some((*address, wrong)),
        }
    }
    if !addresses.is_empty() {
        return Verdict::Dial { addresses, rule };
    }
    match refused {
        Some((address, wrong)) => {
            Verdict::Refuse { reason: format!("it leads to {address}, {wrong}") }
        }
        None => Verdict::Nowhere { rule, reason: "it has no address".into() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeMap, io};
    use tokio::net::TcpStream;

    /// A network that resolves these names.
    struct Names(BTreeMap<&'static str, Vec<&'static str>>);

    impl Network for Names {
        async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
            let found = self.0.get(name).ok_or(io::ErrorKind::NotFound)?;
            Ok(found.iter().map(|it| it.parse().unwrap()).collect())
        }

        async fn dial(&self, _: SocketAddr) -> io::Result<TcpStream> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn own(&self) -> Vec<IpAddr> {
            vec!["198.51.100.1".parse().unwrap()]
        }
    }

    fn decision(place: &str) -> String {
        let names = Names(BTreeMap::from([
            ("pkg.example", vec!["203.0.113.7", "2001:db8::7"]),
            ("rebound.example", vec!["127.0.0.1"]),
            ("half.example", vec!["10.0.0.5", "203.0.113.8"]),
            ("meta.example", vec!["169.254.169.254"]),
            ("inner.example", vec!["10.0.0.5"]),
            ("ours.example", vec!["10.0.0.5", "169.254.169.254"]),
            ("me.example", vec!["198.51.100.1"]),
            ("a.wide.example", vec!["10.0.0.5"]),
            ("localhost", vec!["127.0.0.1"]),
        ]));
        let parse = |texts: &[&str]| texts.iter().map(|it| it.parse().unwrap()).collect();
        let mut patterns: Vec<_> =
            parse(&["*.example", "203.0.113.9", "169.254.169.254", "10.0.0.6"]);
        let private: Vec<_> =
            parse(&["ours.example", "*.wide.example", "localhost", "10.0.0.7:81"]);
        patterns.extend(private.clone());
        let allowed = Allowed { patterns, private, forward: vec![5432] };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        match runtime.block_on(decide(&names, &allowed, &place.parse().unwrap())) {
            Verdict::Dial { addresses, rule } => format!("{rule}: {addresses:?}"),
            Verdict::Nowhere { rule, reason } => format!("{rule}: nowhere, {reason}"),
            Verdict::Refuse { reason } => format!("refused: {reason}"),
        }
    }

    #[test]
    fn allowed_name_is_dialled_at_its_addresses() {
        assert_eq!(
            decision("pkg.example:443"),
            "rule *.example: [203.0.113.7:443, [2001:db8::7]:443]"
        );
        assert_eq!(decision("203.0.113.9:80"), "rule 203.0.113.9: [203.0.113.9:80]");
    }

    #[test]
    fn unlisted_name_is_not_resolved() {
        assert_eq!(decision("evil.test:443"), "refused: it is not on the allow-list");
        let port = "refused: the host is on the allow-list, this port of it is not";
        assert_eq!(decision("pkg.example:22"), port);
        assert_eq!(decision("10.0.0.7:80"), port);
    }

    #[test]
    fn name_that_resolves_to_an_internal_address_is_refused() {
        let loopback = "refused: it leads to 127.0.0.1, an address of this machine's loopback";
        assert_eq!(decision("rebound.example:443"), loopback);
        let metadata = "refused: it leads to 169.254.169.254, the address of a cloud's metadata";
        assert_eq!(decision("meta.example:80"), metadata);
        assert_eq!(decision("169.254.169.254:80"), metadata);
        let own = "refused: it leads to 198.51.100.1, an address of this machine";
        assert_eq!(decision("me.example:443"), own);
        let private = "refused: it leads to 10.0.0.5, an address of a private network";
        assert_eq!(decision("inner.example:443"), private);
        assert_eq!(decision("half.example:443"), "rule *.example: [203.0.113.8:443]");
        assert_eq!(
            decision("missing.example:443").split(':').nth(1),
            Some(" nowhere, it does not resolve")
        );
    }

    #[test]
    fn only_exact_names_may_be_in_a_private_network() {
        assert_eq!(decision("ours.example:443"), "rule *.example: [10.0.0.5:443]");
        assert_eq!(decision("10.0.0.7:81"), "rule 10.0.0.7:81: [10.0.0.7:81]");
        assert!(decision("a.wide.example:443").starts_with("refused: it leads to 10.0.0.5"));
        assert!(decision("10.0.0.6:443").starts_with("refused: it leads to 10.0.0.6"));
    }

    #[test]
    fn loopback_is_reached_by_a_forward_only() {
        for name in ["127.0.0.1:5432", "localhost:5432", "[::1]:5432"] {
            assert_eq!(decision(name), "forward 5432: [127.0.0.1:5432, [::1]:5432]", "{name}");
        }
        assert_eq!(decision("127.0.0.1:5433"), "refused: it is not on the allow-list");
        assert_eq!(decision("127.0.0.2:5432"), "refused: it is not on the allow-list");
        // The user listed it as a host, but only forwarded ports open the loopback.
        let loopback = "refused: it leads to 127.0.0.1, an address of this machine's loopback";
        assert_eq!(decision("localhost:80"), loopback);
    }
}
