//! The current state, folded from the events. Changed by `evolve` only.

mod table;
mod regions;
mod budget;
mod family;
mod agenda;
mod landing;
mod mail;
mod queries;

pub use agenda::Agenda;
pub use budget::Budget;
pub use family::{Family, Pull, SpawnLimits, Wait};
pub use landing::LandingPlan;
pub use mail::{Mail, Mailbox, MessageState};
pub use queries::{Asker, OwnerAnswer, OwnerAnswers, Queries, Query, QueryStage};
pub use regions::Regions;
pub use table::Table;

use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    string::String,
    sync::Arc,
    vec::Vec,
};
use pitcrew_model::{
    Access, Actor, AgentProfile, AttemptId, Claim, CommitId, Crew, Delegation, EffectId, Failure,
    Grant, GrantId, History, HoldCause, KeptStates, Landing, LandingStatus, Matrix, MessageId,
    Outcome, PlanBase, PlanHead, PlanId, PlanStatus, Rejection, RequestId, RequestKind,
    RequestStatus, Sandbox, Seq, Sign, TaskId, TaskOutput, TaskSpec, TaskStatus, Tier, Timestamp,
    ToolUse, TurnCause, Usage, Work, WorkerId, WorkerStatus, limits,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The last folded event.
    pub seq: Seq,
    pub agents_max: u32,
    pub agents_live_max: u32,
    /// The last applied settings: `agents_max`, `agents_live_max`.
    pub settings: (u32, u32),
    /// How plans are landed where the command does not say.
    pub history: History,
    pub sign: Sign,
    pub plans: Table<PlanId, Plan>,
    pub tasks: Table<TaskId, Task>,
    pub attempts: Table<AttemptId, Attempt>,
    pub workers: Table<WorkerId, Worker>,
    pub requests: Table<RequestId, Request>,
    /// Messages between people, workers and the orchestrator.
    pub mail: Mail,
    /// Queries about code outside a worker's region.
    pub queries: Queries,
    /// The permission matrix.
    pub matrix: Arc<Matrix>,
    /// Who can do tasks. Absent in journals from before crews, until an orchestrator applies it.
    pub crew: Option<Arc<Crew>>,
    /// The available and the required tier. Absent in journals from before tiers, until an
    /// orchestrator applies it.
    pub sandbox: Option<Sandbox>,
    /// The weakest tier that a person has agreed to.
    pub accepted_tier: Option<Tier>,
    /// The active grants.
    pub grants: BTreeMap<GrantId, Grant>,
    /// The number of all grants ever given.
    pub grants_count: u64,
    /// The known provider limits, by backend.
    pub quotas: BTreeMap<String, Quota>,
    /// Backends that could not be used: when that was last observed, and why.
    pub broken: BTreeMap<String, (Timestamp, String)>,
    /// Open effects.
    pub effects: BTreeSet<EffectId>,
    /// The nonces of the last calls of outside clients, the newest last.
    pub client_calls: VecDeque<String>,
    /// The effect that repacks the vault.
    pub tidying: Option<EffectId>,
    /// The input of the standing rules. Derived from the rest.
    pub agenda: Agenda,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standalone {
    /// The idempotency key of the call that created it.
    pub call: Option<String>,
    /// Tasks that only read.
    pub readers: Vec<TaskId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub id: PlanId,
    pub head: Arc<PlanHead>,
    pub creator: Actor,
    pub status: PlanStatus,
    pub clean_base: bool,
    pub tasks: Vec<TaskId>,
    /// Present if the plan contains the sub-tasks of an outside client.
    pub standalone: Option<Standalone>,
    /// The open sub-tasks of its workers.
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
    /// Checks that also fail on the base.
    pub red_on_base: BTreeSet<String>,
    /// Collected work that waits for its verification: one at a time, in this order.
    pub merge_queue: VecDeque<AttemptId>,
    /// The effect that verifies or integrates now.
    pub merging: Option<EffectId>,
    pub landing: LandingStatus,
    /// How it is landed.
    pub landing_plan: LandingPlan,
    /// Its last landing.
    pub landed: Option<Landing>,
    /// When it had landed and its checkouts were removed.
    pub cleaned_at: Option<Timestamp>,
    /// The open request of the plan itself.
    pub request: Option<RequestId>,
    /// Checkouts that are being removed after the landing.
    pub removals_count: usize,
    /// The usage of all of its tasks.
    pub budget: Budget,
    /// Network decisions of its own checks. Those of its tasks are stored with their attempts.
    pub egress: Egress,
}

impl Plan {
    /// Returns whether the task only reads, so that none of its changes is accepted.
    pub fn only_reads(&self, task: &Task) -> bool {
        self.is_reader(task.id) || task.profile.as_ref().is_some_and(|it| it.only_reads())
    }

    fn is_reader(&self, task: TaskId) -> bool {
        self.standalone.as_ref().is_some_and(|it| it.readers.contains(&task))
    }

    /// Returns whether all of its tasks only read.
    pub fn is_answer(&self) -> bool {
        self.standalone.is_some() && self.tasks.iter().all(|it| self.is_reader(*it))
    }
}

/// The state of the base check of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseCheck {
    /// Finished, or not needed.
    Done,
    UnderWay,
    /// Being stopped: its results are ignored.
    CutShort,
    /// Stopped without results.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub id: TaskId,
    pub plan: PlanId,
    pub spec: Arc<TaskSpec>,
    /// The definition of its agent when the task was created.
    pub profile: Option<Arc<AgentProfile>>,
    /// Present for a sub-task.
    pub delegation: Option<Arc<Delegation>>,
    /// The snapshot that it starts from is not complete.
    pub waits_for_snapshot: bool,
    pub pull: Pull,
    /// Why it failed without an attempt of its own.
    pub failure: Option<Failure>,
    /// A number for the region; 0 for none. Equal numbers, equal regions.
    pub region_key: u32,
    /// The tool uses that a person denied since its last retry.
    pub denied: Vec<RequestId>,
    pub depends_on: Vec<TaskId>,
    pub dependents: Vec<TaskId>,
    pub status: TaskStatus,
    pub deployed: bool,
    pub deployer: Deployer,
    /// Dependencies that are not completed yet.
    pub waiting_count: usize,
    /// Dependencies that ended without completion, or are blocked themselves.
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
    /// The saved states of its work in the vault.
    pub kept: KeptStates,
    /// The usage of all of its attempts.
    pub budget: Budget,
    /// Tasks that its workers have added to running plans.
    pub added_count: usize,
}

