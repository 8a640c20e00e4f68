//! What is remembered of each thing.

use pitcrew_model::{
    Action, AttemptId, Caps, Claim, CommitId, EffectId, LandingStatus, Measure, Outcome, Overlap,
    PlanHead, PlanId, PlanStatus, RepoPath, RequestId, RequestStatus, Spending, TaskId, TaskSpec,
    TaskStatus, Timestamp, ToolUse, Usage, WorkerId, WorkerStatus, Workspace,
};

#[derive(Debug)]
pub struct Plan {
    pub status: PlanStatus,
    pub overlap: Overlap,
    pub tasks: Vec<TaskId>,
    pub landing: LandingStatus,
    pub prepared: bool,
    pub checking_base: Option<EffectId>,
    /// That was cut short.
    pub base_cut: bool,
    pub merging: Option<EffectId>,
    pub integrated: Option<CommitId>,
    pub budget: Budget,
    /// A person's own agent has handed it out.
    pub is_clients: bool,
    /// Those of its tasks that only read.
    pub readers: Vec<TaskId>,
    /// What everybody may change, and what nobody may.
    pub shared: Vec<RepoPath>,
    pub denied: Vec<RepoPath>,
    /// How far the record of its own checks is told.
    pub egress: u64,
}

/// What was used of what may be used.
#[derive(Debug)]
pub struct Budget {
    pub usage: Usage,
    pub given: Caps,
    pub caps: Caps,
    pub warned: Vec<(Measure, u64)>,
    /// A person has said that no more is to be used.
    pub denied: bool,
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
    pub budget: Budget,
    /// Present where a worker has handed it out.
    pub part: Option<Part>,
    /// Who was told what.
    pub words: (String, String),
    /// What it may change.
    pub files: Vec<RepoPath>,
}

/// A task that is a part of what an attempt has to do.
#[derive(Debug)]
pub struct Part {
    pub parent: AttemptId,
    pub depth: u32,
    pub workspace: Workspace,
    /// It was given files by name.
    pub is_named: bool,
    /// It has ended, and its parent has not heard of that.
    pub unheard: bool,
    pub pulled: bool,
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
    /// Nothing is kept of what it does where it works.
    pub borrows: bool,
    pub children: Vec<TaskId>,
    /// How often it has handed something out, and when lately.
    pub handed_out: u32,
    pub handed_out_at: Vec<Timestamp>,
    /// How far the record of its way to the network is told.
    pub egress: u64,
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
    /// What its turn has told, or its last one.
    pub told: Usage,
    /// How often it has waited for a limit, and since when, with no answer of its model.
    pub waits: (u32, Timestamp),
    /// What a call of it waits for, and until when.
    pub wait: Option<(Vec<TaskId>, Timestamp)>,
    /// The requests that the answer to its last such call has named.
    pub shown: Vec<RequestId>,
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
    pub approves_landing: bool,
    pub budget: Option<Spending>,
    pub tool: Option<ToolUse>,
    pub action: Option<Action>,
    /// Since when it stands where it is.
    pub since: Timestamp,
    /// When it is decided although nobody has.
    pub due: Option<Timestamp>,
    /// What the agent must be told, once that is decided.
    pub word: Option<&'static str>,
    /// The agent has been told.
    pub answered: bool,
}

impl Budget {
    fn new(given: Caps) -> Self {
        Self { usage: Usage::NONE, given, caps: given, warned: Vec::new(), denied: false }
    }

    pub fn is_over(&self) -> bool {
        let over = |cap: Option<u64>, used: u64| cap.is_some_and(|it| it < u64::MAX && used >= it);
        let tokens = self.usage.tokens_in.saturating_add(self.usage.tokens_out);
        over(self.caps.tokens, tokens) || over(self.caps.cost_micros, self.usage.cost_micros)
    }
}

impl Plan {
    pub fn new(status: PlanStatus, head: &PlanHead) -> Self {
        Self {
            status,
            overlap: head.overlap,
            tasks: Vec::new(),
            landing: LandingStatus::None,
            prepared: false,
            checking_base: None,
            base_cut: false,
            merging: None,
            integrated: None,
            budget: Budget::new(head.caps),
            is_clients: false,
            readers: Vec::new(),
            shared: head.shared.clone(),
            denied: head.denied.clone(),
            egress: 0,
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
            budget: Budget::new(spec.caps),
            part: None,
            words: (spec.agent.to_string(), spec.work.prompt().to_owned()),
            files: spec.region.clone(),
        }
    }

    /// It works in somebody else's checkout.
    pub fn borrows(&self) -> bool {
        self.part.as_ref().is_some_and(|it| it.workspace != Workspace::Isolated)
    }

    /// A person's retry is one more attempt, however many there were.
    pub fn grant(&mut self) {
        self.granted = self.granted.max(self.spent) + 1;
        self.deployed = true;
    }
}

impl Attempt {
    pub fn new(task: TaskId, worker: WorkerId, borrows: bool) -> Self {
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
            borrows,
            children: Vec::new(),
            handed_out: 0,
            handed_out_at: Vec::new(),
            egress: 0,
        }
    }

    /// Nothing that an agent did is left in its checkout alone, as far as the drivers could help it.
    pub fn is_put_away(&self) -> bool {
        let kept = self.collected || self.save_ended || self.borrows;
        self.outcome.is_some() && (!self.has_run || kept)
    }

    pub fn has_failed(&self) -> bool {
        matches!(self.outcome, Some(Outcome::Failed | Outcome::Timeout | Outcome::Cancelled))
    }
}

impl Worker {
    pub fn new(attempt: AttemptId, left_ms: u64) -> Self {
        let (status, process) = (WorkerStatus::Created, Process::None);
        let (turn, deadline, told) = (None, None, Usage::NONE);
        Self {
            attempt,
            status,
            process,
            turn,
            turns_count: 0,
            deadline,
            left_ms,
            told,
            waits: (0, Timestamp(0)),
            wait: None,
            shown: Vec::new(),
        }
    }

    /// A day, and ten times.
    pub fn has_waited_enough(&self, at: Timestamp) -> bool {
        self.waits.0 >= 10 && at.since(self.waits.1) >= 24 * 60 * 60 * 1_000
    }
}

impl Process {
    pub fn may_live(self) -> bool {
        matches!(self, Self::Alive | Self::Stopping)
    }
}
