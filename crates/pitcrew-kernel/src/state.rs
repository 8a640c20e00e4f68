//! Everything that is true now, folded from the events. Changed by `evolve` only.

mod table;
mod regions;
mod budget;
mod family;
mod agenda;
mod mail;
mod queries;

pub use agenda::Agenda;
pub use budget::Budget;
pub use family::{Family, Pull, SpawnLimits, Wait};
pub use mail::{Mail, Mailbox, Posted};
pub use queries::{Asker, Queries, Query, QueryStage, Said, Saying};
pub use regions::Regions;
pub use table::Table;

use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    string::String,
    sync::Arc,
    vec::Vec,
};
use pitcrew_model::{
    Access, AttemptId, Claim, CommitId, Delegation, EffectId, Failure, Grant, GrantId, History,
    KeptStates, LandingStatus, Matrix, MessageId, Outcome, PlanBase, PlanHead, PlanId, PlanStatus,
    Rejection, RequestId, RequestKind, RequestStatus, Sandbox, Seq, TaskId, TaskOutput, TaskSpec,
    TaskStatus, Tier, Timestamp, TurnCause, Usage, Work, WorkerId, WorkerStatus, limits,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The last event folded in.
    pub seq: Seq,
    pub agents_max: u32,
    pub agents_live_max: u32,
    /// What the settings said last: `agents_max`, `agents_live_max`.
    pub settings: (u32, u32),
    /// How plans are landed where the command does not say.
    pub history: History,
    pub plans: Table<PlanId, Plan>,
    pub tasks: Table<TaskId, Task>,
    pub attempts: Table<AttemptId, Attempt>,
    pub workers: Table<WorkerId, Worker>,
    pub requests: Table<RequestId, Request>,
    /// What people, workers and the orchestrator say to each other.
    pub mail: Mail,
    /// What workers want to know of the code of others.
    pub queries: Queries,
    /// What may be done without asking.
    pub matrix: Arc<Matrix>,
    /// Which confinement there is, and which is wanted. Absent in journals from before there were
    /// tiers, until an orchestrator tells.
    pub sandbox: Option<Sandbox>,
    /// The weakest tier that a person has agreed to.
    pub accepted_tier: Option<Tier>,
    /// What people have allowed for more than once, and not revoked.
    pub grants: BTreeMap<GrantId, Grant>,
    /// All that were ever given.
    pub grants_count: u64,
    /// What is known of the limits of providers, by backend.
    pub quotas: BTreeMap<String, Quota>,
    /// Backends that could not be used at all: when that was last seen, and why.
    pub broken: BTreeMap<String, (Timestamp, String)>,
    /// Effects that were asked for and have not ended.
    pub effects: BTreeSet<EffectId>,
    /// The nonces of the last calls of outside clients, the newest last.
    pub client_calls: VecDeque<String>,
    /// The effect that now tidies the vault.
    pub tidying: Option<EffectId>,
    /// What the standing rules have to look at. Derived from the rest.
    pub agenda: Agenda,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standalone {
    /// The name of the call that handed it out.
    pub call: Option<String>,
    /// Tasks of which nothing that they change is taken.
    pub readers: Vec<TaskId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub id: PlanId,
    pub head: Arc<PlanHead>,
    pub status: PlanStatus,
    pub clean_base: bool,
    pub tasks: Vec<TaskId>,
    /// Present where it holds what an agent has handed out that works for no plan.
    pub standalone: Option<Standalone>,
    /// What its workers have handed out and has not ended.
    pub subtasks: BTreeSet<TaskId>,
    /// Tasks that have not ended and are not blocked.
    pub open_count: usize,
    pub completed_count: usize,
    /// Present once the vault is ready for the plan.
    pub base: Option<PlanBase>,
    pub preparing: bool,
    pub base_check: BaseCheck,
    /// The commit of the integration branch.
    pub integrated: Option<CommitId>,
    /// Completed tasks in the order of their integration.
    pub integrated_tasks: Vec<TaskId>,
    /// Checks that fail on the base too.
    pub red_on_base: BTreeSet<String>,
    /// Collected work that waits to be verified: one at a time, in this order.
    pub merge_queue: VecDeque<AttemptId>,
    /// The effect that now verifies or integrates.
    pub merging: Option<EffectId>,
    pub landing: LandingStatus,
    /// How it is landed, and under which message.
    pub landing_plan: (History, Option<String>),
    /// When it was landed and its checkouts were removed.
    pub cleaned_at: Option<Timestamp>,
    /// What waits for a person on behalf of the plan itself.
    pub request: Option<RequestId>,
    /// Checkouts that are being removed after the landing.
    pub removals_count: usize,
    /// What all of its tasks have used.
    pub budget: Budget,
    /// Of its own checks: those of its tasks are known with their attempts.
    pub egress: Egress,
}

impl Plan {
    /// Whether nothing that this task changes is taken, because it is there to find something out.
    pub fn only_reads(&self, task: TaskId) -> bool {
        self.standalone.as_ref().is_some_and(|it| it.readers.contains(&task))
    }

    /// Whether all of it is there to find something out.
    pub fn is_answer(&self) -> bool {
        self.standalone.is_some() && self.tasks.iter().all(|it| self.only_reads(*it))
    }
}

/// How far the checks of a plan are known on its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseCheck {
    /// As far as they will be.
    Done,
    UnderWay,
    /// Under way, and stopped: what they say counts for nothing.
    CutShort,
    /// Stopped: nothing is known.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub id: TaskId,
    pub plan: PlanId,
    pub spec: Arc<TaskSpec>,
    /// Present where a worker has handed it out.
    pub delegation: Option<Arc<Delegation>>,
    /// What it begins from is not kept yet.
    pub waits_for_snapshot: bool,
    pub pull: Pull,
    /// Why it failed, where no attempt of its own says so.
    pub failure: Option<Failure>,
    /// A small number for the region; 0 for none. Equal numbers, equal regions.
    pub region_key: u32,
    pub depends_on: Vec<TaskId>,
    pub dependents: Vec<TaskId>,
    pub status: TaskStatus,
    pub deployed: bool,
    pub deployer: Deployer,
    /// Dependencies that are not completed yet.
    pub waiting_count: usize,
    /// Dependencies that ended without being completed, or are blocked themselves.
    pub blocking_count: usize,
    pub not_before: Timestamp,
    pub attempts: Vec<AttemptId>,
    /// Attempts that people and the plan granted.
    pub attempts_granted: u32,
    /// Attempts that count against the grant.
    pub attempts_spent: u32,
    pub interruptions_count: u32,
    /// The next attempt starts from the integration head.
    pub fresh: bool,
    /// What of its work is in the vault.
    pub kept: KeptStates,
    /// What all of its attempts have used.
    pub budget: Budget,
}

