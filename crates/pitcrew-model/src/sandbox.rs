//! Sandbox tiers.

use alloc::string::String;
use core::fmt;
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
    /// The weakest acceptable tier. Absent: any, but T1 only if a person agrees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_tier: Option<Tier>,
    /// Why no stronger tier is available, and how to get one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<String>,
    /// The user's settings agree to T1.
    #[serde(default)]
    pub consent: bool,
}

/// The sandbox of a started agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confined {
    pub tier: Tier,
    /// The SHA-256 of the policy, in hexadecimal. The policy itself is stored with the attempt.
    pub policy: String,
}
