//! Carries out the kernel's effects and reports the results. Decides nothing.
//!
//! Every effect ends in exactly one signal with its id, even if the driver panics. An effect that
//! is reissued after a crash finds the results of the first run: drivers are idempotent. At a
//! shutdown everything is cancelled without a report, and done again after the next start.

mod running;
mod agents;
mod egress;
mod vault;
mod symbols;
mod oracle;

use crate::{Handle, log::Log, panic_message};
use futures::FutureExt;
use oracle::Consult;
use pitcrew_git::PullWork;
use pitcrew_kernel::WorkerAccess;
use pitcrew_model::{AttemptId, Effect, EffectId, EffectResult, Reads, Signal, WorkerId};
use pitcrew_process::Cancel;
use pitcrew_writer::{Order, Scope, Subject};
use running::Running;
use std::{panic::AssertUnwindSafe, path::Path, sync::Arc, time::Duration};
use tokio::sync::{mpsc, oneshot};

pub use agents::{
    AgentResources, AgentSetup, Agents, HttpTools, OpenTools, PreviousAgent, ReattachOutcome,
    SpawnRequest, ToolsAt, WorkerSocket, WorkerSockets, tool_folders,
};
pub use egress::watch as watch_egress;
pub use symbols::{SymbolQuestion, Symbols};
pub use vault::VaultDriver;

/// How long a shutdown waits for agents and programs to exit.
const SHUTDOWN_MAX: Duration = Duration::from_secs(8);

/// Dispatches every effect to its driver.
pub struct Drivers {
    handle: Handle,
    pub agents: Arc<Agents>,
    vault: Arc<VaultDriver>,
    symbols: Symbols,
    log: Arc<Log>,
}

impl Drivers {
    pub fn new(
        handle: Handle,
        setup: AgentSetup,
        vault: VaultDriver,
        symbols: Symbols,
        log: Arc<Log>,
    ) -> Self {
        let settings = vault.git_settings();
        let agents = Agents::new(handle.clone(), setup, settings, symbols.clone(), log.clone());
        let agents = Arc::new(agents);
        Self { handle, agents, vault: Arc::new(vault), symbols, log }
    }

    /// Carries out effects until it is stopped, then ends every agent and program.
    ///
    /// The writer must have stopped before: a cancelled effect must not be recorded as a result.
    pub async fn run(
        self,
        mut orders: mpsc::UnboundedReceiver<Order>,
        mut stop: oneshot::Receiver<()>,
    ) {
        let mut running = Running::default();
        loop {
            tokio::select! {
                biased;
                _ = &mut stop => break,
                order = orders.recv() => match order {
                    // The writer is gone, and with it everything that could report it.
                    None => break,
                    Some(Order::Over(scope)) => {
                        running.cut(scope);
                        if let Scope::Attempt(attempt) = scope {
                            self.agents.give_up(attempt);
                        }
                    }
                    Some(Order::Do(id, effect)) => self.begin(&mut running, id, *effect),
                },
                () = running.next_end() => {}
            }
        }
        running.cut_all();
        let ended = async {
            self.agents.stop_all().await;
            // Copies refreshed logins back now, because the next orchestrator may start much later.
            self.agents.logins.round().await;
            running.join().await;
            self.vault.end_ahead().await;
        };
        if tokio::time::timeout(SHUTDOWN_MAX, ended).await.is_err() {
            self.log.line("Orchestrator", "some agents or programs did not exit in time");
        }
    }

    /// State that later effects rely on is updated here; the drivers themselves run concurrently.
    fn begin(&self, running: &mut Running, id: EffectId, effect: Effect) {
        if let Effect::StartAgent { worker, attempt, .. } = &effect {
            self.agents.announce(*worker, *attempt);
        } else if let Effect::Prompt { worker, .. } = &effect {
            self.agents.announce_turn(*worker, id);
        } else if let Effect::CollectWork { attempt, .. } | Effect::SaveWork { attempt, .. } =
            &effect
        {
            // Work is saved after its agent has ended.
            self.agents.forget_secrets(*attempt);
        }
        let (scope, cancel) = (Subject::of(&effect).may_be_cut_with(), Cancel::default());
        running.begin(id, scope, cancel.clone(), self.carry_out(id, effect, cancel));
    }

