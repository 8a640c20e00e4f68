//! What a program may do: the single object from which every layer of confinement is derived.

use crate::{Upstream, WayOut, marker::OWNER_MARKER};
use pitcrew_model::Tier;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// The rights of a program that is started for an agent or on an agent's tree.
///
/// If two paths apply, the more specific one wins; for the same path `deny` wins over `write`, and
/// `write` over `read`. Paths are absolute. Missing paths are ignored: a box never creates files on
/// the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    pub tier: Tier,
    /// Variables in addition to the allow-list.
    pub env: Vec<(String, String)>,
    /// Files and folders that can be read, with everything below them.
    pub read: Vec<PathBuf>,
    /// Files and folders that can be read and written, with everything below them.
    pub write: Vec<PathBuf>,
    /// Files and folders that are hidden, even if a parent folder is shared.
    pub deny: Vec<PathBuf>,
    /// A private, writable home. In a box, the user's own home is empty except for the paths that
    /// are listed here.
    pub home: Option<PathBuf>,
    pub net: Net,
    pub limits: Limits,
    /// The only paths of the checkout that can be changed, for a program that does not sandbox
    /// itself. In a box, new files can be created beside them. Absent: everything in `write`.
    pub inner: Option<Vec<PathBuf>>,
    /// Whether other workers share the checkout. They could create links there while a box is
    /// created, and a mount would follow them. So Landlock also restricts the program to the
    /// existing paths, even in a box. Its `.git` is not writable.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub guest: bool,
    /// Our own executable, which applies the inner layers. Absent if none of them is needed.
    pub launcher: Option<PathBuf>,
    /// The path of bubblewrap.
    pub bubblewrap: PathBuf,
    /// Whether the program sandboxes itself and creates namespaces inside its box.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nests: bool,
}

/// The network access of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Net {
    /// The machine's network.
    Open,
    /// No network.
    None,
    /// The egress proxy only.
    Proxy(Egress),
}

/// What the egress process allows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Egress {
    /// `host` or `host:port`; a host may begin with `*.`.
    pub allow: Vec<String>,
    /// Patterns from the user: hosts that they name exactly may be in a private network.
    pub private: Vec<String>,
    /// Loopback ports of the machine that are available in the box under the same number.
    pub forward: Vec<u16>,
    /// The folder of the socket and the record of decisions.
    pub dir: PathBuf,
    /// The proxy through which this machine reaches the network, if any.
    pub upstream: Upstream,
    /// The address of the process, once it has been started for a program.
    #[serde(skip)]
    pub at: Option<EgressAt>,
}

/// The address of an egress process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EgressAt {
    Socket(PathBuf),
    /// A port on the loopback, which the program shares with us.
    Port(u16),
}

/// Resource limits of a program and its children. Absent means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of data memory for each process.
    pub memory_bytes: Option<u64>,
    /// Processes and threads at the same time.
    pub processes: Option<u64>,
    /// Bytes of one file.
    pub file_bytes: Option<u64>,
    pub open_files: Option<u64>,
}

impl Policy {
    /// No confinement by the operating system.
    pub fn unconfined() -> Self {
        Self {
            tier: Tier::T1,
            env: Vec::new(),
            read: Vec::new(),
            write: Vec::new(),
            deny: Vec::new(),
            home: None,
            net: Net::Open,
            limits: Limits::default(),
            inner: None,
            guest: false,
            launcher: None,
            bubblewrap: "/usr/bin/bwrap".into(),
            nests: false,
        }
    }

    /// Returns a copy without passwords, which can be shown and stored.
    #[must_use]
    pub fn shown(&self) -> Self {
        let mut policy = self.clone();
        if let Net::Proxy(egress) = &mut policy.net {
            egress.upstream = egress.upstream.shown();
        }
        policy
    }

    /// The route to an egress process behind a socket, from a separate loopback.
    pub(crate) fn way_out(&self) -> Option<WayOut> {
        let Net::Proxy(Egress { at: Some(EgressAt::Socket(socket)), forward, .. }) = &self.net
        else {
            return None;
        };
        Some(WayOut { socket: socket.clone(), forward: forward.clone() })
    }

    /// The port of the proxy on a shared loopback.
    pub(crate) fn proxy_port(&self) -> Option<u16> {
        let Net::Proxy(Egress { at: Some(EgressAt::Port(port)), .. }) = &self.net else {
            return None;
        };
        Some(*port)
    }

    /// Returns the writable folder that contains `cwd`, or `cwd` itself if there is none.
    pub(crate) fn checkout<'a>(&'a self, cwd: &'a Path) -> &'a Path {
        let above = self.write.iter().filter(|it| cwd.starts_with(it));
        above.max_by_key(|it| it.components().count()).map_or(cwd, PathBuf::as_path)
    }

    /// Marks the programs with their owner, so that `end_left_behind` finds them after their parent
    /// died.
    #[must_use]
    pub fn owned_by(mut self, owner: &str) -> Self {
        self.env.push((OWNER_MARKER.into(), owner.into()));
        self
    }

    /// The owner that the programs are marked with.
    pub(crate) fn owner(&self) -> Option<&str> {
        self.env.iter().find(|(name, _)| name == OWNER_MARKER).map(|(_, owner)| owner.as_str())
    }

    /// Removes paths that are readable anyway because a parent folder is. Checking them again would
    /// take time at every start of a program.
    #[must_use]
    pub fn without_repeats(mut self) -> Self {
        let is_plain = |it: &&PathBuf| it.canonicalize().is_ok_and(|real| real == **it);
        let plain: Vec<PathBuf> = self.read.iter().filter(is_plain).cloned().collect();
        let is_denied = |path: &Path, above: &Path| {
            self.deny.iter().any(|it| it.starts_with(above) && path.starts_with(it))
        };
        let is_repeated = |path: &Path| {
            let is_above = |it: &&PathBuf| path.starts_with(it) && path != **it;
            // A link does not make its target readable.
            let leads_below =
                |it: &Path| path.canonicalize().is_ok_and(|real| real.starts_with(it));
            plain.iter().filter(is_above).any(|it| !is_denied(path, it) && leads_below(it))
        };
        let mut seen = BTreeSet::new();
        let kept = self.read.iter().filter(|it| !is_repeated(it) && seen.insert(*it));
        self.read = kept.cloned().collect();
        self
    }

    #[must_use]
    pub fn reading(mut self, path: impl AsRef<Path>) -> Self {
        self.read.push(path.as_ref().to_owned());
        self
    }

    #[must_use]
    pub fn writing(mut self, path: impl AsRef<Path>) -> Self {
        self.write.push(path.as_ref().to_owned());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn only_redundant_read_paths_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(at("a/inner/deep")).unwrap();
        fs::create_dir_all(at("b")).unwrap();
        symlink(at("b"), at("a/link")).unwrap();
        let names = ["a", "a/inner", "a", "a/link", "a/inner/deep", "a/missing", "b"];
        let read = names.map(at).to_vec();
        let policy = Policy { read, deny: vec![at("a/inner")], ..Policy::unconfined() };
        let left = ["a", "a/inner", "a/link", "a/inner/deep", "a/missing", "b"].map(at);
        assert_eq!(
            Policy { deny: Vec::new(), ..policy.clone() }.without_repeats().read,
            ["a", "a/link", "a/missing", "b"].map(at)
        );
        assert_eq!(policy.without_repeats().read, left);
    }
}
