//! What is remembered of each thing.

use pitcrew_model::{
    AttemptId, Claim, CommitId, EffectId, LandingStatus, Outcome, Overlap, PlanId, PlanStatus,
    RepoPath, RequestStatus, TaskId, TaskSpec, TaskStatus, Timestamp, WorkerId, WorkerStatus,
};

#[derive(Debug)]
pub struct Plan {
    pub status: PlanStatus,
    pub overlap: Overlap,
    pub tasks: Vec<TaskId>,
    pub landing: LandingStatus,
    pub prepared: bool,
    pub checking_base: Option<EffectId>,
    pub merging: Option<EffectId>,
    pub integrated: Option<CommitId>,
}

#[derive(Debug)]
pub struct Task {
    pub plan: PlanId,
    pub vendor: Option<String>,
    pub status: TaskStatus,
    pub depends_on: Vec<TaskId>,
    pub region: Vec<RepoPath>,
    pub deployed: bool,
    pub attempts: Vec<AttemptId>,
    pub granted: u32,
    pub spent: u32,
    pub interruptions: u32,
    pub not_before: Timestamp,
    pub timeout_ms: u64,
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Attempt {
    pub task: TaskId,
    pub worker: WorkerId,
    pub outcome: Option<Outcome>,
    pub claim: Option<Claim>,
    /// Its checkout was made.
    pub has_checkout: bool,
    /// Its agent was started, or may have been.
    pub has_run: bool,
    pub collected: bool,
    pub saving: Option<EffectId>,
    pub snapshot: Option<EffectId>,
    /// The driver was asked to save, and said how it went.
    pub save_ended: bool,
    pub verified: bool,
    pub integrated: bool,
    pub going: bool,
    pub gone: bool,
}

#[derive(Debug)]
pub struct Worker {
    pub attempt: AttemptId,
    pub status: WorkerStatus,
    pub process: Process,
    pub turn: Option<EffectId>,
    pub turns_count: u32,
    pub deadline: Option<Timestamp>,
    /// What is left of its time while it is parked.
    pub left_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    None,
    Alive,
    Stopping,
    Gone,
}

#[derive(Debug)]
pub struct Request {
    pub plan: PlanId,
    pub worker: Option<WorkerId>,
    pub status: RequestStatus,
    pub call: Option<String>,
    pub approves_plan: bool,
    /// The agent has been told.
    pub answered: bool,
}

impl Plan {
    pub fn new(status: PlanStatus, overlap: Overlap) -> Self {
        Self {
            status,
            overlap,
            tasks: Vec::new(),
            landing: LandingStatus::None,
            prepared: false,
            checking_base: None,
            merging: None,
            integrated: None,
        }
    }
}

impl Task {
    pub fn new(plan: PlanId, spec: &TaskSpec, depends_on: &[TaskId]) -> Self {
        Self {
            plan,
            vendor: spec.vendor().map(str::to_owned),
            status: TaskStatus::Pending,
            depends_on: depends_on.to_vec(),
            region: spec.region.clone(),
            deployed: false,
            attempts: Vec::new(),
            granted: spec.attempts_max,
            spent: 0,
            interruptions: 0,
            not_before: Timestamp(0),
            timeout_ms: spec.timeout_ms,
        }
    }

    /// A person's retry is one more attempt, however many there were.
    pub fn grant(&mut self) {
        self.granted = self.granted.max(self.spent) + 1;
        self.deployed = true;
    }
}

impl Attempt {
    pub fn new(task: TaskId, worker: WorkerId) -> Self {
        Self {
            task,
            worker,
            outcome: None,
            claim: None,
            has_checkout: false,
            has_run: false,
            collected: false,
            saving: None,
            snapshot: None,
            save_ended: false,
            verified: false,
            integrated: false,
            going: false,
            gone: false,
        }
    }

    /// Nothing that an agent did is left in its checkout alone, as far as the drivers could help it.
    pub fn is_put_away(&self) -> bool {
        self.outcome.is_some() && (!self.has_run || self.collected || self.save_ended)
    }

    pub fn has_failed(&self) -> bool {
        matches!(self.outcome, Some(Outcome::Failed | Outcome::Timeout | Outcome::Cancelled))
    }
}

impl Worker {
    pub fn new(attempt: AttemptId, left_ms: u64) -> Self {
        let (status, process) = (WorkerStatus::Created, Process::None);
        Self { attempt, status, process, turn: None, turns_count: 0, deadline: None, left_ms }
    }
}

impl Process {
    pub fn may_live(self) -> bool {
        matches!(self, Self::Alive | Self::Stopping)
    }
}
