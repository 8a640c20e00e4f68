//! What the events said, each thing at one place.

use super::queries::QueryTally;
use crate::plain;
use pitcrew_model::{
    Access, AttemptId, BudgetScope, Caps, Claim, CommitId, Confined, Delegation, EffectId,
    EgressOf, Failure, KeptStates, Landing, LandingStatus, Outcome, PORTS_USUAL, PlanBase,
    PlanHead, PlanId, PlanStatus, Reason, RequestId, Sandbox, Seq, Spending, TaskId, TaskName,
    TaskOutput, TaskSpec, TaskStatus, Tier, Timestamp, Usage, WorkerId, WorkerStatus, limits,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};

/// The read model of everything that is under way or has ended.
#[derive(Clone, Debug)]
pub struct Board {
    pub(super) seq: Seq,
    pub(super) agents_max: u32,
    pub(super) sandbox: Option<Sandbox>,
    pub(super) accepted_tier: Option<Tier>,
    pub(super) plans: BTreeMap<PlanId, Plan>,
    pub(super) tasks: BTreeMap<TaskId, Task>,
    pub(super) attempts: BTreeMap<AttemptId, Attempt>,
    pub(super) workers: BTreeMap<WorkerId, Worker>,
    pub(super) requests: BTreeMap<RequestId, Asked>,
    /// Backends that wait for a limit of their provider, and until when.
    pub(super) held: BTreeMap<String, Timestamp>,
    /// The last turn of each worker, and what it has used so far.
    pub(super) turns: BTreeMap<WorkerId, (EffectId, Usage)>,
    /// What tasks and plans may use by now, where that is limited.
    pub(super) caps: BTreeMap<BudgetScope, Caps>,
    /// What a person is asked for the sake of whom.
    pub(super) caps_asked: BTreeMap<BudgetScope, RequestId>,
    /// What workers that have not ended do right now. In no event, and gone with us.
    pub(super) live: BTreeMap<WorkerId, Activity>,
}

