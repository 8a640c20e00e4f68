//! The configuration of an egress process, including where it listens.

use super::Upstream;
use pitcrew_model::HostPattern;
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io,
    os::fd::AsRawFd,
    path::{Path, PathBuf},
};

/// Which destinations one box may reach, and how the box connects to this process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EgressSpec {
    /// The attempt's folder, with the socket and the record of decisions. Absolute.
    pub dir: PathBuf,
    pub listen: Listen,
    /// Patterns: `host` or `*.suffix`, each optionally with `:port`.
    pub allow: Vec<String>,
    /// The patterns that the user wrote: hosts that they name exactly may be in a private network.
    pub private: Vec<String>,
    /// Ports of this machine's loopback.
    pub forward: Vec<u16>,
    /// The proxies that this machine itself uses, if any.
    pub upstream: Upstream,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Listen {
    /// On ports that are passed through a socket of this name in the folder, which only this
    /// process and the box can open.
    Socket(String),
    /// On a free loopback port. Any user of the machine can connect, so a secret is required.
    Port { token: String },
}

/// The allow-list in parsed form.
pub(super) struct Allowed {
    pub(super) patterns: Vec<HostPattern>,
    pub(super) private: Vec<HostPattern>,
    pub(super) forward: Vec<u16>,
}

impl EgressSpec {
    pub(super) fn allowed(&self) -> io::Result<Allowed> {
        let mut patterns = read(&self.allow)?;
        let private = read(&self.private)?;
        patterns.extend(private.iter().cloned());
        Ok(Allowed { patterns, private, forward: self.forward.clone() })
    }
}

fn read(texts: &[String]) -> io::Result<Vec<HostPattern>> {
    let parse = |text: &String| {
        text.parse().map_err(|it| io::Error::other(format!("`{text}` is not a host: {it}")))
    };
    texts.iter().map(parse).collect()
}

/// A socket whose path is short enough for the system, whatever the name of its folder.
pub(crate) struct Socket {
    pub(crate) path: PathBuf,
    /// The path goes through this descriptor.
    _folder: File,
}

impl Socket {
    pub(crate) fn at(socket: &Path) -> io::Result<Self> {
        let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let folder = File::open(folder)?;
        let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
        Ok(Self { path, _folder: folder })
    }
}
