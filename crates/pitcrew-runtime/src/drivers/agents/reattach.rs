//! Agents that an earlier orchestrator started: found where it left them.

use super::{Agents, live::Live, reach};
use pitcrew_kernel::WorkerAccess;
use pitcrew_model::{AttemptId, EffectId, WorkerId};
use pitcrew_process::Presence;
use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

/// How long a shim may take to answer.
const PATIENCE: Duration = Duration::from_secs(15);

/// An agent that an earlier orchestrator had.
#[derive(Clone, Debug)]
pub struct Held {
    pub worker: WorkerId,
    pub attempt: AttemptId,
    /// Its checkout.
    pub path: String,
    /// The name of its backend.
    pub backend: String,
    pub reach: WorkerAccess,
    /// The turn whose end was not told.
    pub prompt: Option<EffectId>,
    /// What was last told of what it does.
    pub note: Option<String>,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It works on, and has worked alone for so long.
    Alive {
        away: Duration,
    },
    /// It ended by itself. What it said before is heard like anything else.
    Ended,
    Lost,
}

impl Agents {
    /// Goes on with an agent where the last orchestrator stopped. What is lost does not run any
    /// more when this returns.
    pub async fn reattach(self: &Arc<Self>, held: &Held) -> Found {
        let began = Instant::now();
        // Where that fails its tools do, and it is told so.
        self.setup.doors.open(held.attempt).ok();
        let dir = self.setup.dirs.attempt(held.attempt);
        let path = Path::new(&held.path);
        let profile = self.setup.profile(&held.backend);
        let reach = self.reach(&reach::named(&held.backend), path, &held.reach);
        let back = pitcrew_acp::attach(&dir, path, profile, reach, PATIENCE).await;
        let Ok(back) = back else {
            self.end_left_over(held.attempt).await;
            return Found::Lost;
        };
        let live = Arc::new(Live::new(held.attempt));
        // The orders come later, and what the agent says now must not overtake the turn's end.
        live.turn.send_replace(held.prompt);
        self.live().insert(held.worker, live.clone());
        self.hold(&live, held.worker, (back.session, back.events), held.note.clone());
        match back.presence {
            // Reading what was missed takes time too.
            Presence::Alive { away, .. } => Found::Alive { away: away + began.elapsed() },
            Presence::Ended => Found::Ended,
            Presence::Lost => Found::Lost,
        }
    }
}
