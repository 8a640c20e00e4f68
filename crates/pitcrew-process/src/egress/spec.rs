//! The configuration of an egress process, and where it listens.

use super::Upstream;
use pitcrew_model::HostPattern;
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io,
    os::fd::AsRawFd,
    path::{Path, PathBuf},
};

/// What may be reached from one box, and how the box reaches us.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EgressSpec {
    /// The attempt's folder: the socket and the record of decisions. Absolute.
    pub dir: PathBuf,
    pub listen: Listen,
    /// Patterns: `host`, `*.suffix`, either with `:port`.
    pub allow: Vec<String>,
    /// Those of them that the user wrote: what they name exactly may be in a private network.
    pub private: Vec<String>,
    /// Ports of this machine's loopback.
    pub forward: Vec<u16>,
    /// How this machine itself reaches the network, where it does so by a proxy.
    pub upstream: Upstream,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Listen {
    /// On ports that are handed over by a socket of this name in the folder, which only we and the
    /// box can open.
    Socket(String),
    /// On a free port of the loopback. Everybody on the machine can connect, so a secret is asked for.
    Port { token: String },
}

/// The allow-list as it is used.
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
        text.parse().map_err(|it| io::Error::other(format!("`{text}` is no host to allow: {it}")))
    };
    texts.iter().map(parse).collect()
}

/// A socket, by a path that is short enough for the system, whatever its folder is called.
pub(crate) struct Socket {
    pub(crate) path: PathBuf,
    /// The path leads through it.
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