impl Default for Board {
    fn default() -> Self {
        Self {
            seq: Seq(0),
            agents_max: limits::AGENTS_MAX_DEFAULT,
            sandbox: None,
            accepted_tier: None,
            plans: BTreeMap::new(),
            tasks: BTreeMap::new(),
            attempts: BTreeMap::new(),
            workers: BTreeMap::new(),
            requests: BTreeMap::new(),
            held: BTreeMap::new(),
            turns: BTreeMap::new(),
            caps: BTreeMap::new(),
            caps_asked: BTreeMap::new(),
            live: BTreeMap::new(),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub head: PlanHead,
    pub status: PlanStatus,
    pub since: Timestamp,
    pub reason: String,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub base: Option<PlanBase>,
    pub base_check: BaseCheck,
    /// Where the integration branch is.
    pub integrated: Option<CommitId>,
    pub landing: LandingView,
    pub tasks: Vec<TaskId>,
    /// Places outside their box that its own checks were refused, the last ones.
    pub refused_places: Vec<RefusedPlace>,
    pub egress_offset: u64,
}

impl Plan {
    /// Its own checks run: on its base, or at its landing.
    fn is_checked(&self) -> bool {
        self.base_check == BaseCheck::Running || self.landing.status == LandingStatus::Merging
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub plan: PlanId,
    pub spec: TaskSpec,
    pub depends_on: Vec<TaskId>,
    pub status: TaskStatus,
    pub since: Timestamp,
    pub reason: Reason,
    pub deployed: bool,
    /// It was added to a plan that was approved without it.
    pub held: bool,
    pub retries_granted: u32,
    pub attempts: Vec<AttemptId>,
    pub kept: KeptStates,
    pub created_at: Timestamp,
    /// Present where a worker has handed it out.
    pub delegation: Option<Delegation>,
    /// What its workers have handed out.
    pub subtasks: Vec<TaskId>,
}

/// Whom a request came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub plan: PlanId,
    pub task: Option<TaskId>,
    pub worker: Option<WorkerId>,
    /// The cap that is reached, where it is about one.
    pub budget: Option<Spending>,
}

/// One try at a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    pub id: AttemptId,
    pub task: TaskId,
    pub worker: WorkerId,
    /// 1 for the first.
    pub number: u32,
    /// The entry that opened it: everything about it comes later in the journal.
    #[serde(default)]
    pub opened: Seq,
    /// The last step that was begun.
    pub step: Step,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// Absent while it goes on.
    pub outcome: Option<Outcome>,
    pub failure: Option<Failure>,
    /// What the worker said of its work.
    pub claim: Option<Claim>,
    pub summary: Option<String>,
    pub start: CommitId,
    /// What its work is compared with: older than `start` where it goes on with an earlier attempt's.
    pub base: CommitId,
    /// What it made: collected through the gate, or saved after a failure.
    pub commit: Option<CommitId>,
    pub files_count: u64,
    pub insertions: u64,
    pub deletions: u64,
    pub turns_count: u64,
    pub usage: Usage,
    /// Where its checkout is or was.
    pub path: Option<String>,
    /// A person gave up what is in the checkout.
    pub abandoned: bool,
    /// When the checkout was removed.
    pub removed_at: Option<Timestamp>,
    /// Why the checkout could not be removed.
    pub kept: Option<String>,
    /// States of its work that can be restored.
    #[serde(default)]
    pub kept_count: u64,
    /// What its worker asked about code of others.
    #[serde(default, skip_serializing_if = "QueryTally::is_empty")]
    pub queries: QueryTally,
    /// Why its last snapshot could not be taken.
    #[serde(default)]
    pub unkept: Option<String>,
    /// What the worker handed in besides its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<TaskOutput>,
    #[serde(default, skip_serializing_if = "Blocked::is_none")]
    pub blocked: Blocked,
    /// The last thing that a rule denied it, and which rule that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<String>,
    /// Places outside its box that it was refused, the last ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_places: Vec<RefusedPlace>,
    /// How far the record of its way to the network is told.
    #[serde(skip)]
    pub egress_offset: u64,
}

/// The files outside its zone that a worker was refused, as far as they were noted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    pub reads_count: u64,
    pub writes_count: u64,
    /// What it did not have to read.
    pub bytes_saved: u64,
}

impl Blocked {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn count(&mut self, access: Access, bytes_saved: u64) {
        let count = match access {
            Access::Read => &mut self.reads_count,
            Access::Write => &mut self.writes_count,
        };
        *count = count.saturating_add(1);
        self.bytes_saved = self.bytes_saved.saturating_add(bytes_saved);
    }
}

/// A place outside a box that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedPlace {
    pub host: String,
    pub port: u16,
    pub reason: String,
    pub count: u32,
}

impl RefusedPlace {
    /// The setting that lets it through, where there is one.
    pub fn remedy(&self) -> Option<String> {
        let Self { host, port, reason, .. } = self;
        let is_name = host.chars().all(|it| it.is_ascii_alphanumeric() || ".-_:[]".contains(it));
        if !is_name {
            return None;
        }
        if host == "localhost" || host.starts_with("127.") || host == "[::1]" {
            return Some(format!("forward = [{port}]"));
        }
        // What leads to this machine, or to a cloud's metadata, is never let through.
        if reason.starts_with("it leads to") && !reason.ends_with("private network") {
            return None;
        }
        let port = if PORTS_USUAL.contains(port) { String::new() } else { format!(":{port}") };
        Some(format!("egress_allow = [\"{host}{port}\"]"))
    }
}

/// `evil.example:443: it is not on the allow-list; egress_allow = ["evil.example"] lets it through`
impl fmt::Display for RefusedPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, reason, .. } = self;
        write!(f, "{}:{port}: {}", plain::line(host), plain::line(reason))?;
        match self.remedy() {
            Some(remedy) => write!(f, "; {remedy} in your settings lets it through"),
            None => Ok(()),
        }
    }
}

