//! Host names and addresses, parsed once and strictly. The settings and the egress process use the
//! same parser, so a name cannot mean two things. Nothing is resolved here.

use alloc::{borrow::ToOwned, string::String};
use core::{fmt, net::IpAddr, str::FromStr};

/// The longest name that DNS allows.
const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

/// The ports of a pattern without a port.
pub const PORTS_USUAL: [u16; 2] = [443, 80];

/// A host: a name or an address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Host {
    /// ASCII, lower case, without a trailing dot, and never a number.
    Name(String),
    Address(IpAddr),
}

/// Why a text is not a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    #[error("it is empty")]
    Empty,
    #[error("it is too long")]
    TooLong,
    #[error("`{0}` has no place in the name of a host")]
    Character(char),
    #[error("it ends with a dot")]
    EndsWithDot,
    #[error("a part of it is empty, too long, or begins or ends with `-`")]
    Part,
    #[error("it is a number that is read differently by different programs")]
    Number,
    #[error("it is not an address")]
    Address,
    #[error("its port is not a number from 1 to 65535")]
    Port,
    #[error("it has no port")]
    NoPort,
}

impl FromStr for Host {
    type Err = HostError;

    /// An IPv6 address is in brackets.
    fn from_str(text: &str) -> Result<Self, HostError> {
        if let Some(rest) = text.strip_prefix('[') {
            let address = rest.strip_suffix(']').and_then(|it| it.parse().ok());
            return address.map(|it| Self::Address(IpAddr::V6(it))).ok_or(HostError::Address);
        }
        name(text)
    }
}

fn name(text: &str) -> Result<Host, HostError> {
    if text.is_empty() {
        return Err(HostError::Empty);
    }
    let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.');
    if let Some(other) = text.chars().find(|it| !is_plain(*it)) {
        return Err(HostError::Character(other));
    }
    if text.len() > NAME_BYTES_MAX {
        return Err(HostError::TooLong);
    }
    if text.ends_with('.') {
        return Err(HostError::EndsWithDot);
    }
    let is_part = |it: &str| {
        !it.is_empty() && it.len() <= LABEL_BYTES_MAX && !it.starts_with('-') && !it.ends_with('-')
    };
    if !text.split('.').all(is_part) {
        return Err(HostError::Part);
    }
    if is_numeric(text.rsplit('.').next().unwrap_or(text)) {
        // Only decimal numbers without leading zeros: some programs read anything else as octal.
        return text.parse().map(|it| Host::Address(IpAddr::V4(it))).map_err(|_| HostError::Number);
    }
    Ok(Host::Name(text.to_ascii_lowercase()))
}

/// Returns whether some program reads a name with this last part as an address.
fn is_numeric(part: &str) -> bool {
    let is_hex = |rest: &str| rest.bytes().all(|it| it.is_ascii_hexdigit());
    part.bytes().all(|it| it.is_ascii_digit())
        || part.strip_prefix("0x").or(part.strip_prefix("0X")).is_some_and(is_hex)
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub host: Host,
    pub port: u16,
}

impl Place {
    /// `host` or `host:port`.
    pub fn parse_or(text: &str, port_usual: u16) -> Result<Self, HostError> {
        let (host, port) = split_port(text)?;
        Ok(Self { host: host.parse()?, port: port.unwrap_or(port_usual) })
    }
}

impl FromStr for Place {
    type Err = HostError;

