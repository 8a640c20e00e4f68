//! Agents: started behind a shim, or found there, given turns, interrupted, stopped.

mod launch;
mod ahead;
mod http_tools;
mod login;
mod live;
mod profile;
mod pump;
mod reach;
mod reattach;
mod unpack;
mod worker_doors;

pub use http_tools::{HttpTools, OpenTools, ToolsAt};
pub use launch::{AgentSetup, Given, Wanted};
pub use login::tool_folders;
pub use reattach::{Found, Held};
pub use worker_doors::{WorkerDoor, WorkerDoors};

use super::Symbols;
use crate::{Handle, confinement, log::Log};
use ahead::AllAhead;
use live::{Live, Phase};
use login::{Logins, Turn};
use pitcrew_acp::{Launch, Need, Session, SessionEvents};
use pitcrew_config::{BackendSettings, WorkspaceDirs, user_environment};
use pitcrew_model::{
    AttemptId, Backend, BuiltinOrder, EffectId, EffectResult, ErrorCause, Failure, Signal,
    StopReason, Tier, Usage, WorkerId, limits,
};
use pitcrew_process::{end_shim, until_gone};
use pitcrew_writer::{LOST, Subject};
use std::{
    collections::{BTreeSet, HashMap},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    time::Duration,
};
use tokio::{
    task::JoinSet,
    time::{Instant, timeout, timeout_at},
};
use unpack::Unpacked;

const STOP_GRACE: Duration = Duration::from_millis(limits::STOP_GRACE_MS);
const CANCEL_GRACE: Duration = Duration::from_millis(limits::CANCEL_GRACE_MS);
/// How long a shim may take to notice that nobody comes, and to end its agent.
const LEFT_OVER_MAX: Duration = Duration::from_secs(15);
/// Between two tries to get something across.
const TRY_AGAIN: Duration = Duration::from_millis(50);

pub struct Agents {
    handle: Handle,
    setup: AgentSetup,
    symbols: Symbols,
    pub logins: Arc<Logins>,
    unpacked: Unpacked,
    live: Mutex<HashMap<WorkerId, Arc<Live>>>,
    ahead: Mutex<AllAhead>,
    /// The ends of those that were stopped and have something to give back yet.
    leaving: Mutex<JoinSet<()>>,
}

impl Agents {
    pub fn new(
        handle: Handle,
        setup: AgentSetup,
        git_settings: PathBuf,
        symbols: Symbols,
        log: Arc<Log>,
    ) -> Self {
        let dirs = setup.dirs.clone();
        let logins = Logins::new(dirs, user_environment(), git_settings, log.clone());
        let logins = Arc::new(logins);
        let owner = setup.dirs.state.display().to_string();
        let policy = setup.policy.clone().owned_by(&owner);
        let unpacked = Unpacked::new(setup.dirs.user_programs(), policy, log);
        let (live, ahead, leaving) = Default::default();
        Self { handle, setup, symbols, logins, unpacked, live, ahead, leaving }
    }

    /// Where the things of the workspace are.
    pub fn dirs(&self) -> &WorkspaceDirs {
        &self.setup.dirs
    }

    /// An agent is about to be started. From now on it can be given up and stopped.
    pub fn announce(&self, worker: WorkerId, attempt: AttemptId) {
        self.live().insert(worker, Arc::new(Live::new(attempt)));
    }

    /// The attempts whose agents may be in a checkout.
    pub fn present(&self) -> BTreeSet<AttemptId> {
        let ours: Vec<AttemptId> = self.live().values().map(|it| it.attempt).collect();
        self.handle.views().board.live_attempts().chain(ours).collect()
    }

    /// A turn is about to begin. From now on it can be interrupted.
    pub fn announce_turn(&self, worker: WorkerId, prompt: EffectId) {
        if let Some(live) = self.find(worker) {
            live.turn.send_replace(Some(prompt));
        }
    }

    pub async fn start(
        self: &Arc<Self>,
        effect: EffectId,
        worker: WorkerId,
        attempt: AttemptId,
        wanted: &Wanted,
        path: &str,
    ) -> EffectResult {
        let live = self.find(worker).expect("a start is announced, and only its end takes it back");
        match self.open(&live, (effect, worker), wanted, Path::new(path)).await {
            Ok((session, events)) => {
                fail::fail_point!("agent-started", |_| std::process::abort());
                let (agent, id) = (session.agent_name().to_owned(), session.id().to_owned());
                self.hold(&live, worker, (session, events), None);
                EffectResult::AgentReady { worker, agent, session: id }
            }
            Err(failure) => {
                self.forget(worker);
                EffectResult::AttemptFailed { attempt, failure }
            }
        }
    }

    /// From now on the agent can be spoken to, and is listened to. `note` was told before.
    fn hold(
        self: &Arc<Self>,
        live: &Live,
        worker: WorkerId,
        (session, events): (Session, SessionEvents),
        note: Option<String>,
    ) {
        live.phase.send_replace(Phase::Open(session));
        let pump = pump::run(self.handle.clone(), Arc::downgrade(self), worker, events, note);
        live.keep(tokio::spawn(pump));
    }