    fn carry_out(
        &self,
        id: EffectId,
        effect: Effect,
        cancel: Cancel,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (handle, log) = (self.handle.clone(), self.log.clone());
        let (agents, vault) = (self.agents.clone(), self.vault.clone());
        let symbols = self.symbols.clone();
        let subject = Subject::of(&effect);
        async move {
            fail::fail_point!("effect-before", |_| std::process::abort());
            let work = work(&handle, agents.clone(), vault, symbols, id, effect, cancel);
            let result = match catch_panic(subject, work).await {
                Ok(result) => result,
                Err(broken) => {
                    agents.lose(subject).await;
                    broken
                }
            };
            if let Some(whose) = subject.fetches_for() {
                egress::report_all(&handle, agents.dirs(), whose).await;
            }
            log.line(&format!("Driver:{id}"), &describe(&result));
            fail::fail_point!("effect-done", |_| std::process::abort());
            handle.signal(Signal::EffectEnded { effect: id, result }).await;
            if let Subject::Prompting(worker) = subject {
                agents.turn_reported(worker);
            }
        }
    }
}

/// Converts a panic of the work into an error result.
async fn catch_panic(
    subject: Subject,
    work: impl Future<Output = EffectResult>,
) -> Result<EffectResult, EffectResult> {
    let done = AssertUnwindSafe(work).catch_unwind().await;
    done.map_err(|panic| subject.failed(panic_message::panic_message(&*panic)))
}

async fn work(
    handle: &Handle,
    agents: Arc<Agents>,
    vault: Arc<VaultDriver>,
    symbols: Symbols,
    id: EffectId,
    effect: Effect,
    cancel: Cancel,
) -> EffectResult {
    match effect {
        Effect::StartAgent { worker, attempt, backend, path, model, zone, sees, reads, stay } => {
            let unseen = match reads {
                // In the checkout of a sub-task with leased files other agents work too: their new
                // files must not be hidden as ours.
                Reads::Zone if sees.is_empty() => vault.narrow(&path, &zone, cancel).await,
                Reads::Guided | Reads::Zone => Ok(Vec::new()),
            };
            match unseen {
                Ok(unseen) => {
                    let reach = WorkerAccess { zone, sees, stay };
                    let wanted = SpawnRequest { backend, model, reach, unseen };
                    agents.start(id, worker, attempt, &wanted, &path).await
                }
                Err(failure) => {
                    agents.lose(Subject::Starting(attempt, worker)).await;
                    EffectResult::AttemptFailed { attempt, failure }
                }
            }
        }
        Effect::Prompt { worker, text, order } => {
            agents.prompt(id, worker, &text, order.as_ref()).await
        }
        Effect::AnswerPermission { worker, call, option } => {
            agents.answer_permission(worker, &call, option.as_deref()).await
        }
        Effect::InterruptTurn { worker } => agents.interrupt(id, worker).await,
        Effect::StopAgent { worker } => stop_agent(&agents, &vault, worker).await,
        effect @ Effect::PrepareCheckout { attempt, .. } => {
            prepare_checkout(&agents, &vault, (id, attempt), effect, cancel).await
        }
        Effect::Snapshot { attempt, ref start, ref last, .. } => {
            let last = last.as_ref().unwrap_or(start).clone();
            let expecting = vault.expect_checkout(handle, attempt, last);
            futures::join!(vault.carry_out(effect, cancel), expecting).0
        }
        Effect::CollectWork { attempt, .. } => {
            let expecting = vault.expect_checks(handle, attempt);
            futures::join!(vault.carry_out(effect, cancel), expecting).0
        }
        Effect::PullWork { attempt, path, task, commit: work, base, zone, .. } => {
            let order = PullWork { attempt, path: path.into(), base, work, zone };
            vault.pull(task, order, cancel).await
        }
        Effect::ConsultOracle { query, path, symbol, context, region, .. } => {
            let order = Consult { checkout: path, symbol, context, region };
            let answer = oracle::consult(&symbols, order).await;
            EffectResult::OracleAnswered { query, answer }
        }
        effect @ Effect::RemoveCheckout { .. } => {
            remove_checkout(&vault, &symbols, effect, cancel).await
        }
        effect @ (Effect::PreparePlan { .. }
        | Effect::CheckBase { .. }
        | Effect::Restore { .. }
        | Effect::DropSnapshots { .. }
        | Effect::TidyVault
        | Effect::SaveWork { .. }
        | Effect::Verify { .. }
        | Effect::Integrate { .. }
        | Effect::Land { .. }
        | Effect::UndoLanding { .. }) => vault.carry_out(effect, cancel).await,
    }
}