/// Who may deploy a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deployer {
    Anybody,
    /// Only a person, because it was added after the approval of the plan.
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
    /// The path of its checkout, once created.
    pub path: Option<String>,
    pub claim: Option<(Claim, String)>,
    pub output: Option<TaskOutput>,
    pub family: Family,
    pub reminded: bool,
    pub work: Option<Work>,
    pub merged: Option<(CommitId, CommitId)>,
    /// The last state of a failed attempt.
    pub saved: Option<CommitId>,
    /// The effect that the attempt waits for. Only its failure fails the attempt.
    pub step: Option<EffectId>,
    /// The running snapshot: at most one at a time.
    pub snapshot: Option<EffectId>,
    /// When the next snapshot is due, if its worker still runs then.
    pub snapshot_due: Option<Timestamp>,
    /// When a person abandoned its work.
    pub abandoned_at: Option<Timestamp>,
    /// The effect that drops its snapshots.
    pub dropping: Option<EffectId>,
    pub outcome: Option<Outcome>,
    pub failure: Option<Failure>,
    /// Its process is gone and its work is saved, or there is none to save.
    pub put_away: bool,
    pub checkout: Checkout,
    pub egress: Egress,
}

/// How much of a network record is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Egress {
    /// In bytes.
    pub offset: u64,
    /// In lines.
    pub count: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkout {
    /// Requested, not created yet.
    Coming,
    There,
    /// Owned by another attempt: nothing is saved from it, and it is not removed.
    Borrowed,
    Abandoned,
    Going,
    /// Removed, or never created.
    Gone,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    pub id: WorkerId,
    pub attempt: AttemptId,
    pub status: WorkerStatus,
    pub process: Process,
    /// The open turn.
    pub turn: Option<EffectId>,
    pub turns_count: u32,
    /// The reported usage of the current or the last turn.
    pub reported: Usage,
    pub deadline: Option<Timestamp>,
    /// The rest of the timeout while it is parked.
    pub left_ms: u64,
    pub requests: Vec<RequestId>,
    /// The number of all of its requests.
    pub requests_count: u32,
    /// The time of its last stored activity.
    pub noted_at: Timestamp,
    /// The times of its last error and completion notes, oldest first.
    pub notes_at: VecDeque<Timestamp>,
    /// When it began to wait for provider limits without an answer of its model, and how often.
    pub limited: Option<(Timestamp, u32)>,
    /// What it continues with when it has a slot again.
    pub resumptions: VecDeque<Resumption>,
    /// The open call that waits for sub-tasks.
    pub wait: Option<Wait>,
    /// The requests and questions in the answer to its last such call.
    pub shown: (Vec<RequestId>, Vec<MessageId>),
    /// The sub-tasks whose results are in its current prompt.
    pub handed: Vec<TaskId>,
    /// The permission requests whose answers are on their way to the agent.
    pub answering: BTreeMap<EffectId, String>,
    /// The nonces of its last tool calls, the newest last.
    pub calls: VecDeque<String>,
    /// The refused files outside its zone, and how often each was recorded.
    pub blocked: BTreeMap<(Access, String), u32>,
    /// The position of the last refusal in the agent's output.
    pub blocked_at: Option<u64>,
}

/// What a parked worker continues with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resumption {
    Turn(TurnCause),
    Permission {
        request: RequestId,
        call: String,
        option: Option<String>,
    },
    /// The answer to a call that waits for sub-tasks.
    Await,
    /// The answer to a call that waits for a query.
    Query,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    None,
    Alive,
    Stopping,
    Gone,
}

