//! Returns the effect that an event requests: at most one, and complete, so that a driver needs
//! nothing else.

use crate::{
    State, prompt,
    state::{Attempt, Plan, Task},
};
use alloc::{collections::BTreeSet, format, string::String, vec, vec::Vec};
use pitcrew_model::{
    AttemptId, Backend, CheckoutPlace, CheckoutRole, CommitId, Delegation, Effect, Event,
    LandedTask, LandingStatus, PlanId, QueryId, RepoPath, SubtaskName, TaskId, TaskStatus,
    TurnCause, WorkerId, WorkspaceMode, Zone, text,
};

/// Returns the effect of an event. The state is the one after the event.
#[expect(clippy::too_many_lines, reason = "one arm for each kind of event")]
pub fn react(state: &State, event: &Event) -> Option<Effect> {
    Some(match event {
        Event::PlanOpened { plan } => prepare_plan(state, *plan),
        Event::BaseCheckAsked { plan } => check_base(state, *plan),
        Event::AttemptOpened { attempt, .. } => prepare_checkout(state, *attempt),
        Event::AgentStartAsked { worker } => start_agent(state, *worker),
        Event::TurnOpened { worker, cause } => give_turn(state, *worker, cause),
        Event::StopAsked { worker } => Effect::StopAgent { worker: *worker },
        Event::InterruptAsked { worker } => Effect::InterruptTurn { worker: *worker },
        Event::CollectAsked { attempt } => collect_work(state, *attempt),
        Event::SaveAsked { attempt } => save_work(state, *attempt),
        Event::SnapshotAsked { attempt } => snapshot(state, *attempt),
        Event::VerifyAsked { attempt, onto } => verify(state, *attempt, onto),
        Event::IntegrateAsked { attempt } => integrate(state, *attempt),
        Event::ToolDecided { worker, call, option, .. }
        | Event::ToolAnswered { worker, call, option, .. } => {
            Effect::AnswerPermission { worker: *worker, call: call.clone(), option: option.clone() }
        }
        Event::LandingMoved { plan, to: LandingStatus::Merging, .. } => land(state, *plan),
        Event::LandingMoved { plan, to: LandingStatus::Undoing, .. } => undo_landing(state, *plan),
        Event::RestoreAsked { task, number, .. } => restore(state, *task, *number),
        Event::DropAsked { attempt } => Effect::DropSnapshots { attempt: *attempt },
        Event::TidyAsked => Effect::TidyVault,
        Event::PullAsked { attempt, task } => pull_work(state, *attempt, *task),
        Event::QueryAsked { query, .. } => consult_oracle(state, *query),
        Event::RemovalAsked { attempt } => {
            let path = state.attempts[*attempt].path.clone();
            let path = path.expect("a checkout that is there has a path");
            Effect::RemoveCheckout { attempt: *attempt, path }
        }
        Event::SettingsApplied { .. }
        | Event::AgentsMaxSet { .. }
        | Event::PlanCreated { .. }
        | Event::TaskAdded { .. }
        | Event::PlanMoved { .. }
        | Event::TaskMoved { .. }
        | Event::TaskDeployed { .. }
        | Event::TaskHeld { .. }
        | Event::RetryGranted { .. }
        | Event::AttemptEnded { .. }
        | Event::BackendHeld { .. }
        | Event::BackendProbed { .. }
        | Event::BackendReleased { .. }
        | Event::WorkerMoved { .. }
        | Event::AgentExited { .. }
        | Event::AgentReattached { .. }
        | Event::CallTaken { .. }
        | Event::ActivityNoted { .. }
        | Event::UsageNoted { .. }
        | Event::BudgetWarned(_)
        | Event::CompletionClaimed { .. }
        | Event::RequestOpened { .. }
        | Event::RequestMoved { .. }
        | Event::LandingMoved { .. }
        | Event::LandingPlanned { .. }
        | Event::MergedByHand { .. }
        | Event::Abandoned { .. }
        | Event::SubtaskAdded { .. }
        | Event::AwaitBegun { .. }
        | Event::AwaitEnded { .. }
        | Event::ResultsHanded { .. }
        | Event::OutputHanded { .. }
        | Event::MessageQueued(_)
        | Event::MessageMoved { .. }
        | Event::MatrixApplied { .. }
        | Event::CrewApplied { .. }
        | Event::SandboxApplied { .. }
        | Event::TierAccepted { .. }
        | Event::AgentConfined { .. }
        | Event::GrantGiven { .. }
        | Event::GrantRevoked { .. }
        | Event::QueryLimitsApplied { .. }
        | Event::EgressDecided(_)
        | Event::QueryRouted { .. }
        | Event::QueryEnded { .. }
        | Event::QueryAnsweredLate { .. }
        | Event::AccessBlocked { .. }
        | Event::ClientCallTaken { .. }
        | Event::AgentGroupCreated { .. }
        | Event::AgentGroupMemberCompleted { .. }
        | Event::StandaloneSpawned { .. }
        | Event::EffectEnded { .. } => return None,
    })
}

