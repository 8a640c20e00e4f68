//! Builds short journals by hand.

use pitcrew_model::{
    Actor, AgentRef, AttemptId, CommitId, Deploy, EffectId, EffectResult, Effort, Entry, Event,
    Failure, Overlap, PlanBase, PlanHead, PlanId, PlanStatus, Reason, RepoPath, RequestId,
    RequestKind, Seq, TaskId, TaskSpec, TaskStatus, TaskWork, Timestamp, WorkerId, WorkerStatus,
};
use pitcrew_views::{Board, BoardView, Inbox, Line, Scope, line};
use std::fmt::Write;

pub const PLAN: PlanId = PlanId(1);

/// A journal that grows by one entry a second, and its read models.
#[derive(Default)]
pub struct Journal {
    pub board: Board,
    pub inbox: Inbox,
    pub entries: Vec<Entry>,
}

impl Journal {
    /// A plan that is active on a prepared base.
    pub fn active() -> Self {
        let mut journal = Self::default();
        journal.plan(PLAN, head("demo"));
        journal
    }

    pub fn plan(&mut self, plan: PlanId, head: PlanHead) {
        let actor = Actor::Person;
        let status = PlanStatus::Draft;
        self.push(Event::PlanCreated { plan, head, status, clean_base: false, actor });
        self.move_plan(plan, PlanStatus::Draft, PlanStatus::AwaitingApproval, "");
        self.move_plan(plan, PlanStatus::AwaitingApproval, PlanStatus::Active, "approved");
        self.result(EffectResult::PlanPrepared { plan, base: base() });
    }

    pub fn push(&mut self, event: Event) {
        let number = self.entries.len() as u64 + 1;
        let entry = Entry { seq: Seq(number), at: Timestamp(number * 1_000), event };
        self.board.fold(&entry);
        self.inbox.fold(&entry);
        self.entries.push(entry);
    }

    pub fn result(&mut self, result: EffectResult) {
        self.push(Event::EffectEnded { effect: EffectId(self.entries.len() as u64), result });
    }

    pub fn task(&mut self, number: u64, key: &str, region: &str, depends_on: &[u64]) {
        let depends_on = depends_on.iter().map(|it| TaskId(*it)).collect();
        self.push(Event::TaskAdded {
            plan: PLAN,
            task: TaskId(number),
            spec: spec(key, region),
            depends_on,
        });
    }

    pub fn move_plan(&mut self, plan: PlanId, from: PlanStatus, to: PlanStatus, reason: &str) {
        let (reason, actor) = (reason.to_owned(), Actor::Person);
        self.push(Event::PlanMoved { plan, from, to, reason, actor });
    }

    pub fn move_task(&mut self, task: u64, from: TaskStatus, to: TaskStatus, reason: Reason) {
        let (task, actor) = (TaskId(task), Actor::Orchestrator);
        self.push(Event::TaskMoved { task, from, to, reason, actor });
    }

    pub fn move_worker(&mut self, worker: u64, from: WorkerStatus, to: WorkerStatus) {
        let (worker, reason) = (WorkerId(worker), String::new());
        self.push(Event::WorkerMoved { worker, from, to, reason });
    }

    /// The task is queued, gets a slot and an attempt. A worker and its attempt have the same
    /// number.
    pub fn start(&mut self, task: u64, attempt: u64, number: u32) {
        self.move_task(task, TaskStatus::Pending, TaskStatus::Queued, Reason::Progress);
        self.move_task(task, TaskStatus::Queued, TaskStatus::Starting, Reason::SlotFree);
        self.push(Event::AttemptOpened {
            attempt: AttemptId(attempt),
            task: TaskId(task),
            worker: WorkerId(attempt),
            number,
            start: commit('a'),
            base: commit('a'),
        });
    }

    /// The checkout is created and the agent has its first turn.
    pub fn run(&mut self, task: u64, attempt: u64) {
        let path = format!("/w/task-{task}");
        self.result(EffectResult::CheckoutPrepared {
            attempt: AttemptId(attempt),
            path,
            notes: Vec::new(),
        });
        self.move_worker(attempt, WorkerStatus::Created, WorkerStatus::Starting);
        let worker = WorkerId(attempt);
        self.push(Event::AgentStartAsked { worker });
        let (agent, session) = ("tester".to_owned(), format!("session-{attempt}"));
        self.result(EffectResult::AgentReady { worker, agent, session });
        self.move_worker(attempt, WorkerStatus::Starting, WorkerStatus::Running);
        self.move_task(task, TaskStatus::Starting, TaskStatus::Running, Reason::Progress);
        self.push(Event::TurnOpened { worker, cause: pitcrew_model::TurnCause::Start });
    }