    /// `host:port`.
    fn from_str(text: &str) -> Result<Self, HostError> {
        let (host, port) = split_port(text)?;
        Ok(Self { host: host.parse()?, port: port.ok_or(HostError::NoPort)? })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

fn split_port(text: &str) -> Result<(&str, Option<u16>), HostError> {
    let after = text.rfind(']').map_or(0, |it| it + 1);
    let Some(colon) = text[after..].find(':') else { return Ok((text, None)) };
    let (host, port) = (&text[..after + colon], &text[after + colon + 1..]);
    let is_number = !port.is_empty() && port.bytes().all(|it| it.is_ascii_digit());
    let port = if is_number { port.parse().ok().filter(|it| *it > 0) } else { None };
    Ok((host, Some(port.ok_or(HostError::Port)?)))
}

/// A pattern of hosts: `host`, `*.suffix`, `host:port` or `*.suffix:port`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPattern {
    pub hosts: Hosts,
    /// Absent: the usual ports.
    pub port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hosts {
    One(Host),
    /// Every name below this one, at any depth, but not the name itself.
    Below(String),
}

impl FromStr for HostPattern {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let (hosts, port) = split_port(text)?;
        let hosts = match hosts.strip_prefix("*.") {
            None => Hosts::One(hosts.parse()?),
            Some(suffix) => match suffix.parse()? {
                Host::Name(name) => Hosts::Below(name),
                Host::Address(_) => return Err(HostError::Address),
            },
        };
        Ok(Self { hosts, port })
    }
}

impl HostPattern {
    pub fn fits_host(&self, host: &Host) -> bool {
        match (&self.hosts, host) {
            (Hosts::One(one), host) => one == host,
            (Hosts::Below(suffix), Host::Name(name)) => {
                name.strip_suffix(suffix.as_str()).is_some_and(|it| it.ends_with('.'))
            }
            (Hosts::Below(_), Host::Address(_)) => false,
        }
    }

    /// Returns whether this pattern matches everything that `other` matches.
    pub fn covers(&self, other: &Self) -> bool {
        let is_port = match (self.port, other.port) {
            (Some(port), other) => other == Some(port),
            (None, None) => true,
            (None, Some(port)) => PORTS_USUAL.contains(&port),
        };
        let is_host = match (&self.hosts, &other.hosts) {
            (_, Hosts::One(host)) => self.fits_host(host),
            (Hosts::Below(suffix), Hosts::Below(other)) => {
                suffix == other || self.fits_host(&Host::Name(other.clone()))
            }
            (Hosts::One(_), Hosts::Below(_)) => false,
        };
        is_port && is_host
    }