/// The script or command is a separate field, because the text quotes others. Later turns continue
/// it.
fn give_turn(state: &State, worker: WorkerId, cause: &TurnCause) -> Effect {
    let spec = &rows(state, state.workers[worker].attempt).1.spec;
    let executes = spec.program() == Some(Backend::Builtin);
    let order = match cause {
        TurnCause::Start if executes => spec.work.order(),
        TurnCause::Start
        | TurnCause::Reminder
        | TurnCause::Answer { .. }
        | TurnCause::Resumed
        | TurnCause::QuotaOver
        | TurnCause::Results
        | TurnCause::Messages => None,
    };
    Effect::Prompt { worker, text: prompt::build(state, worker, cause), order }
}

fn prepare_plan(state: &State, plan: PlanId) -> Effect {
    let it = &state.plans[plan];
    let (checks, head) = (all_checks(state, it), &it.head);
    let setup = if checks.is_empty() { Vec::new() } else { head.setup.clone() };
    let (base, include) = (head.base.clone(), head.include.clone());
    Effect::PreparePlan { plan, base, clean_base: it.clean_base, include, setup, checks }
}

fn check_base(state: &State, plan: PlanId) -> Effect {
    let it = &state.plans[plan];
    let base = it.base.as_ref().expect("the base is checked after it is known");
    let (setup, checks) = (it.head.setup.clone(), all_checks(state, it));
    Effect::CheckBase { plan, commit: base.start.clone(), setup, checks }
}

/// Returns every check of the plan once, in the order of its tasks.
fn all_checks(state: &State, plan: &Plan) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let checks = plan.tasks.iter().flat_map(|it| &state.tasks[*it].spec.checks);
    checks.filter(|it| seen.insert(it.as_str())).cloned().collect()
}

fn prepare_checkout(state: &State, attempt: AttemptId) -> Effect {
    let (it, task, plan) = rows(state, attempt);
    Effect::PrepareCheckout {
        attempt,
        plan: plan.id,
        task: it.task,
        number: it.number,
        slug: text::slug(&task.spec.key),
        start: it.start.clone(),
        setup: setup(task, plan),
        place: task.delegation.as_ref().map(|it| place(state, it)),
    }
}

/// Setup runs only in an own checkout: others are as their owner left them.
fn setup(task: &Task, plan: &Plan) -> Vec<String> {
    let borrowed = task.delegation.as_ref().is_some_and(|it| it.workspace.is_borrowed());
    if borrowed { Vec::new() } else { plan.head.setup.clone() }
}

fn place(state: &State, delegation: &Delegation) -> CheckoutPlace {
    let parent = match delegation.workspace {
        WorkspaceMode::ReadOnly => state.lender(delegation.parent),
        WorkspaceMode::Isolated | WorkspaceMode::Shared => state.checkout_owner(delegation.parent),
    };
    let path = state.attempts[parent].path.clone();
    let parent_path = path.expect("a parent has a checkout");
    CheckoutPlace { workspace: delegation.workspace, parent, parent_path }
}

fn pull_work(state: &State, attempt: AttemptId, task: TaskId) -> Effect {
    let it = &state.tasks[task];
    let last = it.last_attempt().expect("what is pulled was worked on");
    let (last, owner) = (&state.attempts[last], state.checkout_owner(attempt));
    Effect::PullWork {
        attempt,
        path: state.attempts[owner].path.clone().expect("a pulling attempt has a checkout"),
        task,
        commit: last.work.as_ref().expect("what is pulled was collected").commit.clone(),
        base: last.base.clone(),
        title: format!("{}: {}", SubtaskName(task), it.spec.key),
        zone: zone(it, &state.plans[it.plan]),
    }
}