/// What holds a backend: a limit of its provider, or a provider that cannot be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// No worker of the backend starts or continues before.
    pub until: Option<Timestamp>,
    pub cause: HoldCause,
    pub reason: String,
    /// The one task that may try meanwhile.
    pub probe: Option<Probe>,
    /// The number of holds since its last successful turn.
    pub holds_count: u32,
}

impl Quota {
    /// Returns when it must be decided again.
    pub fn due(&self) -> Option<Timestamp> {
        Some(self.probe.map_or(self.until?, |it| it.until))
    }
}

/// A task that tries whether a provider can be reached again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    pub task: TaskId,
    /// The others wait no longer.
    pub until: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub id: RequestId,
    pub plan: PlanId,
    pub worker: Option<WorkerId>,
    pub kind: RequestKind,
    pub status: RequestStatus,
    /// When it got its current status.
    pub since: Timestamp,
    /// When it is decided by default.
    pub due: Option<Timestamp>,
    /// The tasks that its plan had when it was opened.
    pub tasks_count: usize,
}

impl Default for State {
    fn default() -> Self {
        Self {
            seq: Seq(0),
            agents_max: limits::AGENTS_MAX_DEFAULT,
            agents_live_max: limits::AGENTS_LIVE_MAX_DEFAULT,
            settings: (limits::AGENTS_MAX_DEFAULT, limits::AGENTS_LIVE_MAX_DEFAULT),
            history: History::default(),
            sign: Sign::default(),
            plans: Table::default(),
            tasks: Table::default(),
            attempts: Table::default(),
            workers: Table::default(),
            requests: Table::default(),
            mail: Mail::default(),
            queries: Queries::default(),
            matrix: Arc::default(),
            crew: None,
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

    /// Returns the workers whose processes may be alive.
    pub fn live_workers(&self) -> impl Iterator<Item = &Worker> {
        self.agenda.live.iter().map(|it| &self.workers[*it])
    }

    /// Returns whether the worker has an open question.
    pub fn has_question(&self, worker: &Worker) -> bool {
        let kinds = worker.requests.iter().map(|it| &self.requests[*it].kind);
        kinds.into_iter().any(|it| matches!(it, RequestKind::Question { .. }))
            || self.mail.asking.contains_key(&worker.id)
            || self.has_need(worker.id)
    }

    /// Returns whether the worker may get a turn: the snapshot after its last turn must be
    /// complete.
    pub fn is_turn_kept(&self, worker: &Worker) -> bool {
        let attempt = &self.attempts[worker.attempt];
        attempt.snapshot.is_none() && attempt.snapshot_due.is_none()
    }

    /// Returns the backend of the task while it is held and the task does not probe it.
    pub fn held_vendor<'a>(&self, task: &'a Task) -> Option<&'a str> {
        let vendor = task.spec.vendor()?;
        let row = self.quotas.get(vendor).filter(|it| it.until.is_some())?;
        let probes = row.probe.is_some_and(|it| it.task == task.id);
        (!probes).then_some(vendor)
    }

    pub fn held_until(&self, backend: &str) -> Option<Timestamp> {
        self.quotas.get(backend)?.until
    }

    /// Returns whether a person denied this use of a tool since the task was last retried.
    pub fn is_denied(&self, task: TaskId, tool: &ToolUse) -> bool {
        let denied = self.tasks[task].denied.iter().map(|it| &self.requests[*it].kind);
        denied
            .into_iter()
            .any(|it| matches!(it, RequestKind::ToolUse { tool: it, .. } if it == tool))
    }

    /// Returns whether we stopped it. The way its turn or its process ends is not its fault then.
    pub fn is_stopped(&self, worker: &Worker) -> bool {
        let task = &self.tasks[self.attempts[worker.attempt].task];
        match worker.status {
            WorkerStatus::Paused | WorkerStatus::WaitingQuota => true,
            WorkerStatus::WaitingPermission => {
                let resumed = Resumption::Turn(TurnCause::Resumed);
                self.is_over_budget(task) || worker.resumptions.contains(&resumed)
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

    /// Interruptions, provider limits and unreachable providers do not count as attempts, up to a maximum that ends crash
    /// loops.
    pub fn is_free(&self, failure: &Failure) -> bool {
        let is_outside = matches!(
            failure,
            Failure::Interrupted | Failure::Quota { .. } | Failure::Unreachable { .. }
        );
        is_outside && self.interruptions_count < limits::INTERRUPTIONS_FREE_MAX
    }
}

impl Worker {
    /// Returns whether the model answered in the turn that ends with this usage.
    pub fn is_answered(&self, usage: Usage) -> bool {
        self.reported.at_least(usage).tokens_out > 0
    }

    /// Returns what it continues with: an open call comes before a new turn.
    pub fn next_resumption(&self) -> Option<&Resumption> {
        let is_call = |it: &&Resumption| !matches!(it, Resumption::Turn(_));
        let call = self.resumptions.iter().find(is_call);
        call.or_else(|| self.resumptions.front().filter(|_| self.turn.is_none()))
    }
}

impl Attempt {
    pub fn is_open(&self) -> bool {
        self.outcome.is_none()
    }
}
