//! The vault and the checkouts: blocking git work on its own threads.

mod ahead;
mod expected;

use crate::{
    Handle, confinement,
    network::{Caches, Lookup, Needs},
};
use expected::Expected;
use pitcrew_config::WorkspaceDirs;
use pitcrew_git::{
    AttemptName, Checkout, CheckoutKind, CollectWork, LandPlan, LendCheckout, PrepareCheckout,
    PreparePlan, PullWork, Ready, ReadyTrial, Removal, RestoreWork, SaveWork, Stopped,
    TakeSnapshot, UndoLanding, Vault, Verify,
};
use pitcrew_kernel::State;
use pitcrew_model::{
    AttemptId, CheckoutPlace, Effect, EffectResult, Failure, PlanId, TaskId, Tier, WorkspaceMode,
    Zone,
};
use pitcrew_process::{Cancel, Policy};
use pitcrew_writer::Subject;
use std::{
    collections::BTreeSet,
    panic::resume_unwind,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::sync::Semaphore;

/// Concurrent removals of checkouts: a landing removes all of its plan's.
const REMOVALS_MAX: usize = 4;

/// Concurrent snapshots: most of the CPU is for the agents.
const SNAPSHOTS_MAX: usize = 2;

#[derive(Clone)]
pub struct VaultDriver {
    vault: Arc<Vault>,
    policy: Arc<Policy>,
    network: Lookup,
    dirs: WorkspaceDirs,
    removals: Arc<Semaphore>,
    snapshots: Arc<Semaphore>,
    /// Work that will be collected soon: its agent is ending.
    expected_work: Expected<Ready>,
    /// Work that will be verified soon: it is being collected.
    expected_checks: Expected<ReadyTrial>,
}

impl VaultDriver {
    pub fn new(
        vault: Arc<Vault>,
        policy: Arc<Policy>,
        network: Lookup,
        dirs: WorkspaceDirs,
    ) -> Self {
        let removals = Arc::new(Semaphore::new(REMOVALS_MAX));
        let snapshots = Arc::new(Semaphore::new(SNAPSHOTS_MAX));
        let (expected_work, expected_checks) = Default::default();
        Self { vault, policy, network, dirs, removals, snapshots, expected_work, expected_checks }
    }

    pub fn git_settings(&self) -> PathBuf {
        self.vault.git_settings()
    }

    /// The policy of setup and checks: they may fetch packages, which is recorded in `dir`.
    fn fetching(&self, caches: Caches, dir: &Path) -> Policy {
        match self.policy.tier {
            Tier::T1 => Policy::clone(&self.policy),
            Tier::T2 | Tier::T3 => {
                self.network.get().applied(&self.policy, Needs::default(), caches, dir)
            }
        }
    }

    fn policy_of_checks(&self, attempt: AttemptId) -> Policy {
        self.fetching(Caches::Checks, &self.dirs.attempt(attempt))
    }

    pub async fn carry_out(&self, effect: Effect, cancel: Cancel) -> EffectResult {
        let driver = self.clone();
        let subject = Subject::of(&effect);
        if let Effect::CollectWork { attempt, .. } = effect {
            self.expect_no_checkout(attempt);
            let work = move |ready| driver.collect(effect, ready, &cancel);
            let done = self.expected_work.carry_out(attempt, work).await;
            return result_of(subject, done);
        }
        if let Effect::Verify { attempt, .. } = effect {
            let work = move |ready| driver.verify(effect, ready, &cancel);
            let done = self.expected_checks.carry_out(attempt, work).await;
            return result_of(subject, done);
        }
        if let Effect::SaveWork { attempt, .. } | Effect::RemoveCheckout { attempt, .. } = effect {
            self.expect_no_checkout(attempt);
        }
        let _turn = if let Subject::Removing(_) = subject {
            self.removals.acquire().await.ok()
        } else if let Subject::Snapshotting(_) = subject {
            self.snapshots.acquire().await.ok()
        } else {
            None
        };
        blocking(subject, move || driver.try_to_work(effect, &cancel)).await
    }

    /// Creates a checkout, and calls `claimed` with its path at the beginning. `present` are the
    /// attempts that may be in a leased one.
    pub async fn prepare(
        &self,
        effect: Effect,
        present: BTreeSet<AttemptId>,
        cancel: Cancel,
        claimed: impl Fn(&Path) + Send + 'static,
    ) -> EffectResult {
        let driver = self.clone();
        let subject = Subject::of(&effect);
        blocking(subject, move || driver.make(effect, present, &cancel, &claimed)).await
    }

    fn make(
        &self,
        effect: Effect,
        present: BTreeSet<AttemptId>,
        cancel: &Cancel,
        claimed: &dyn Fn(&Path),
    ) -> Result<EffectResult, Failure> {
        let Effect::PrepareCheckout { attempt, plan, task, number, slug, start, setup, place } =
            effect
        else {
            unreachable!("called for this effect only")
        };
        let kind = if place.is_some() { CheckoutKind::Subtask } else { CheckoutKind::Task };
        let checkout = match place {
            Some(CheckoutPlace { workspace: WorkspaceMode::Shared, parent_path, .. }) => {
                Checkout { path: parent_path.into(), notes: Vec::new() }
            }
            // A sub-task sees its parent's work so far.
            Some(CheckoutPlace { workspace: WorkspaceMode::ReadOnly, parent, .. }) => {
                let order = LendCheckout { attempt, parent, start, present };
                self.vault.lend_checkout(&order, &self.policy, cancel, claimed)?
            }
            Some(CheckoutPlace { workspace: WorkspaceMode::Isolated, .. }) | None => {
                let name = AttemptName { attempt, plan, task, slug, number };
                let order = PrepareCheckout { name, kind, start, setup };
                let policy = self.fetching(Caches::Agents, &self.dirs.attempt(attempt));
                self.vault.prepare_checkout(&order, &policy, cancel, claimed)?
            }
        };
        let path = checkout.path.display().to_string();
        Ok(EffectResult::CheckoutPrepared { attempt, path, notes: checkout.notes })
    }

    /// Prepares for collecting the work of an attempt, because its agent is about to end.
    pub fn expect_work(&self, attempt: AttemptId) {
        let (vault, policy) = (self.vault.clone(), self.policy.clone());
        if policy.tier == Tier::T3 {
            self.expected_work.expect(attempt, move || vault.get_ready(attempt, &policy));
        }
    }

    /// Prepares for verifying the work of an attempt, because it is being collected.
    pub async fn expect_checks(&self, handle: &Handle, attempt: AttemptId) {
        let first = handle.look(move |state| first_command(state, attempt)).await.flatten();
        let Some(first) = first.filter(|_| self.policy.tier != Tier::T1) else { return };
        let driver = self.clone();
        self.expected_checks.expect(attempt, move || {
            let policy = driver.policy_of_checks(attempt);
            driver.vault.get_trial_ready(attempt, &first, &policy)
        });
    }

    /// Resets a shared read-only checkout after this reader has ended, so that the next reader need
    /// not wait for that.
    pub async fn left(&self, attempt: AttemptId) {
        let driver = self.clone();
        let leave = move || driver.vault.leave_lent(attempt, &driver.policy, &Cancel::default());
        // If this fails, the next reader does the same.
        tokio::task::spawn_blocking(leave).await.ok();
    }

    /// The paths of a checkout that its worker's sandbox should hide, which git lists.
    pub async fn narrow(
        &self,
        path: &str,
        zone: &Zone,
        cancel: Cancel,
    ) -> Result<Vec<String>, Failure> {
        if self.policy.tier != Tier::T3 {
            return Ok(Vec::new());
        }
        let (driver, checkout, zone) = (self.clone(), PathBuf::from(path), zone.clone());
        let work = move || {
            let unseen = confinement::foreign(&checkout, &zone);
            driver.vault.narrow(&checkout, &unseen, &driver.policy, &cancel)?;
            Ok(unseen)
        };
        tokio::task::spawn_blocking(work)
            .await
            .unwrap_or_else(|ended| Err(Failure::Checkout { message: ended.to_string() }))
    }

    /// A parent takes over its sub-task's work.
    pub async fn pull(&self, task: TaskId, order: PullWork, cancel: Cancel) -> EffectResult {
        let (driver, attempt) = (self.clone(), order.attempt);
        let work = move || {
            let work = driver.vault.pull(&order, &driver.policy, &cancel)?;
            Ok(EffectResult::WorkPulled { attempt, task, work })
        };
        blocking(Subject::Pulling(attempt, task), work).await
    }

    fn try_to_work(&self, effect: Effect, cancel: &Cancel) -> Result<EffectResult, Failure> {
        let (vault, policy) = (&self.vault, &self.policy);
        if let Effect::SaveWork { attempt, .. } | Effect::RemoveCheckout { attempt, .. } = effect {
            self.expected_work.forget(attempt);
            self.expected_checks.forget(attempt);
        }
        Ok(match effect {
            Effect::PreparePlan { plan, base, clean_base, include, setup, checks } => {
                let order = PreparePlan { plan, base, clean_base, include };
                let base = vault.prepare_plan(&order, cancel)?;
                let policy = self.fetching(Caches::Checks, &self.dirs.checks(plan));
                let commands = (setup.as_slice(), checks.as_slice());
                vault.require_programs(plan, &base.start, commands, &policy, cancel)?;
                EffectResult::PlanPrepared { plan, base }
            }
            Effect::CheckBase { plan, commit, setup, checks } => {
                let policy = self.fetching(Caches::Checks, &self.dirs.checks(plan));
                let checks = vault.check_base(plan, &commit, &setup, &checks, &policy, cancel);
                EffectResult::BaseChecked { plan, checks }
            }
            Effect::Restore { task, slug, number, commit, base } => {
                let order = RestoreWork { task, slug, number, commit, base };
                let (branch, snapshot) = vault.restore(&order, cancel)?;
                EffectResult::Restored { task, number, branch, snapshot }
            }
            Effect::DropSnapshots { attempt } => {
                vault.drop_snapshots(attempt, cancel)?;
                EffectResult::SnapshotsDropped { attempt }
            }
            Effect::TidyVault => {
                vault.remove_copies(None, policy, cancel)?;
                EffectResult::VaultTidied { packed_count: vault.tidy(cancel)? }
            }
            effect @ Effect::Snapshot { .. } => self.snapshot(effect, cancel)?,
            Effect::SaveWork { attempt, plan, task, number, slug, path } => {
                let name = AttemptName { attempt, plan, task, slug, number };
                let order = SaveWork { name, path: path.map(Into::into) };
                EffectResult::WorkSaved { attempt, commit: vault.save(&order, policy, cancel)? }
            }
            Effect::Integrate { attempt, plan, onto, merged } => {
                let head = vault.integrate(plan, &onto, &merged, cancel)?;
                EffectResult::Integrated { attempt, head }
            }
            effect @ Effect::Land { .. } => self.land(effect, cancel)?,
            effect @ Effect::UndoLanding { .. } => self.undo_landing(effect, cancel)?,
            Effect::RemoveCheckout { attempt, path } => {
                match vault.remove_checkout(attempt, Path::new(&path), policy, cancel)? {
                    Removal::Removed => EffectResult::CheckoutRemoved { attempt },
                    Removal::Kept { reason } => EffectResult::CheckoutKept { attempt, reason },
                }
            }
            Effect::StartAgent { .. }
            | Effect::Prompt { .. }
            | Effect::AnswerPermission { .. }
            | Effect::InterruptTurn { .. }
            | Effect::StopAgent { .. } => unreachable!("agents have their own driver"),
            Effect::PrepareCheckout { .. } => unreachable!("it needs a callback for its path"),
            Effect::CollectWork { .. } | Effect::Verify { .. } => {
                unreachable!("they are handled by `expected`")
            }
            Effect::PullWork { .. } => unreachable!("it needs the id of its task"),
            Effect::ConsultOracle { .. } => unreachable!("the index is not part of the vault"),
        })
    }

    fn collect(
        &self,
        effect: Effect,
        ready: Option<Ready>,
        cancel: &Cancel,
    ) -> Result<EffectResult, Failure> {
        let Effect::CollectWork {
            attempt,
            plan,
            task,
            number,
            slug,
            path,
            start,
            base,
            zone,
            message,
        } = effect
        else {
            unreachable!("called for this effect only")
        };
        let name = AttemptName { attempt, plan, task, slug, number };
        let order = CollectWork { name, path: path.into(), start, base, zone, message };
        let work = self.vault.collect_ready(&order, ready, &self.policy, cancel)?;
        Ok(EffectResult::WorkCollected { attempt, work })
    }

    fn snapshot(&self, effect: Effect, cancel: &Cancel) -> Result<EffectResult, Failure> {
        let Effect::Snapshot { attempt, path, start, base, number, last } = effect else {
            unreachable!("called for this effect only")
        };
        let path = path.into();
        let order = TakeSnapshot { attempt, path, start, base, number, last };
        Ok(match self.vault.take_snapshot(&order, &self.policy, cancel)? {
            Some(snapshot) => EffectResult::SnapshotTaken { attempt, snapshot },
            None => EffectResult::SnapshotUnchanged { attempt },
        })
    }

    fn verify(
        &self,
        effect: Effect,
        ready: Option<ReadyTrial>,
        cancel: &Cancel,
    ) -> Result<EffectResult, Failure> {
        let Effect::Verify { attempt, onto, work, title, setup, checks, expected_files, zone } =
            effect
        else {
            unreachable!("called for this effect only")
        };
        let order = Verify { attempt, onto, work, title, setup, checks, expected_files, zone };
        let policy = self.policy_of_checks(attempt);
        let verified = self.vault.verify_ready(&order, ready, &policy, cancel)?;
        let (merged, checks) = (verified.merged, verified.checks);
        Ok(EffectResult::Verified { attempt, merged, checks })
    }

    fn land(&self, effect: Effect, cancel: &Cancel) -> Result<EffectResult, Failure> {
        let Effect::Land {
            plan,
            slug,
            title,
            branch,
            start,
            tip,
            head,
            setup,
            checks,
            history,
            message,
            hooks,
            sign,
            signed,
            tasks,
        } = effect
        else {
            unreachable!("called for this effect only")
        };
        let order = LandPlan {
            plan,
            slug,
            title,
            branch,
            start,
            tip,
            head,
            setup,
            checks,
            history,
            message,
            hooks,
            sign,
            signed,
            tasks,
        };
        let policy = self.fetching(Caches::Checks, &self.dirs.checks(plan));
        match self.vault.land(&order, &policy, cancel) {
            Ok(landing) => Ok(EffectResult::Landed { plan, landing }),
            Err(stopped) => result_of_stopped(plan, stopped),
        }
    }

    fn undo_landing(&self, effect: Effect, cancel: &Cancel) -> Result<EffectResult, Failure> {
        let Effect::UndoLanding { plan, title, branch, landed, before, sign, signed } = effect
        else {
            unreachable!("called for this effect only")
        };
        let order = UndoLanding { plan, title, branch, landed, before, sign, signed };
        match self.vault.undo_landing(&order, cancel) {
            Ok(undo) => Ok(EffectResult::LandingUndone { plan, undo }),
            Err(stopped) => result_of_stopped(plan, stopped),
        }
    }
}

fn result_of_stopped(plan: PlanId, stopped: Stopped) -> Result<EffectResult, Failure> {
    match stopped {
        Stopped::Unsigned(unsigned) => Ok(EffectResult::Unsigned { plan, unsigned }),
        Stopped::Failed(failure) => Err(failure),
    }
}

/// The command that runs first when the work of an attempt is verified.
fn first_command(state: &State, attempt: AttemptId) -> Option<String> {
    let task = state.tasks.get(state.attempts.get(attempt)?.task)?;
    let setup = &state.plans[task.plan].head.setup;
    let first = setup.iter().chain(&task.spec.checks).next();
    first.filter(|_| !task.spec.checks.is_empty()).cloned()
}

/// The result of an effect that was prepared.
fn result_of<E: std::fmt::Display>(
    subject: Subject,
    done: Result<Result<EffectResult, Failure>, E>,
) -> EffectResult {
    match done {
        Ok(done) => done.unwrap_or_else(|failure| subject.failed_with(failure)),
        Err(gone) => subject.failed(gone.to_string()),
    }
}

/// Runs blocking git work on a separate thread.
async fn blocking(
    subject: Subject,
    work: impl FnOnce() -> Result<EffectResult, Failure> + Send + 'static,
) -> EffectResult {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.unwrap_or_else(|failure| subject.failed_with(failure)),
        // The panic was already reported where it was first caught.
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(cancelled) => subject.failed(cancelled.to_string()),
        },
    }
}