fn consult_oracle(state: &State, query: QueryId) -> Effect {
    let it = &state.queries.asked[query];
    let (attempt, task, _) = rows(state, state.workers[it.worker].attempt);
    Effect::ConsultOracle {
        query,
        attempt: attempt.id,
        path: attempt.path.clone().expect("an asker has a checkout"),
        symbol: it.symbol.clone(),
        context: it.context.clone(),
        region: task.spec.region.clone(),
    }
}

fn start_agent(state: &State, worker: WorkerId) -> Effect {
    let (it, task, plan) = rows(state, state.workers[worker].attempt);
    let backend = task.spec.program().expect("a plan's tasks have agents");
    let path = it.path.clone().expect("an agent starts in a checkout that is there");
    let WorkerAccess { zone, sees, stay } = worker_access(state, worker);
    let (reads, model) = (plan.head.reads, task.spec.model.clone());
    let attempt = it.id;
    Effect::StartAgent { worker, attempt, backend, path, model, zone, sees, reads, stay }
}

/// The paths that a worker may reach in its checkout.
#[derive(Clone, Debug)]
pub struct WorkerAccess {
    /// It may change these, unless it only reads.
    pub zone: Zone,
    /// It may also read these.
    pub sees: Vec<RepoPath>,
    pub stay: CheckoutRole,
}

pub fn worker_access(state: &State, worker: WorkerId) -> WorkerAccess {
    let (_, task, plan) = rows(state, state.workers[worker].attempt);
    let stay = match task.workspace() {
        Some(WorkspaceMode::Shared) => CheckoutRole::Guest,
        Some(WorkspaceMode::ReadOnly) => CheckoutRole::Reader,
        Some(WorkspaceMode::Isolated) | None if plan.only_reads(task) => CheckoutRole::Reader,
        Some(WorkspaceMode::Isolated) | None => CheckoutRole::Owner,
    };
    WorkerAccess { zone: given(task, plan), sees: sees(state, task, plan), stay }
}

/// A sub-task with target files may read everything that the task at the top of its chain may
/// change.
fn sees(state: &State, task: &Task, plan: &Plan) -> Vec<RepoPath> {
    let named = task.delegation.as_ref().is_some_and(|it| !it.target_files.is_empty());
    let Some(top) = state.chain(task.id).last().filter(|_| named) else { return Vec::new() };
    if top.spec.region.is_empty() {
        return vec![RepoPath::root()];
    }
    top.spec.region.iter().chain(&plan.head.shared).cloned().collect()
}

fn collect_work(state: &State, attempt: AttemptId) -> Effect {
    let (it, task, plan) = rows(state, attempt);
    let summary = it.claim.as_ref().map_or("", |it| it.1.as_str());
    Effect::CollectWork {
        attempt,
        plan: plan.id,
        task: it.task,
        number: it.number,
        slug: text::slug(&task.spec.key),
        path: it.path.clone().expect("work is collected from a checkout that is there"),
        start: it.start.clone(),
        base: it.base.clone(),
        zone: zone(task, plan),
        message: format!("{}: {}", task.spec.key, summary.trim()),
    }
}

/// Returns the paths whose changes are accepted.
pub(crate) fn zone(task: &Task, plan: &Plan) -> Zone {
    let mut zone = given(task, plan);
    if plan.only_reads(task) {
        zone.denied = vec![RepoPath::root()];
    }
    zone
}

fn given(task: &Task, plan: &Plan) -> Zone {
    // Target files replace the region.
    let named = task.delegation.as_ref().is_some_and(|it| !it.target_files.is_empty());
    let shared = if named { Vec::new() } else { plan.head.shared.clone() };
    Zone { region: task.spec.region.clone(), shared, denied: plan.head.denied.clone() }
}

fn snapshot(state: &State, attempt: AttemptId) -> Effect {
    let (it, task, _) = rows(state, attempt);
    Effect::Snapshot {
        attempt,
        path: it.path.clone().expect("a worker works in a checkout that is there"),
        start: it.start.clone(),
        base: it.base.clone(),
        number: task.kept.next_number(),
        last: task.kept.last_of(attempt).map(|it| it.commit.clone()),
    }
}