/// Who may deploy a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deployer {
    Anybody,
    /// What it runs was in no plan that a person approved.
    Person,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub id: AttemptId,
    pub task: TaskId,
    pub worker: WorkerId,
    pub number: u32,
    pub start: CommitId,
    pub base: CommitId,
    /// Where its checkout is, once made.
    pub path: Option<String>,
    pub claim: Option<(Claim, String)>,
    pub output: Option<TaskOutput>,
    pub family: Family,
    pub reminded: bool,
    pub work: Option<Work>,
    pub merged: Option<(CommitId, CommitId)>,
    /// The last state of a failed attempt.
    pub saved: Option<CommitId>,
    /// The effect that the attempt now waits for. Only its failure is the attempt's.
    pub step: Option<EffectId>,
    /// The snapshot that is being taken: at most one at a time.
    pub snapshot: Option<EffectId>,
    /// When the next one is wanted, if its worker still works then.
    pub snapshot_due: Option<Timestamp>,
    /// When a person gave up what it left.
    pub abandoned_at: Option<Timestamp>,
    /// The effect that now drops its snapshots.
    pub dropping: Option<EffectId>,
    pub outcome: Option<Outcome>,
    pub failure: Option<Failure>,
    /// Its process is gone and its work is saved, or there is none to save.
    pub put_away: bool,
    pub checkout: Checkout,
    pub egress: Egress,
}

