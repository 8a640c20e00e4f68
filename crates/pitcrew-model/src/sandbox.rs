//! How strongly programs are confined.

use core::fmt;
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
