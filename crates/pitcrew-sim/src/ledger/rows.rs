//! The rows of the ledger.

use pitcrew_model::{
    Action, AttemptId, Caps, Claim, CommitId, EffectId, LandingStatus, Measure, Outcome, Overlap,
    PlanHead, PlanId, PlanStatus, RepoPath, RequestId, RequestStatus, Spending, TaskId, TaskSpec,
    TaskStatus, Timestamp, ToolUse, Usage, WorkerId, WorkerStatus, WorkspaceMode,
};

#[derive(Debug)]
pub struct Plan {
    pub status: PlanStatus,
    pub overlap: Overlap,
    pub tasks: Vec<TaskId>,
    pub landing: LandingStatus,
    pub prepared: bool,
    pub checking_base: Option<EffectId>,
    /// The base check was stopped.
    pub base_cut: bool,
    pub merging: Option<EffectId>,
    pub integrated: Option<CommitId>,
    pub budget: Budget,
    /// Created by an outside client.
    pub is_clients: bool,
    /// Tasks that only read.
    pub readers: Vec<TaskId>,
    /// Shared and denied paths.
    pub shared: Vec<RepoPath>,
    pub denied: Vec<RepoPath>,
    /// How much of the network record of its own checks was read.
    pub egress: u64,
}

/// Usage and caps.
#[derive(Debug)]
pub struct Budget {
    pub usage: Usage,
    pub given: Caps,
    pub caps: Caps,
    pub warned: Vec<(Measure, u64)>,
    /// A person denied more.
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
    /// Present for a sub-task.
    pub part: Option<SubtaskRow>,
    /// Its agent and prompt.
    pub words: (String, String),
    /// Its target files.
    pub files: Vec<RepoPath>,
}

/// A sub-task.
#[derive(Debug)]
pub struct SubtaskRow {
    pub parent: AttemptId,
    pub depth: u32,
    pub workspace: WorkspaceMode,
    /// It has target files.
    pub is_named: bool,
    /// It has ended, and its parent has not received the result.
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
    /// Its checkout was created.
    pub has_checkout: bool,
    /// Its agent was started, or may have been.
    pub has_run: bool,
    pub collected: bool,
    pub saving: Option<EffectId>,
    pub snapshot: Option<EffectId>,
    /// The driver tried to save, and reported the result.
    pub save_ended: bool,
    pub verified: bool,
    pub integrated: bool,
    pub going: bool,
    pub gone: bool,
    /// It works in a borrowed checkout.
    pub borrows: bool,
    pub children: Vec<TaskId>,
    /// The number of its sub-tasks, and the times of the last ones.
    pub handed_out: u32,
    pub handed_out_at: Vec<Timestamp>,
    /// How much of its network record was read.
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
    /// The rest of its timeout while it is parked.
    pub left_ms: u64,
    /// The reported usage of the current or the last turn.
    pub reported: Usage,
    /// How often it waited for a limit without an answer of its model, and since when.
    pub waits: (u32, Timestamp),
    /// The sub-tasks of its open call, and its timeout.
    pub wait: Option<(Vec<TaskId>, Timestamp)>,
    /// The requests in the answer to its last such call.
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
    /// When it got its current status.
    pub since: Timestamp,
    /// When it is decided by default.
    pub due: Option<Timestamp>,
    /// The decision that the agent must get.
    pub word: Option<&'static str>,
    /// The agent has the decision.
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

    /// Returns whether it works in another attempt's checkout.
    pub fn borrows(&self) -> bool {
        self.part.as_ref().is_some_and(|it| it.workspace != WorkspaceMode::Isolated)
    }

    /// A retry by a person is one more attempt.
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

    /// Returns whether all work is saved, as far as the drivers could.
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
        let (turn, deadline, reported) = (None, None, Usage::NONE);
        Self {
            attempt,
            status,
            process,
            turn,
            turns_count: 0,
            deadline,
            left_ms,
            reported,
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