/// What is known of the record of a way to the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Egress {
    /// How far, in bytes.
    pub offset: u64,
    /// How many lines.
    pub count: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkout {
    /// Asked for, not there yet.
    Coming,
    There,
    /// Somebody else's: nothing is saved from it, and it is not removed.
    Borrowed,
    Abandoned,
    Going,
    /// Removed, or never made.
    Gone,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    pub id: WorkerId,
    pub attempt: AttemptId,
    pub status: WorkerStatus,
    pub process: Process,
    /// The prompt that has not come to its end.
    pub turn: Option<EffectId>,
    pub turns_count: u32,
    /// What its turn has used, or its last one, as far as it was told.
    pub told: Usage,
    pub deadline: Option<Timestamp>,
    /// What is left of the time-out while it is parked.
    pub left_ms: u64,
    pub requests: Vec<RequestId>,
    /// All that it ever asked.
    pub requests_count: u32,
    /// When it last told something.
    pub noted_at: Timestamp,
    /// When it last told of errors and of what it has completed, oldest first.
    pub told_at: VecDeque<Timestamp>,
    /// Since when and how often it has waited for a limit without an answer of its model.
    pub limited: Option<(Timestamp, u32)>,
    /// What it gets when it has a slot again.
    pub comebacks: VecDeque<Comeback>,
    /// The call that stays open until sub-tasks have ended.
    pub wait: Option<Wait>,
    /// The requests and questions that the answer to its last such call has named.
    pub shown: (Vec<RequestId>, Vec<MessageId>),
    /// The sub-tasks whose results came with the turn that is going on.
    pub handed: Vec<TaskId>,
    /// The calls whose answers are on their way to the agent.
    pub answering: BTreeMap<EffectId, String>,
    /// The nonces of its last calls of tools, the newest last.
    pub calls: VecDeque<String>,
    /// The files outside its zone that it was refused, and how often each was noted.
    pub blocked: BTreeMap<(Access, String), u32>,
    /// Where the last of these requests stands in what it has said.
    pub blocked_at: Option<u64>,
}

/// What a parked worker goes on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comeback {
    Turn(TurnCause),
    Permission {
        request: RequestId,
        call: String,
        option: Option<String>,
    },
    /// What it waits for in the middle of its turn has ended.
    Await,
    /// What it asked in the middle of its turn is answered, or will not be.
    Query,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    None,
    Alive,
    Stopping,
    Gone,
}

/// Where a backend stands with the limits of its provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// Nothing of the backend starts or goes on before.
    pub until: Option<Timestamp>,
    /// How often it was held since a turn went well.
    pub holds_count: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub id: RequestId,
    pub plan: PlanId,
    pub worker: Option<WorkerId>,
    pub kind: RequestKind,
    pub status: RequestStatus,
    /// Since when it stands where it is.
    pub since: Timestamp,
    /// When it is decided although nobody has.
    pub due: Option<Timestamp>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            seq: Seq(0),
            agents_max: limits::AGENTS_MAX_DEFAULT,
            agents_live_max: limits::AGENTS_LIVE_MAX_DEFAULT,
            settings: (limits::AGENTS_MAX_DEFAULT, limits::AGENTS_LIVE_MAX_DEFAULT),
            history: History::default(),
            plans: Table::default(),
            tasks: Table::default(),
            attempts: Table::default(),
            workers: Table::default(),
            requests: Table::default(),
            mail: Mail::default(),
            queries: Queries::default(),
            matrix: Arc::default(),
            sandbox: None,
            accepted_tier: None,
            grants: BTreeMap::new(),
            grants_count: 0,
            quotas: BTreeMap::new(),
            broken: BTreeMap::new(),
            effects: BTreeSet::new(),
            client_calls: VecDeque::new(),
            tidying: None,
            agenda: Agenda::default(),
        }
    }
}

impl State {
    pub fn plan(&self, plan: PlanId) -> Result<&Plan, Rejection> {
        self.plans.get(plan).ok_or(Rejection::NoSuchPlan { plan })
    }

