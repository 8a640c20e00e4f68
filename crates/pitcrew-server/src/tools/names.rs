//! Resolves the names of plans and tasks in a call.

use super::{Caller, Calling, Refused};
use crate::serve::now;
use pitcrew_mcp::Names;
use pitcrew_model::{PlanId, Rejection, TaskId};
use pitcrew_views::{BoardView, Scope};

/// The names that the caller may know.
pub struct VisibleNames(BoardView);

impl VisibleNames {
    pub async fn by(calling: &Calling<'_>) -> Result<Self, Refused> {
        let handle = calling.doors.orchestrator.handle();
        let scope = match calling.caller {
            Caller::Client => Scope::All,
            Caller::Worker { attempt, .. } => {
                let standing = handle.standing(attempt).await.ok_or(Rejection::ShuttingDown)?;
                Scope::Only(standing.plan)
            }
        };
        Ok(Self(handle.views().board.view(now(), scope)))
    }

    fn has_ended(&self, plan: PlanId) -> bool {
        self.0.plan(plan).is_none_or(|it| it.status.has_ended())
    }
}

impl Names for VisibleNames {
    fn tasks(&self, name: &str) -> Vec<TaskId> {
        let named = self.0.tasks.iter().filter(|it| it.key == name);
        current(named.map(|it| (it.id, self.has_ended(it.plan))))
    }

    fn plans(&self, name: &str) -> Vec<PlanId> {
        let named = self.0.plans.iter().filter(|it| it.name == name);
        current(named.map(|it| (it.id, it.status.has_ended())))
    }
}

/// Prefers items that have not ended.
fn current<I: Copy>(named: impl Iterator<Item = (I, bool)>) -> Vec<I> {
    let named: Vec<(I, bool)> = named.collect();
    let has_open = named.iter().any(|it| !it.1);
    named.iter().filter(|it| !(has_open && it.1)).map(|it| it.0).collect()
}
