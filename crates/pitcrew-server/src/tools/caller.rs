//! The caller of a tool, and its rights.

use crate::serve::Doors;
use pitcrew_mcp::{Role, Spawning};
use pitcrew_model::{Actor, AttemptId, WorkerId};
use pitcrew_runtime::Standing;

/// Identified by its token, never by the content of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    Worker {
        attempt: AttemptId,
        worker: WorkerId,
    },
    /// The user's own agent.
    Client,
}

impl Caller {
    pub fn actor(self) -> Actor {
        match self {
            Self::Worker { worker, .. } => Actor::Worker(worker),
            Self::Client => Actor::Client,
        }
    }

    pub async fn role(self, doors: &Doors) -> Role {
        let refused = Spawning::Refused;
        let Self::Worker { attempt, .. } = self else {
            let may_spawn = doors.orchestrator.handle().may_spawn_standalone().await;
            return Role::Client { spawning: if may_spawn { Spawning::Allowed } else { refused } };
        };
        match doors.orchestrator.handle().standing(attempt).await {
            None => Role::Worker { spawning: refused },
            Some(Standing { is_subtask, may_spawn, .. }) => {
                let spawning = if may_spawn { Spawning::Allowed } else { refused };
                if is_subtask { Role::Subtask { spawning } } else { Role::Worker { spawning } }
            }
        }
    }
}
