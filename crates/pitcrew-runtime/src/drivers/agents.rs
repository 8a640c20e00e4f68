//! Agents: started behind a shim or reattached, prompted, interrupted, stopped.

mod launch;
mod ahead;
mod http_tools;
mod login;
mod live;
mod outage;
mod profile;
mod pump;
mod reach;
mod reattach;
mod unpack;
mod worker_sockets;

pub use http_tools::{HttpTools, OpenTools, ToolsAt};
pub use launch::{AgentResources, AgentSetup, SpawnRequest};
pub use login::tool_folders;
pub use reattach::{PreviousAgent, ReattachOutcome};
pub use worker_sockets::{WorkerSocket, WorkerSockets};

use super::Symbols;
use crate::{Handle, confinement, log::Log};
use ahead::AllAhead;
use live::{Live, Phase};
use login::{LoginPermit, Logins};
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
/// How long a shim may take to notice the expired lease and end its agent.
const LEFT_OVER_MAX: Duration = Duration::from_secs(15);
/// The pause between two attempts to deliver something.
const TRY_AGAIN: Duration = Duration::from_millis(50);

pub struct Agents {
    handle: Handle,
    setup: AgentSetup,
    symbols: Symbols,
    pub logins: Arc<Logins>,
    unpacked: Unpacked,
    live: Mutex<HashMap<WorkerId, Arc<Live>>>,
    ahead: Mutex<AllAhead>,
    /// Cleanup of stopped agents that have not exited yet.
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

    /// The folders of the workspace.
    pub fn dirs(&self) -> &WorkspaceDirs {
        &self.setup.dirs
    }

    /// Registers an agent that is about to start. It can be cancelled and stopped from now on.
    pub fn announce(&self, worker: WorkerId, attempt: AttemptId) {
        self.live().insert(worker, Arc::new(Live::new(attempt)));
    }

    /// The attempts whose agents may be in a checkout.
    pub fn present(&self) -> BTreeSet<AttemptId> {
        let ours: Vec<AttemptId> = self.live().values().map(|it| it.attempt).collect();
        self.handle.views().board.live_attempts().chain(ours).collect()
    }

