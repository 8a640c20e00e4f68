//! Who calls, and what that allows.

use crate::serve::Doors;
use pitcrew_mcp::{Role, Spawning};
use pitcrew_model::{Actor, AttemptId, WorkerId};

/// Known by its token, never by what it says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    Worker {
        attempt: AttemptId,
        worker: WorkerId,
    },
    /// A person's own agent.
    Client,
}

impl Caller {
    pub fn actor(self) -> Actor {
        match self {
            Self::Worker { worker, .. } => Actor::Worker(worker),
            Self::Client => Actor::Client,
        }
    }

    pub fn role(self, _doors: &Doors) -> Role {
        let spawning = Spawning::Refused;
        match self {
            Self::Worker { .. } => Role::Worker { spawning },
            Self::Client => Role::Client { spawning },
        }
    }
}
