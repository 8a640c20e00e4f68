//! What the launcher shall take away, as it stands on its command line.

use super::landlock::tells_sockets_apart;
use crate::{Limits, Net, Policy, WayOut};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What `pitcrew confine` applies before it becomes the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfineSpec {
    pub limits: Limits,
    /// Folders of ours for the program alone, made where they are missing.
    pub folders: Vec<PathBuf>,
    /// What of the user's home is to be found in the private one.
    pub home: Option<Home>,
    /// What leads to the network from within a box.
    pub way_out: Option<WayOut>,
    /// Sockets that the program is led to by a port of the loopback. Variables that name such a
    /// socket name the port instead.
    pub relays: Vec<PathBuf>,
    /// Absent: whoever started us has seen to the files.
    pub files: Option<Files>,
    /// What alone of a checkout in the box can be written.
    #[serde(default)]
    pub lease: Option<Zone>,
    /// The TCP ports that may be connected to. Absent: sockets are not limited here.
    pub ports: Option<Vec<u16>>,
    pub unix: Unix,
    pub calls: Calls,
    /// The program's input and output are to be taken out of our standard input.
    #[serde(default)]
    pub takes_ends: bool,
    /// The program begins when there is a byte in our standard input, which is not for it.
    #[serde(default)]
    pub waits: bool,
    /// Whom to become, where we are root in the box.
    #[serde(default)]
    pub user: Option<BoxUser>,
}

/// The unprivileged user of a box that root started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxUser {
    /// Of the user and of its group.
    pub id: u32,
    /// Folders of the box alone, which are to be the user's.
    pub owned: Vec<PathBuf>,
    /// `/proc` is still to be mounted: a box within this one can mount its own only where nothing
    /// covers a part of it.
    pub mounts_proc: bool,
}

/// A private home, in which links show what the user's own has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Home {
    pub private: PathBuf,
    pub user: PathBuf,
    /// Below the user's.
    pub shown: Vec<PathBuf>,
}

/// Which files can be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    pub deny: Vec<PathBuf>,
    /// Absent: all of what `write` names.
    pub zone: Option<Zone>,
}

/// The part of a checkout that alone can be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zone {
    pub checkout: PathBuf,
    /// Within the checkout. One that ends with a slash is a folder and is made where it is missing.
    pub paths: Vec<PathBuf>,
    /// Its `.git` as well.
    #[serde(default = "is_owner")]
    pub git: bool,
}

/// What was meant before it could be said.
fn is_owner() -> bool {
    true
}

/// Which sockets with a path can be connected to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unix {
    /// All that can be seen.
    Any,
    /// These, and those in what can be written. Where the kernel cannot tell sockets apart, none
    /// when none is named, else all.
    Only(Vec<PathBuf>),
}

/// Which calls of the kernel are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Calls {
    /// There is no box around the program: also what looks into other processes.
    Unboxed,
    /// In a box: what an ordinary program never needs.
    Boxed,
    /// In a box, around a program that makes boxes of its own.
    Nesting,
}

impl ConfineSpec {
    /// Tier T2: nothing but this holds the program. `ports` are those of the machine's own loopback
    /// over which the policy's network is reached, `sockets` those that the program needs.
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
        // A kernel that cannot tell sockets apart makes none of them: then ports lead to ours.
        let (sockets, relays) = if tells_sockets_apart() {
            (sockets.to_vec(), Vec::new())
        } else {
            (Vec::new(), sockets.to_vec())
        };
        let unix = Unix::Only(sockets);
        Self { files: Some(files), ports, relays, unix, calls: Calls::Unboxed, ..plain(policy) }
    }

    /// Within a box of tier T3, which has seen to the rest.
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