    async fn open(
        &self,
        live: &Live,
        (effect, worker): (EffectId, WorkerId),
        wanted: &Wanted,
        path: &Path,
    ) -> Result<(Session, SessionEvents), Failure> {
        // Others may have to refresh their common login first.
        let ready = async {
            let prepared = self.taken(live.attempt).await;
            self.turn(live.attempt, &wanted.backend).await.map(|it| (prepared, it))
        };
        let (prepared, turn) = tokio::select! {
            ready = ready => ready?,
            () = live.over.notified() => return Err(self.given_up(live.attempt).await),
        };
        self.logins.make_home(live.attempt, turn).await.map_err(|it| no_home(&it))?;
        let launch = tokio::select! {
            launch = self.launch(effect, live.attempt, wanted, path) => launch?,
            () = live.over.notified() => return Err(self.given_up(live.attempt).await),
        };
        let confined = confinement::record(&launch.shim.policy, &launch.shim.dir);
        let confined = confined.map_err(|it| no_home(&it))?;
        self.handle.signal(Signal::AgentConfined { worker, confined }).await;
        tokio::select! {
            opened = Box::pin(pitcrew_acp::open_prepared(launch, prepared)) => opened.map_err(|it| it.failure),
            () = live.over.notified() => Err(self.given_up(live.attempt).await),
        }
    }

    /// What the agent is started with. Its home is there.
    async fn launch(
        &self,
        effect: EffectId,
        attempt: AttemptId,
        wanted: &Wanted,
        path: &Path,
    ) -> Result<Launch, Failure> {
        self.setup.doors.open(attempt).map_err(|error| {
            let exit = format!("its socket could not be opened: {error}");
            Failure::AgentExited { exit, output: String::new() }
        })?;
        let given = match self.setup.of(&wanted.backend) {
            Some((name, backend)) => self.given(attempt, name, backend).await,
            None => Given::default(),
        };
        if self.setup.policy.tier > Tier::T1 {
            self.setup.network.found().await;
        }
        let mut launch = self.setup.launch(effect, attempt, wanted, path, given)?;
        launch.reach = self.reach(&wanted.backend, path, &wanted.reach);
        self.setup.offer_http(&mut launch, attempt, &wanted.backend).await;
        Ok(launch)
    }

    /// What was made for an agent, and for all of its kind.
    async fn given(&self, attempt: AttemptId, name: &str, backend: &BackendSettings) -> Given {
        let mut env = self.logins.variables(attempt, backend);
        // Where nothing holds agents, one of them could write what all others run.
        let unpacked = match self.setup.policy.tier {
            Tier::T1 => None,
            Tier::T2 | Tier::T3 => self.unpacked.variable(name, backend, &user_environment()).await,
        };
        let read = unpacked.iter().map(|it| it.1.clone()).collect();
        env.extend(unpacked.map(|(variable, place)| (variable, place.display().to_string())));
        Given { env, read }
    }

    async fn given_up(&self, attempt: AttemptId) -> Failure {
        // The next order may rely on that nothing of it runs any more.
        self.end_left_over(attempt).await;
        Failure::Cancelled { by: "orchestrator".into() }
    }

    async fn turn(&self, attempt: AttemptId, backend: &Backend) -> Result<Option<Turn>, Failure> {
        match self.setup.of(backend) {
            Some((name, backend)) => Ok(self.logins.turn(attempt, name, backend).await?),
            None => Ok(None),
        }
    }

    /// A start that is under way for this attempt is of no use any more.
    pub fn give_up(&self, attempt: AttemptId) {
        self.expect_nobody(attempt);
        for live in self.live().values().filter(|it| it.attempt == attempt) {
            live.over.notify_one();
        }
    }

    pub async fn prompt(
        &self,
        effect: EffectId,
        worker: WorkerId,
        text: &str,
        order: Option<&BuiltinOrder>,
    ) -> EffectResult {
        let Some((live, session)) = self.session(worker) else {
            let stop =
                StopReason::Error { cause: ErrorCause::Other, message: "the agent is gone".into() };
            let (usage, last_words) = (Usage::default(), String::new());
            return EffectResult::TurnEnded { worker, stop, usage, last_words };
        };
        let ended = match order {
            Some(order) => session.prompt_with(effect, text, order).await,
            None => session.prompt(effect, text).await,
        };
        match ended {
            Ok(end) => {
                self.tell_needs(effect, worker, end.needs).await;
                let (stop, usage, last_words) = (end.stop, end.usage, end.last_words);
                EffectResult::TurnEnded { worker, stop, usage, last_words }
            }
            Err(error) => {
                EffectResult::AttemptFailed { attempt: live.attempt, failure: error.failure() }
            }
        }
    }

    /// Before the end of the turn is told: what it asks for decides what comes next. Named after the
    /// turn, so that whoever tells it again tells the same.
    async fn tell_needs(&self, turn: EffectId, worker: WorkerId, needs: Vec<Need>) {
        for (index, Need { symbol, from }) in needs.into_iter().enumerate() {
            let (nonce, context) = (format!("need-{}-{index}", turn.0), from.unwrap_or_default());
            self.handle.signal(Signal::NeedLine { worker, nonce, symbol, context }).await;
        }
    }

