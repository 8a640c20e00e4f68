//! How strongly programs are confined.

use alloc::string::String;
use core::{fmt, ops::Not};
use serde::{Deserialize, Serialize};

/// Which confinement is in force, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Tier {
    /// The import gate only: nothing of the operating system holds the program.
    T1,
    /// Landlock and seccomp: what is named alone can be opened, in the machine's own tree.
    T2,
    /// A box: a tree of its own with only what is named, its own processes and network.
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

/// Which confinement there is, and which is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// The strongest that can be had.
    pub available: Tier,
    /// Below this nothing starts. Absent: whatever there is, with consent where that is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_tier: Option<Tier>,
    /// Why there is no stronger one, and what to do about it.
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

/// What an agent was started with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confined {
    pub tier: Tier,
    /// The SHA-256 of the whole policy, in hexadecimal digits. The policy itself is with the attempt.
    pub policy: String,
}
