//! Sandbox tiers.

use alloc::string::String;
use core::{fmt, ops::Not};
use serde::{Deserialize, Serialize};

/// The sandbox tiers, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Tier {
    /// Only the import gate. The operating system does not confine the program.
    T1,
    /// Landlock and seccomp: only listed paths can be opened, in the machine's own file tree.
    T2,
    /// A box: a file tree with only the listed paths, and its own process and network namespaces.
    T3,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::T1 => "T1",
            Self::T2 => "T2",
            Self::T3 => "T3",
        })
    }
}

/// The available and the required tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// The strongest available tier.
    pub available: Tier,
    /// The weakest acceptable tier. Absent: any, if a person accepts it where that is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_tier: Option<Tier>,
    /// Why no stronger tier is available, and how to get one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<String>,
    /// The user's own settings accept the available tier.
    #[serde(default)]
    pub consent: bool,
    /// Programs run as root: Landlock leaves root the modes and times of all of its files.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub as_root: bool,
}

impl Sandbox {
    /// Whether nothing starts before a person accepts the available tier.
    pub fn needs_consent(&self) -> bool {
        match self.available {
            Tier::T1 => !self.consent,
            Tier::T2 => self.as_root && !self.consent,
            Tier::T3 => false,
        }
    }
}

/// The sandbox of a started agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confined {
    pub tier: Tier,
    /// The SHA-256 of the policy, in hexadecimal. The policy itself is stored with the attempt.
    pub policy: String,
}
