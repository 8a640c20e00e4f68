//! Health and version of the orchestrator.

use pitcrew_model::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of everything in this crate. Raised by any change that an older client or
/// orchestrator would misread; additions do not raise it.
pub const API_VERSION: u32 = 1;

/// The answer to `GET /v1/health`. Every version must keep the fields of this body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    pub api_version: u32,
    /// The orchestrator's own version, for people.
    pub version: String,
    pub pid: u32,
    /// The root of the repository.
    pub workspace: String,
    pub started_at: Timestamp,
    /// The sandbox tier of agents.
    pub tier: Tier,
    pub workers_live_count: u64,
    /// The variables with settings that it was started with, each with a digest of its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<BTreeMap<String, String>>,
}

/// The sandbox tiers.
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

/// The versions of the running orchestrator and the client differ.
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
    /// Only equal versions are compatible.
    pub fn check_version(&self) -> Result<(), VersionMismatch> {
        let (pid, theirs) = (self.pid, self.api_version);
        match theirs.cmp(&API_VERSION) {
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Greater => Err(VersionMismatch::OrchestratorNewer { pid, theirs }),
            std::cmp::Ordering::Less => Err(VersionMismatch::OrchestratorOlder { pid, theirs }),
        }
    }
}

/// The answer to `POST /v1/shutdown`: it has started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShuttingDown {
    pub pid: u32,
    /// Workers that end with it.
    pub workers_live_count: u64,
}