/// The steps of an attempt, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    Checkout,
    Agent,
    Collect,
    Verify,
    Integrate,
    /// Puts away what an attempt that failed has left.
    Save,
}

/// A running instance of an agent on one attempt: who works on what, and where that stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worker {
    pub id: WorkerId,
    pub plan: PlanId,
    pub task: TaskId,
    pub attempt: AttemptId,
    pub status: WorkerStatus,
    pub since: Timestamp,
    pub reason: String,
    /// The name by which the agent introduced itself.
    pub agent: Option<String>,
    /// The agent's own name for the conversation.
    pub session: Option<String>,
    /// What it was started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confined: Option<Confined>,
    pub activity: Option<Activity>,
    /// What it told last, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<Activity>,
    /// What it has asked of a person and is not decided yet.
    pub requests: Vec<RequestId>,
    /// The worker whose answer it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<WorkerId>,
    /// How its process ended.
    pub exit: Option<String>,
}

/// What an agent did last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    pub note: String,
    pub at: Timestamp,
}

/// What the checks of a plan say of its base, before any task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum BaseCheck {
    NotAsked,
    Running,
    Done { checks: Vec<BaseCheckResult> },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseCheckResult {
    pub command: String,
    pub passed: bool,
    /// Absent: killed at the time-out.
    pub code: Option<i32>,
    pub took_ms: u64,
}

/// Where the landing of a plan stands, and what it became.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingView {
    pub status: LandingStatus,
    pub since: Timestamp,
    pub reason: String,
    pub result: Option<Landing>,
    pub failure: Option<Failure>,
}

impl Board {
    /// The last entry that was folded.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// The attempts whose workers have not ended.
    pub fn live_attempts(&self) -> impl Iterator<Item = AttemptId> {
        self.workers.values().filter(|it| !it.status.has_ended()).map(|it| it.attempt)
    }

    /// What goes on, each with how far the record of its way to the network is told.
    pub fn open_records(&self) -> impl Iterator<Item = (EgressOf, u64)> {
        let attempts = self.attempts.values().filter(|it| it.ended_at.is_none());
        let plans = self.plans.iter().filter(|it| it.1.is_checked());
        let attempts = attempts.map(|it| (EgressOf::Attempt(it.id), it.egress_offset));
        attempts.chain(plans.map(|(id, it)| (EgressOf::Plan(*id), it.egress_offset)))
    }

    pub fn live_workers_count(&self) -> usize {
        self.workers.values().filter(|it| !it.status.has_ended()).count()
    }

    pub(crate) fn plan(&self, plan: PlanId) -> Option<&Plan> {
        self.plans.get(&plan)
    }

    pub(crate) fn task(&self, task: TaskId) -> Option<&Task> {
        self.tasks.get(&task)
    }

    pub(crate) fn asked(&self, request: RequestId) -> Option<Asked> {
        self.requests.get(&request).copied()
    }

    /// What of a task's work is in the vault.
    pub fn kept(&self, task: TaskId) -> Option<&KeptStates> {
        self.tasks.get(&task).map(|it| &it.kept)
    }

    pub fn attempt(&self, attempt: AttemptId) -> Option<&Attempt> {
        self.attempts.get(&attempt)
    }

    pub fn worker(&self, worker: WorkerId) -> Option<&Worker> {
        self.workers.get(&worker)
    }

    /// `task-3 core-types`, as people know it; the bare id where the board has not seen it.
    pub(crate) fn task_name(&self, task: TaskId) -> String {
        match self.tasks.get(&task) {
            Some(it) => {
                let name = TaskName { task, is_part: it.delegation.is_some() };
                format!("{name} {}", plain::line(&it.spec.key))
            }
            None => task.to_string(),
        }
    }

    pub(super) fn newest_attempt(&self, task: &Task) -> Option<&Attempt> {
        task.attempts.last().and_then(|it| self.attempts.get(it))
    }
}