    pub fn fits(&self, place: &Place) -> bool {
        let is_port = match self.port {
            Some(port) => port == place.port,
            None => PORTS_USUAL.contains(&place.port),
        };
        is_port && self.fits_host(&place.host)
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hosts {
            Hosts::One(host) => write!(f, "{host}")?,
            Hosts::Below(suffix) => write!(f, "*.{suffix}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// Returns the host and port of a URL such as `https://host:port/path`; none if it is not a web
/// URL. Ignores credentials.
pub fn place_of_url(url: &str) -> Option<Place> {
    let (scheme, rest) = url.split_once("://")?;
    // Cargo writes `sparse+https`, git and pip write `git+https`.
    let port = match scheme.rsplit('+').next()?.to_ascii_lowercase().as_str() {
        "https" => 443,
        "http" => 80,
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next()?.to_owned();
    Place::parse_or(authority.rsplit('@').next()?, port).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn host(text: &str) -> Result<String, HostError> {
        text.parse::<Host>().map(|it| it.to_string())
    }

    #[test]
    fn a_host_has_one_spelling() {
        assert_eq!(host("API.Example.com").unwrap(), "api.example.com");
        assert_eq!(host("xn--bcher-kva.example").unwrap(), "xn--bcher-kva.example");
        assert_eq!(host("example.com."), Err(HostError::EndsWithDot));
        assert_eq!(host("example..com"), Err(HostError::Part));
        assert_eq!(host("-a.example"), Err(HostError::Part));
        assert_eq!(host("evil\0.example.com"), Err(HostError::Character('\0')));
        assert_eq!(host("bücher.example"), Err(HostError::Character('ü')));
        assert_eq!(host("user@example.com"), Err(HostError::Character('@')));
        assert_eq!(host("example.com%2e"), Err(HostError::Character('%')));
        assert_eq!(host("exampl\u{ff0e}com"), Err(HostError::Character('\u{ff0e}')));
        assert_eq!(host(&"a.".repeat(200)), Err(HostError::TooLong));
    }

    #[test]
    fn numeric_hosts_are_addresses_or_errors() {
        assert_eq!(host("127.0.0.1").unwrap(), "127.0.0.1");
        for disguised in [
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "127.1",
            "0177.0.0.1",
            "127.0.0.01",
            "1.2.3.4.5",
            "256.1.1.1",
            "example.0x10",
            "a.0X",
        ] {
            assert_eq!(host(disguised), Err(HostError::Number), "{disguised}");
        }
        assert_eq!(host("[::1]").unwrap(), "[::1]");
        assert_eq!(host("[::1"), Err(HostError::Address));
        assert_eq!(host("[fe80::1%eth0]"), Err(HostError::Address));
        assert_eq!(host("::1"), Err(HostError::Character(':')));
    }

    #[test]
    fn a_port_is_a_plain_number() {
        let place = |text: &str| text.parse::<Place>().map(|it| it.to_string());
        assert_eq!(place("a.example:443").unwrap(), "a.example:443");
        assert_eq!(place("[::1]:80").unwrap(), "[::1]:80");
        assert_eq!(place("a.example"), Err(HostError::NoPort));
        for bad in ["a:", "a:0", "a:65536", "a:+80", "a: 80", "a:80:80", "a:8o"] {
            assert_eq!(place(bad), Err(HostError::Port), "{bad}");
        }
        assert_eq!(place("[::1]x:80"), Err(HostError::Address));
    }

    #[test]
    fn a_suffix_matches_only_names_below_it() {
        let pattern: HostPattern = "*.Example.com".parse().unwrap();
        assert_eq!(pattern.to_string(), "*.example.com");
        let fits = |text: &str| pattern.fits(&text.parse().unwrap());
        assert!(fits("a.example.com:443") && fits("a.b.example.com:80"));
        assert!(!fits("example.com:443") && !fits("evilexample.com:443"));
        assert!(!fits("a.example.com:22") && !fits("example.com.evil.net:443"));
        for bad in ["*", "*.", "a.*.com", "**.com", "*example.com", "*.127.0.0.1", "https://a"] {
            assert!(bad.parse::<HostPattern>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_pattern_with_a_port_matches_only_that_port() {
        let pattern: HostPattern = "db.example:5432".parse().unwrap();
        assert!(pattern.fits(&"db.example:5432".parse().unwrap()));
        assert!(!pattern.fits(&"db.example:443".parse().unwrap()));
        assert_eq!(pattern.to_string(), "db.example:5432");
    }

    #[test]
    fn a_pattern_covers_narrower_ones() {
        let covers = |a: &str, b: &str| {
            a.parse::<HostPattern>().unwrap().covers(&b.parse::<HostPattern>().unwrap())
        };
        assert!(
            covers("*.example.com", "*.example.com") && covers("*.example.com", "a.example.com")
        );
        assert!(covers("*.example.com", "*.a.example.com") && covers("a.example", "a.example:443"));
        assert!(
            !covers("a.example.com", "*.example.com")
                && !covers("*.a.example.com", "*.example.com")
        );
        assert!(!covers("a.example:443", "a.example") && !covers("a.example", "a.example:22"));
    }

    #[test]
    fn the_host_of_a_url_is_found() {
        let place = |url: &str| place_of_url(url).map(|it| it.to_string());
        assert_eq!(place("https://a.example/simple/").unwrap(), "a.example:443");
        assert_eq!(place("sparse+https://u:p@a.example:8443/x").unwrap(), "a.example:8443");
        assert_eq!(place("http://127.0.0.1:11434").unwrap(), "127.0.0.1:11434");
        assert_eq!(place("file:///srv/mirror"), None);
        assert_eq!(place("a.example"), None);
    }
}
