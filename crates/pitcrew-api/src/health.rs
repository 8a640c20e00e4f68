//! Who answers, and whether we speak the same language.

use pitcrew_model::Timestamp;
use serde::{Deserialize, Serialize};

/// The version of everything in this crate. Raised by any change that an older client or
/// orchestrator would read wrongly; what is only added does not raise it.
pub const API_VERSION: u32 = 1;

/// The answer to `GET /v1/health`, and the one body whose fields every version must keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    pub api_version: u32,
    /// The orchestrator's own version, for people.
    pub version: String,
    pub pid: u32,
    /// The root of the repository.
    pub workspace: String,
    pub started_at: Timestamp,
    /// The confinement that agents get.
    pub tier: Tier,
    pub workers_live_count: u64,
}

/// Which confinement is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// The import gate only.
    T1,
    T2,
    T3,
    /// A tier of a newer orchestrator.
    #[serde(other)]
    Unknown,
}

/// The orchestrator that runs and the client cannot understand each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionMismatch {
    #[error(
        "orchestrator {pid} speaks API version {theirs}, newer than our {API_VERSION}: use the newer `pitcrew`"
    )]
    OrchestratorNewer { pid: u32, theirs: u32 },
    #[error(
        "orchestrator {pid} speaks API version {theirs}, older than our {API_VERSION}: stop it with the `pitcrew` that started it, or wait until it ends by itself"
    )]
    OrchestratorOlder { pid: u32, theirs: u32 },
}

impl Health {
    /// Versions are understood only by their equals.
    pub fn understands_us(&self) -> Result<(), VersionMismatch> {
        let (pid, theirs) = (self.pid, self.api_version);
        match theirs.cmp(&API_VERSION) {
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Greater => Err(VersionMismatch::OrchestratorNewer { pid, theirs }),
            std::cmp::Ordering::Less => Err(VersionMismatch::OrchestratorOlder { pid, theirs }),
        }
    }
}

/// The answer to `POST /v1/shutdown`: it has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShuttingDown {
    pub pid: u32,
    /// Workers that are ended with it.
    pub workers_live_count: u64,
}