    /// The end of a turn is told, so what follows it may be told too.
    pub fn turn_told(&self, worker: WorkerId) {
        if let Some(live) = self.find(worker) {
            live.turn.send_replace(None);
        }
    }

    pub async fn answer_permission(
        &self,
        worker: WorkerId,
        call: &str,
        option: Option<&str>,
    ) -> EffectResult {
        if let Some((_, session)) = self.session(worker) {
            session.answer_permission(call, option).await;
        }
        EffectResult::PermissionAnswered { worker }
    }

    /// Asks for the end of the turn; an agent that does not care is ended instead. A turn that was
    /// ordered after the interrupt is another one, and none of its business.
    pub async fn interrupt(&self, effect: EffectId, worker: WorkerId) -> EffectResult {
        if let Some((live, session)) = self.session(worker) {
            let mut turn = live.turn.subscribe();
            let is_over = |turn: &Option<EffectId>| turn.is_none_or(|it| it > effect);
            let until = Instant::now() + CANCEL_GRACE;
            // The turn may be announced and its prompt not be sent yet, so it is asked again; the
            // shim passes it on once.
            while !is_over(&turn.borrow_and_update()) {
                if Instant::now() >= until {
                    session.stop(STOP_GRACE).await;
                    break;
                }
                timeout_at(until, session.cancel_before(effect)).await.ok();
                timeout(TRY_AGAIN, turn.wait_for(is_over)).await.ok();
            }
        }
        EffectResult::TurnInterrupted { worker }
    }

    pub async fn stop(&self, worker: WorkerId) -> EffectResult {
        let exit = match self.find(worker) {
            None => LOST,
            Some(live) => {
                live.stopping.store(true, Ordering::SeqCst);
                live.over.notify_one();
                let exit = match live.started().await {
                    // Its home is removed with it.
                    Some(session) if self.logins.is_watched(live.attempt) => {
                        session.discard(STOP_GRACE).await
                    }
                    Some(session) => session.dismiss(STOP_GRACE).await,
                    None => LOST,
                };
                self.let_leave(live.attempt);
                exit
            }
        };
        self.forget(worker);
        EffectResult::AgentStopped { worker, exit }
    }

    /// Nothing of an agent runs any more. What is left of it is waited for when we end.
    fn let_leave(&self, attempt: AttemptId) {
        let dir = self.setup.dirs.attempt(attempt);
        let mut leaving = self.leaving();
        while leaving.try_join_next().is_some() {}
        leaving.spawn(async move { until_gone(&dir).await });
    }

    /// Whose agent this is, while we know it.
    pub fn attempt(&self, worker: WorkerId) -> Option<AttemptId> {
        self.find(worker).map(|it| it.attempt)
    }

    /// Ends every agent, for a shutdown.
    pub async fn stop_all(&self) {
        self.unpacked.end();
        let workers: Vec<WorkerId> = self.live().keys().copied().collect();
        let stopped = futures::future::join_all(workers.into_iter().map(|it| self.stop(it)));
        futures::join!(stopped, self.end_ahead());
        let leaving = std::mem::take(&mut *self.leaving());
        leaving.join_all().await;
    }

    /// Ends an agent that has lost us: one of an earlier orchestrator, or one whose start was given
    /// up.
    pub async fn end_left_over(&self, attempt: AttemptId) {
        end_shim(&self.setup.dirs.attempt(attempt), STOP_GRACE, LEFT_OVER_MAX).await;
    }

    /// Removes the sockets of workers that are gone.
    pub fn remove_left_over(&self, live: &BTreeSet<AttemptId>) {
        self.setup.doors.remove_left_over(live);
    }

    /// What an agent was started with holds its token and its keys; nobody needs it any more.
    pub fn forget_secrets(&self, attempt: AttemptId) {
        pitcrew_process::forget_spec(&self.setup.dirs.attempt(attempt));
        self.setup.doors.close(attempt);
        self.logins.end(attempt);
    }

    /// A start that broke leaves nothing that others could wait for, and no agent.
    pub async fn lose(&self, subject: Subject) {
        if let Subject::Starting(attempt, worker) = subject {
            self.forget(worker);
            self.end_left_over(attempt).await;
        }
    }

    fn session(&self, worker: WorkerId) -> Option<(Arc<Live>, Session)> {
        let live = self.find(worker)?;
        let session = live.session()?;
        Some((live, session))
    }

    fn find(&self, worker: WorkerId) -> Option<Arc<Live>> {
        self.live().get(&worker).cloned()
    }

    fn forget(&self, worker: WorkerId) {
        let live = self.live().remove(&worker);
        if let Some(live) = live {
            live.phase.send_replace(Phase::Gone);
            self.setup.doors.close(live.attempt);
        }
    }

    fn leaving(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self) -> MutexGuard<'_, HashMap<WorkerId, Arc<Live>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Trouble of ours, which another attempt may not meet.
fn no_home(error: &io::Error) -> Failure {
    let exit = format!("no private home could be made for it: {error}");
    Failure::AgentExited { exit, output: String::new() }
}
