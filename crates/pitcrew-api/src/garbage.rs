//! Preview of `pitcrew gc`.

use pitcrew_model::{AttemptId, TaskId};
use serde::{Deserialize, Serialize};

/// The response to `GET /v1/gc`. The request itself removes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GarbagePreview {
    pub removable: Vec<RemovableCheckout>,
    pub kept: Vec<KeptCheckout>,
    /// Snapshots that are old enough to be dropped.
    #[serde(default)]
    pub droppable: Vec<DroppableSnapshots>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppableSnapshots {
    pub attempt: AttemptId,
    pub task: TaskId,
    pub count: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovableCheckout {
    pub attempt: AttemptId,
    pub task: TaskId,
    pub path: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptCheckout {
    pub attempt: AttemptId,
    pub task: TaskId,
    pub path: String,
    /// Why it is kept, and what would change that.
    pub reason: String,
}