    pub fn task(&self, task: TaskId) -> Result<&Task, Rejection> {
        self.tasks.get(task).ok_or(Rejection::NoSuchTask { task })
    }

    pub fn attempt(&self, attempt: AttemptId) -> Result<&Attempt, Rejection> {
        self.attempts.get(attempt).ok_or(Rejection::NoSuchAttempt { attempt })
    }

    pub fn worker(&self, worker: WorkerId) -> Result<&Worker, Rejection> {
        self.workers.get(worker).ok_or(Rejection::NoSuchWorker { worker })
    }

    pub fn request(&self, request: RequestId) -> Result<&Request, Rejection> {
        self.requests.get(request).ok_or(Rejection::NoSuchRequest { request })
    }

    /// The workers whose processes may be alive.
    pub fn live_workers(&self) -> impl Iterator<Item = &Worker> {
        self.agenda.live.iter().map(|it| &self.workers[*it])
    }

    /// Whether the worker waits for an answer in words.
    pub fn has_question(&self, worker: &Worker) -> bool {
        let kinds = worker.requests.iter().map(|it| &self.requests[*it].kind);
        kinds.into_iter().any(|it| matches!(it, RequestKind::Question { .. }))
            || self.mail.asking.contains_key(&worker.id)
            || self.has_need(worker.id)
    }

    /// Whether the worker may be given a turn: none begins before the end of the last one is kept.
    pub fn is_turn_kept(&self, worker: &Worker) -> bool {
        let attempt = &self.attempts[worker.attempt];
        attempt.snapshot.is_none() && attempt.snapshot_due.is_none()
    }

    /// The task's backend, while a limit of its provider is used up.
    pub fn held_vendor<'a>(&self, task: &'a Task) -> Option<&'a str> {
        task.spec.vendor().filter(|it| self.held_until(it).is_some())
    }

    pub fn held_until(&self, backend: &str) -> Option<Timestamp> {
        self.quotas.get(backend)?.until
    }

    /// Whether we have stopped it: how its turn or its agent ends then is not its fault.
    pub fn is_stopped(&self, worker: &Worker) -> bool {
        let task = &self.tasks[self.attempts[worker.attempt].task];
        match worker.status {
            WorkerStatus::Paused | WorkerStatus::WaitingQuota => true,
            WorkerStatus::WaitingPermission => {
                let resumed = Comeback::Turn(TurnCause::Resumed);
                self.is_over_budget(task) || worker.comebacks.contains(&resumed)
            }
            WorkerStatus::Created
            | WorkerStatus::Starting
            | WorkerStatus::Running
            | WorkerStatus::WaitingInput
            | WorkerStatus::WaitingSubtasks
            | WorkerStatus::Completed
            | WorkerStatus::Failed
            | WorkerStatus::Killed => false,
        }
    }

    pub fn plan_of(&self, attempt: &Attempt) -> &Plan {
        &self.plans[self.tasks[attempt.task].plan]
    }
}

impl Task {
    pub fn last_attempt(&self) -> Option<AttemptId> {
        self.attempts.last().copied()
    }

    /// Interruptions and limits of providers are not the agent's fault and do not count, up to a
    /// limit that ends crash loops.
    pub fn is_free(&self, failure: &Failure) -> bool {
        matches!(failure, Failure::Interrupted | Failure::Quota { .. })
            && self.interruptions_count < limits::INTERRUPTIONS_FREE_MAX
    }
}

impl Worker {
    /// Whether the model has said something in the turn that ends with this usage.
    pub fn is_answered(&self, usage: Usage) -> bool {
        self.told.at_least(usage).tokens_out > 0
    }

    /// What it can go on with now: a call in the middle of a turn before a turn of its own.
    pub fn next_comeback(&self) -> Option<&Comeback> {
        let is_call = |it: &&Comeback| !matches!(it, Comeback::Turn(_));
        let call = self.comebacks.iter().find(is_call);
        call.or_else(|| self.comebacks.front().filter(|_| self.turn.is_none()))
    }
}

impl Attempt {
    pub fn is_open(&self) -> bool {
        self.outcome.is_none()
    }
}