    pub fn ask(&mut self, request: u64, of: Option<(u64, u64)>, kind: RequestKind) {
        self.push(Event::RequestOpened {
            request: RequestId(request),
            plan: PLAN,
            task: of.map(|it| TaskId(it.0)),
            worker: of.map(|it| WorkerId(it.1)),
            kind,
        });
    }

    pub fn fail(&mut self, task: u64, attempt: u64, failure: Failure, to: TaskStatus) {
        let retry_at = (to == TaskStatus::Pending).then(|| self.now().plus(10_000));
        self.push(Event::AttemptEnded {
            attempt: AttemptId(attempt),
            outcome: failure.outcome(),
            failure: Some(failure.clone()),
        });
        self.move_worker(attempt, WorkerStatus::Running, WorkerStatus::Failed);
        self.move_task(task, TaskStatus::Running, to, Reason::Failure { failure, retry_at });
    }

    /// The time of the last entry.
    pub fn now(&self) -> Timestamp {
        self.entries.last().map_or(Timestamp(0), |it| it.at)
    }

    pub fn view(&self) -> BoardView {
        self.board.view(self.now(), Scope::All)
    }

    pub fn lines(&self) -> Vec<Line> {
        self.entries.iter().filter_map(|it| line(&self.board, it)).collect()
    }
}

pub fn commit(digit: char) -> CommitId {
    CommitId(digit.to_string().repeat(40))
}

pub fn base() -> PlanBase {
    PlanBase {
        branch: Some("main".to_owned()),
        tip: commit('a'),
        start: commit('b'),
        dirty_count: 2,
        notes: vec!["the repository is shallow".to_owned()],
        left_behind: pitcrew_model::LeftBehind::default(),
    }
}

pub fn head(name: &str) -> PlanHead {
    PlanHead {
        name: name.to_owned(),
        description: "What it is for.".to_owned(),
        base: None,
        deploy: Deploy::Auto,
        overlap: Overlap::Wait,
        effort: Effort::Medium,
        shared: Vec::new(),
        setup: vec!["make deps".to_owned()],
        setup_inputs: Vec::new(),
        caps: pitcrew_model::Caps::NONE,
        denied: Vec::new(),
        reads: pitcrew_model::Reads::Guided,
        include: Vec::new(),
        agents_max: None,
    }
}

pub fn spec(key: &str, region: &str) -> TaskSpec {
    let region = if region.is_empty() { None } else { RepoPath::parse_prefix(region).ok() };
    TaskSpec {
        key: key.to_owned(),
        work: TaskWork::Prompt { prompt: format!("Do {key}.") },
        region: region.into_iter().collect(),
        depends_on: Vec::new(),
        agent: AgentRef { backend: Some("claude".to_owned()), agent: Some("agent".to_owned()) },
        checks: vec!["make test".to_owned()],
        expected_files: Vec::new(),
        criteria: Vec::new(),
        attempts_max: 3,
        timeout_ms: 60_000,
        caps: pitcrew_model::Caps::NONE,
        model: None,
    }
}

/// Renders the board as text: only what tests compare.
pub fn render(view: &BoardView) -> String {
    let mut text = String::new();
    for plan in &view.plans {
        writeln!(text, "{} {}: {} {:?}", plan.id, plan.name, plan.status, plan.counts)
            .expect("a string takes everything");
    }
    for task in &view.tasks {
        let reason = task.reason.as_deref().unwrap_or("-");
        let worker = task.worker.map_or_else(|| "-".to_owned(), |it| it.to_string());
        writeln!(text, "  {} {}: {} by {worker}: {reason}", task.id, task.key, task.status)
            .expect("a string takes everything");
    }
    for worker in &view.workers {
        writeln!(text, "  {} on {}: {}", worker.id, worker.task, worker.status)
            .expect("a string takes everything");
    }
    text
}
