//! The restrictions that the launcher applies, as passed on its command line.

use super::landlock::distinguishes_sockets;
use crate::{Limits, Net, Policy, WayOut};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What `pitcrew confine` applies before it becomes the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfineSpec {
    pub limits: Limits,
    /// Private folders of the program. They are created if they are missing.
    pub folders: Vec<PathBuf>,
    /// Parts of the user's home that are linked into the private home.
    pub home: Option<Home>,
    /// The route from inside a box to the egress proxy.
    pub way_out: Option<WayOut>,
    /// Sockets that are reached through a loopback port. Variables that name such a socket name the
    /// port instead.
    pub relays: Vec<PathBuf>,
    /// Absent if the box already restricts files.
    pub files: Option<Files>,
    /// The only writable part of a checkout in the box.
    #[serde(default)]
    pub lease: Option<Zone>,
    /// The TCP ports that may be connected to. Absent if ports are not restricted here.
    pub ports: Option<Vec<u16>>,
    pub unix: Unix,
    pub calls: Calls,
    /// The program's input and output arrive over our standard input.
    #[serde(default)]
    pub takes_ends: bool,
    /// The program starts after one byte on our standard input, which is not passed to it.
    #[serde(default)]
    pub waits: bool,
    /// The user to switch to, if we are root in the box.
    #[serde(default)]
    pub user: Option<BoxUser>,
}

/// The unprivileged user of a box that root started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxUser {
    /// The id of the user and of its group.
    pub id: u32,
    /// Folders that exist only in the box and must belong to the user.
    pub owned: Vec<PathBuf>,
    /// Whether `/proc` must still be mounted. A nested box can mount its own only if no part of
    /// this one is covered.
    pub mounts_proc: bool,
}

/// A private home with links to shared parts of the user's home.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Home {
    pub private: PathBuf,
    pub user: PathBuf,
    /// Paths below the user's home.
    pub shown: Vec<PathBuf>,
}

/// Which files can be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    pub deny: Vec<PathBuf>,
    /// Absent if everything in `write` is writable.
    pub zone: Option<Zone>,
}

/// The only writable part of a checkout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zone {
    pub checkout: PathBuf,
    /// Paths within the checkout. A path with a trailing slash is a folder and is created if it is
    /// missing.
    pub paths: Vec<PathBuf>,
    /// Whether its `.git` is writable too.
    #[serde(default = "is_owner")]
    pub git: bool,
}

/// The default for specifications without this field.
fn is_owner() -> bool {
    true
}

/// Which sockets with a path can be connected to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unix {
    /// All visible sockets.
    Any,
    /// These, and those in writable folders. If the kernel cannot distinguish sockets: none if this
    /// list is empty, and all otherwise.
    Only(Vec<PathBuf>),
}

/// Which system calls are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Calls {
    /// Without a box: also calls that inspect or affect other processes.
    Unboxed,
    /// In a box: calls that an ordinary program never needs.
    Boxed,
    /// In a box, for a program that creates nested boxes.
    Nesting,
}

impl ConfineSpec {
    /// Tier T2: only the launcher confines the program. `ports` are the loopback ports through
    /// which it reaches the network; `sockets` are the sockets that it needs.
    pub fn unboxed(
        policy: &Policy,
        program: &Path,
        cwd: &Path,
        ports: &[u16],
        sockets: &[PathBuf],
    ) -> Self {
        let ours = policy.launcher.iter().map(PathBuf::as_path).chain([program]);
        let read = policy.read.iter().map(PathBuf::as_path).chain(ours).map(Path::to_owned);
        let files = files(policy, cwd, read.collect());
        let ports = match &policy.net {
            Net::Open => None,
            Net::None => Some(Vec::new()),
            Net::Proxy(egress) => Some([ports, egress.forward.as_slice()].concat()),
        };
        // If the kernel cannot distinguish sockets, none can be created, so ports lead to ours.
        let (sockets, relays) = if distinguishes_sockets() {
            (sockets.to_vec(), Vec::new())
        } else {
            (Vec::new(), sockets.to_vec())
        };
        let unix = Unix::Only(sockets);
        Self { files: Some(files), ports, relays, unix, calls: Calls::Unboxed, ..plain(policy) }
    }

    /// Tier T3: the box enforces the rest.
    pub fn boxed(policy: &Policy, cwd: &Path) -> Self {
        let calls = if policy.nests { Calls::Nesting } else { Calls::Boxed };
        let lease = zone(policy, cwd).filter(|_| policy.guest);
        Self { lease, calls, ..plain(policy) }
    }
}

fn plain(policy: &Policy) -> ConfineSpec {
    ConfineSpec {
        limits: policy.limits,
        folders: Vec::new(),
        home: None,
        way_out: policy.way_out(),
        relays: Vec::new(),
        files: None,
        lease: None,
        ports: None,
        unix: Unix::Any,
        calls: Calls::Boxed,
        takes_ends: false,
        waits: false,
        user: None,
    }
}

fn files(policy: &Policy, cwd: &Path, read: Vec<PathBuf>) -> Files {
    let write: Vec<PathBuf> = policy.write.iter().chain(&policy.home).cloned().collect();
    Files { read, write, deny: policy.deny.clone(), zone: zone(policy, cwd) }
}

fn zone(policy: &Policy, cwd: &Path) -> Option<Zone> {
    let (paths, checkout) = (policy.inner.clone()?, policy.checkout(cwd).to_owned());
    Some(Zone { checkout, paths, git: !policy.guest })
}