/// Prepares for collecting the work, which usually comes next.
async fn stop_agent(agents: &Agents, vault: &VaultDriver, worker: WorkerId) -> EffectResult {
    let attempt = agents.attempt(worker);
    if let Some(attempt) = attempt {
        vault.expect_work(attempt);
    }
    let stopped = agents.stop(worker).await;
    if let Some(attempt) = attempt {
        vault.left(attempt).await;
    }
    stopped
}

/// Prepares the agent as soon as the path is known.
async fn prepare_checkout(
    agents: &Arc<Agents>,
    vault: &VaultDriver,
    (id, attempt): (EffectId, AttemptId),
    effect: Effect,
    cancel: Cancel,
) -> EffectResult {
    let expecting = agents.clone();
    let claimed = move |path: &Path| expecting.expect(id, attempt, path.to_owned());
    let present = agents.present();
    let result = vault.prepare(effect, present, cancel.clone(), claimed).await;
    if cancel.is_cancelled() || !matches!(result, EffectResult::CheckoutPrepared { .. }) {
        agents.expect_nobody(attempt);
    }
    result
}

/// Removes a checkout, and drops its index.
async fn remove_checkout(
    vault: &VaultDriver,
    symbols: &Symbols,
    effect: Effect,
    cancel: Cancel,
) -> EffectResult {
    if let Effect::RemoveCheckout { path, .. } = &effect {
        symbols.forget(Path::new(path)).await;
    }
    vault.carry_out(effect, cancel).await
}

/// A result for the log.
fn describe(result: &EffectResult) -> String {
    let text = serde_json::to_string(result).unwrap_or_default();
    pitcrew_model::text::cut(&text, 300).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_model::{CommitId, Failure, PlanId};
    use pitcrew_process::{Run, run_trusted};
    use std::time::Instant;

    /// S2-072: an effect whose driver panics has a result.
    #[tokio::test]
    async fn a_panicking_effect_fails() {
        let save = Effect::SaveWork {
            attempt: AttemptId(7),
            plan: PlanId(1),
            task: pitcrew_model::TaskId(1),
            number: 1,
            slug: "x".into(),
            path: None,
        };
        let broken = catch_panic(Subject::of(&save), async { panic!("no {}", "luck") }).await;
        let Err(EffectResult::AttemptFailed { attempt, failure: Failure::Git { message } }) =
            broken
        else {
            panic!("{broken:?}")
        };
        assert_eq!((attempt, &*message), (AttemptId(7), "internal error in pitcrew: no luck"));

        let check = Effect::CheckBase {
            plan: PlanId(1),
            commit: CommitId("1".repeat(40)),
            setup: Vec::new(),
            checks: Vec::new(),
        };
        let broken = catch_panic(Subject::of(&check), async { panic!("x") }).await;
        assert!(matches!(broken, Err(EffectResult::BaseChecked { .. })), "{broken:?}");
        let stop = Effect::StopAgent { worker: WorkerId(3) };
        let broken = catch_panic(Subject::of(&stop), async { panic!("x") }).await;
        assert!(matches!(broken, Err(EffectResult::AgentStopped { .. })), "{broken:?}");
    }

    fn sleep_of(cancel: &Cancel) -> impl Future<Output = ()> + Send + use<> {
        let cancel = cancel.clone();
        async move {
            let sleep = Run::new("sleep", "/").arg("600");
            let run = tokio::task::spawn_blocking(move || run_trusted(sleep, &cancel));
            assert!(run.await.unwrap().unwrap().cancelled);
        }
    }

    #[tokio::test]
    async fn only_work_of_the_ended_scope_is_cancelled() {
        let mut running = Running::default();
        let (one, two) = (Cancel::default(), Cancel::default());
        let scope = |it| Some(Scope::Attempt(AttemptId(it)));
        running.begin(EffectId(1), scope(1), one.clone(), sleep_of(&one));
        running.begin(EffectId(2), scope(2), two.clone(), sleep_of(&two));
        let began = Instant::now();
        running.cut(Scope::Attempt(AttemptId(1)));
        running.next_end().await;
        assert!(one.is_cancelled() && !two.is_cancelled());
        running.cut_all();
        running.join().await;
        assert!(began.elapsed() < Duration::from_mins(1));
    }

    #[tokio::test]
    async fn dropping_cancels_the_work() {
        let mut running = Running::default();
        let cancel = Cancel::default();
        running.begin(EffectId(1), None, cancel.clone(), sleep_of(&cancel));
        drop(running);
        assert!(cancel.is_cancelled());
    }
}
