//! Reattaches to the agents of an earlier orchestrator.

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

/// An agent of an earlier orchestrator.
#[derive(Clone, Debug)]
pub struct PreviousAgent {
    pub worker: WorkerId,
    pub attempt: AttemptId,
    /// Its checkout.
    pub path: String,
    /// The name of its backend.
    pub backend: String,
    pub reach: WorkerAccess,
    /// The turn whose end was not reported.
    pub prompt: Option<EffectId>,
    /// The last activity note.
    pub note: Option<String>,
}

/// The result of reattaching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReattachOutcome {
    /// The agent is running, and ran without an orchestrator for this long.
    Alive {
        away: Duration,
    },
    /// The agent exited by itself. Its earlier output is processed as usual.
    Ended,
    Lost,
}

impl Agents {
    /// Reattaches to an agent. If it is lost, none of it runs when this returns.
    pub async fn reattach(self: &Arc<Self>, held: &PreviousAgent) -> ReattachOutcome {
        let began = Instant::now();
        // If this fails, the agent's tool calls fail with an error.
        self.setup.sockets.open(held.attempt).ok();
        let dir = self.setup.dirs.attempt(held.attempt);
        let path = Path::new(&held.path);
        let profile = self.setup.profile(&held.backend);
        let reach = self.reach(&reach::named(&held.backend), path, &held.reach);
        let back = pitcrew_acp::attach(&dir, path, profile, reach, PATIENCE).await;
        let Ok(back) = back else {
            self.end_left_over(held.attempt).await;
            return ReattachOutcome::Lost;
        };
        let live = Arc::new(Live::new(held.attempt));
        live.provider.set(self.setup.provider_hosts(&reach::named(&held.backend))).ok();
        // Effects are issued later. The agent's current output must not be reported before the end
        // of the turn.
        live.turn.send_replace(held.prompt);
        self.live().insert(held.worker, live.clone());
        self.hold(&live, held.worker, (back.session, back.events), held.note.clone());
        match back.presence {
            // Reading the missed traffic takes time too.
            Presence::Alive { away, .. } => ReattachOutcome::Alive { away: away + began.elapsed() },
            Presence::Ended => ReattachOutcome::Ended,
            Presence::Lost => ReattachOutcome::Lost,
        }
    }
}