    /// Registers a turn that is about to start. It can be interrupted from now on.
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
        wanted: &SpawnRequest,
        path: &str,
    ) -> EffectResult {
        let live = self.find(worker).expect("a start is announced, and only its end takes it back");
        live.provider.set(self.setup.provider_hosts(&wanted.backend)).ok();
        match self.open(&live, (effect, worker), wanted, Path::new(path)).await {
            Ok((session, events)) => {
                fail::fail_point!("agent-started", |_| std::process::abort());
                let (agent, id) = (session.agent_name().to_owned(), session.id().to_owned());
                self.hold(&live, worker, (session, events), None);
                EffectResult::AgentReady { worker, agent, session: id }
            }
            Err(failure) => {
                let failure = self.explained(&live, failure);
                self.forget(worker);
                EffectResult::AttemptFailed { attempt, failure }
            }
        }
    }

    /// From now on the agent can be prompted and its events are handled. `note` is the last one
    /// that was already reported.
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
        wanted: &SpawnRequest,
        path: &Path,
    ) -> Result<(Session, SessionEvents), Failure> {
        // Other agents may have to refresh the shared login first.
        let ready = async {
            let prepared = self.taken(live.attempt).await;
            self.acquire_login(live.attempt, &wanted.backend).await.map(|it| (prepared, it))
        };
        let (prepared, permit) = tokio::select! {
            ready = ready => ready?,
            () = live.over.notified() => return Err(self.given_up(live.attempt).await),
        };
        self.logins.make_home(live.attempt, permit).await.map_err(|it| no_home(&it))?;
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

    /// Everything needed to start the agent. Its home exists.
    async fn launch(
        &self,
        effect: EffectId,
        attempt: AttemptId,
        wanted: &SpawnRequest,
        path: &Path,
    ) -> Result<Launch, Failure> {
        self.setup.sockets.open(attempt).map_err(|error| {
            let exit = format!("failed to open its socket: {error}");
            Failure::AgentExited { exit, output: String::new() }
        })?;
        let given = match self.setup.of(&wanted.backend) {
            Some((name, backend)) => self.resources(attempt, name, backend).await,
            None => AgentResources::default(),
        };
        if self.setup.policy.tier > Tier::T1 {
            self.setup.network.found().await;
        }
        let mut launch = self.setup.launch(effect, attempt, wanted, path, given)?;
        launch.reach = self.reach(&wanted.backend, path, &wanted.reach);
        self.setup.offer_http(&mut launch, attempt, &wanted.backend).await;
        Ok(launch)
    }

    /// The resources of an agent, and those shared by all of its backend.
    async fn resources(
        &self,
        attempt: AttemptId,
        name: &str,
        backend: &BackendSettings,
    ) -> AgentResources {
        let mut env = self.logins.variables(attempt, backend);
        // Without a sandbox one agent could write programs that all others run.
        let unpacked = match self.setup.policy.tier {
            Tier::T1 => None,
            Tier::T2 | Tier::T3 => self.unpacked.variable(name, backend, &user_environment()).await,
        };
        let read = unpacked.iter().map(|it| it.1.clone()).collect();
        env.extend(unpacked.map(|(variable, place)| (variable, place.display().to_string())));
        AgentResources { env, read }
    }

    async fn given_up(&self, attempt: AttemptId) -> Failure {
        // The next effect may rely on the agent having ended.
        self.end_left_over(attempt).await;
        Failure::Cancelled { by: "orchestrator".into() }
    }

    async fn acquire_login(
        &self,
        attempt: AttemptId,
        backend: &Backend,
    ) -> Result<Option<LoginPermit>, Failure> {
        match self.setup.of(backend) {
            Some((name, backend)) => Ok(self.logins.acquire(attempt, name, backend).await?),
            None => Ok(None),
        }
    }

    /// Cancels a start of this attempt that is in progress.
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
            let stop = StopReason::Error {
                cause: ErrorCause::Other,
                message: "the agent has exited".into(),
            };
            let (usage, last_words) = (Usage::default(), String::new());
            return EffectResult::TurnEnded { worker, stop, usage, last_words };
        };
        let ended = match order {
            Some(order) => session.prompt_with(effect, text, order).await,
            None => session.prompt(effect, text).await,
        };
        match ended {
            Ok(end) => {
                let end = self.explained_end(&live, end);
                self.report_needs(effect, worker, end.needs).await;
                let (stop, usage, last_words) = (end.stop, end.usage, end.last_words);
                EffectResult::TurnEnded { worker, stop, usage, last_words }
            }
            Err(error) => {
                let failure = self.explained(&live, error.failure());
                EffectResult::AttemptFailed { attempt: live.attempt, failure }
            }
        }
    }

    /// Runs before the end of the turn is reported, because the questions decide what comes next.
    /// They are named after the turn, so that a repeated report is the same.
    async fn report_needs(&self, turn: EffectId, worker: WorkerId, needs: Vec<Need>) {
        for (index, Need { symbol, from }) in needs.into_iter().enumerate() {
            let (nonce, context) = (format!("need-{}-{index}", turn.0), from.unwrap_or_default());
            self.handle.signal(Signal::NeedLine { worker, nonce, symbol, context }).await;
        }
    }

    /// The end of a turn was reported, so later events may be reported too.
    pub fn turn_reported(&self, worker: WorkerId) {
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

    /// Asks the agent to end the turn; one that does not react is killed. A turn that started after
    /// the interrupt is not affected.
    pub async fn interrupt(&self, effect: EffectId, worker: WorkerId) -> EffectResult {
        if let Some((live, session)) = self.session(worker) {
            let mut turn = live.turn.subscribe();
            let is_over = |turn: &Option<EffectId>| turn.is_none_or(|it| it > effect);
            let until = Instant::now() + CANCEL_GRACE;
            // The turn may be registered before its prompt is sent, so this is repeated; the shim
            // forwards it once.
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

    /// The agent has ended. Its remaining cleanup is awaited at shutdown.
    fn let_leave(&self, attempt: AttemptId) {
        let dir = self.setup.dirs.attempt(attempt);
        let mut leaving = self.leaving();
        while leaving.try_join_next().is_some() {}
        leaving.spawn(async move { until_gone(&dir).await });
    }

    /// The attempt of a worker, while it is known.
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

    /// Ends an agent without an owner: one of an earlier orchestrator, or one whose start was
    /// cancelled.
    pub async fn end_left_over(&self, attempt: AttemptId) {
        end_shim(&self.setup.dirs.attempt(attempt), STOP_GRACE, LEFT_OVER_MAX).await;
    }

    /// Removes the sockets of workers that are gone.
    pub fn remove_left_over(&self, live: &BTreeSet<AttemptId>) {
        self.setup.sockets.remove_left_over(live);
    }

    /// Deletes an agent's start files with its token and keys; they are no longer needed.
    pub fn forget_secrets(&self, attempt: AttemptId) {
        pitcrew_process::forget_spec(&self.setup.dirs.attempt(attempt));
        self.setup.sockets.close(attempt);
        self.logins.end(attempt);
    }

    /// A panicked start must leave no agent, and no state that others would wait for.
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
            self.setup.sockets.close(live.attempt);
        }
    }

    fn leaving(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self) -> MutexGuard<'_, HashMap<WorkerId, Arc<Live>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A problem on our side, which another attempt may not have.
fn no_home(error: &io::Error) -> Failure {
    let exit = format!("failed to create its private home: {error}");
    Failure::AgentExited { exit, output: String::new() }
}