fn restore(state: &State, task: TaskId, number: u32) -> Effect {
    let it = &state.tasks[task];
    let kept = it.kept.get(number).expect("what is restored is kept");
    Effect::Restore {
        task,
        slug: text::slug(&it.spec.key),
        number,
        commit: kept.commit.clone(),
        base: state.attempts[kept.attempt].base.clone(),
    }
}

fn save_work(state: &State, attempt: AttemptId) -> Effect {
    let (it, task, plan) = rows(state, attempt);
    Effect::SaveWork {
        attempt,
        plan: plan.id,
        task: it.task,
        number: it.number,
        slug: text::slug(&task.spec.key),
        path: it.path.clone(),
    }
}

fn verify(state: &State, attempt: AttemptId, onto: &CommitId) -> Effect {
    let (it, task, plan) = rows(state, attempt);
    let work = it.work.as_ref().expect("collected work is verified");
    // A partial task that a person accepted only has to merge.
    let accepted = task.status == TaskStatus::Integrating;
    let unless_accepted = |checks: &[String]| if accepted { Vec::new() } else { checks.to_vec() };
    Effect::Verify {
        attempt,
        onto: onto.clone(),
        work: work.commit.clone(),
        title: format!("{}: {}", it.task, task.spec.key),
        setup: plan.head.setup.clone(),
        checks: unless_accepted(&task.spec.checks),
        expected_files: if accepted { Vec::new() } else { task.spec.expected_files.clone() },
        zone: zone(task, plan),
    }
}

fn integrate(state: &State, attempt: AttemptId) -> Effect {
    let (it, _, plan) = rows(state, attempt);
    let (onto, merged) = it.merged.clone().expect("what was verified is integrated");
    Effect::Integrate { attempt, plan: plan.id, onto, merged }
}

fn land(state: &State, plan: PlanId) -> Effect {
    let it = &state.plans[plan];
    let base = it.base.clone().expect("a plan that has completed tasks has a base");
    Effect::Land {
        plan,
        slug: text::slug(&it.head.name),
        title: it.head.name.clone(),
        branch: base.branch,
        start: base.start,
        tip: base.tip,
        head: it.integrated.clone().expect("a prepared plan has an integration head"),
        setup: it.head.setup.clone(),
        checks: landing_checks(state, it),
        history: it.landing_plan.history,
        message: it.landing_plan.message.clone(),
        hooks: it.landing_plan.hooks,
        sign: state.sign,
        signed: it.landing_plan.signed.clone(),
        tasks: it.integrated_tasks.iter().filter_map(|it| landed_task(state, *it)).collect(),
    }
}

fn undo_landing(state: &State, plan: PlanId) -> Effect {
    let it = &state.plans[plan];
    let (branch, landing) = it.landed_on().expect("a landing that is undone was recorded");
    Effect::UndoLanding {
        plan,
        title: it.head.name.clone(),
        branch: branch.into(),
        landed: landing.commit.clone(),
        before: landing.before.clone().expect("a landing that is undone was recorded"),
        sign: state.sign,
        signed: it.landing_plan.signed.clone(),
    }
}

fn landed_task(state: &State, task: TaskId) -> Option<LandedTask> {
    let it = &state.tasks[task];
    let attempt = &state.attempts[it.last_attempt()?];
    let (onto, merged) = attempt.merged.clone()?;
    let summary = attempt.claim.as_ref().map(|it| it.1.clone()).unwrap_or_default();
    let agent = it.spec.vendor().map(String::from);
    Some(LandedTask { task, key: it.spec.key.clone(), summary, agent, onto, merged })
}

/// Returns the checks of completed tasks. Those of failed tasks do not apply to the result.
fn landing_checks(state: &State, plan: &Plan) -> Vec<String> {
    let completed = |it: &&TaskId| state.tasks[**it].status == TaskStatus::Completed;
    let mut seen = BTreeSet::new();
    let tasks = plan.tasks.iter().filter(completed);
    let checks = tasks.flat_map(|it| &state.tasks[*it].spec.checks);
    checks.filter(|it| seen.insert(it.as_str())).cloned().collect()
}

fn rows(state: &State, attempt: AttemptId) -> (&Attempt, &Task, &Plan) {
    let attempt = &state.attempts[attempt];
    let task = &state.tasks[attempt.task];
    (attempt, task, &state.plans[task.plan])
}
