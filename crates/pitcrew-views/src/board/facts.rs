//! The facts of the events, each stored once.

use super::queries::QueryTally;
use crate::plain;
use pitcrew_model::{
    Access, Actor, AttemptId, BudgetScope, Caps, Claim, CommitId, Confined, Delegation, EffectId,
    EgressOf, Failure, KeptStates, Landing, LandingStatus, Outcome, PORTS_USUAL, PlanBase,
    PlanHead, PlanId, PlanStatus, Reason, RequestId, Sandbox, Seq, Spending, TaskId, TaskName,
    TaskOutput, TaskSpec, TaskStatus, Tier, Timestamp, Undo, Unsigned, Usage, WorkerId,
    WorkerStatus, limits,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};

/// The files of an attempt that are listed as refused.
const REFUSED_LISTED_MAX: usize = 50;

/// The read model of all plans and tasks.
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
    pub(super) requests: BTreeMap<RequestId, RequestSource>,
    /// Backends that are held by a provider limit or cannot reach their provider.
    pub(super) held: BTreeMap<String, Hold>,
    /// The last turn of each worker, and its usage so far.
    pub(super) turns: BTreeMap<WorkerId, (EffectId, Usage)>,
    /// The current caps of tasks and plans.
    pub(super) caps: BTreeMap<BudgetScope, Caps>,
    /// The open requests to raise caps.
    pub(super) caps_asked: BTreeMap<BudgetScope, RequestId>,
    /// The current activity of live workers. It is not in the journal.
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

/// What holds a backend.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    pub until: Timestamp,
    /// Why its provider cannot be reached; absent at a limit.
    pub unreachable: Option<String>,
    /// The task that tries meanwhile.
    pub probe: Option<TaskId>,
}

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub head: PlanHead,
    pub clean_base: bool,
    pub creator: Actor,
    pub status: PlanStatus,
    pub since: Timestamp,
    pub reason: String,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub base: Option<PlanBase>,
    pub base_check: BaseCheck,
    /// The head of the integration branch.
    pub integrated: Option<CommitId>,
    pub landing: LandingView,
    pub tasks: Vec<TaskId>,
    /// The last hosts that its own checks were refused.
    pub refused_places: Vec<RefusedPlace>,
    pub egress_offset: u64,
}

impl Plan {
    /// Returns whether its own checks are running: on its base, or at its landing.
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
    /// It was added after the plan was approved.
    pub held: bool,
    pub retries_granted: u32,
    pub attempts: Vec<AttemptId>,
    pub kept: KeptStates,
    pub created_at: Timestamp,
    /// Present for a sub-task.
    pub delegation: Option<Delegation>,
    /// Its sub-tasks.
    pub subtasks: Vec<TaskId>,
}

/// The origin of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestSource {
    pub plan: PlanId,
    pub task: Option<TaskId>,
    pub worker: Option<WorkerId>,
    /// The reached cap, if it is about one.
    pub budget: Option<Spending>,
}

/// One attempt at a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    pub id: AttemptId,
    pub task: TaskId,
    pub worker: WorkerId,
    /// 1 for the first.
    pub number: u32,
    /// The entry that opened it. Everything about it comes later in the journal.
    #[serde(default)]
    pub opened: Seq,
    /// The last step that started.
    pub step: Step,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// Absent while it is open.
    pub outcome: Option<Outcome>,
    pub failure: Option<Failure>,
    /// The outcome that the worker reported.
    pub claim: Option<Claim>,
    pub summary: Option<String>,
    pub start: CommitId,
    /// The base of its comparison. Older than `start` if it continues an earlier attempt.
    pub base: CommitId,
    /// Its work: collected at the gate, or saved after a failure.
    pub commit: Option<CommitId>,
    pub files_count: u64,
    pub insertions: u64,
    pub deletions: u64,
    pub turns_count: u64,
    pub usage: Usage,
    /// The path of its checkout, even if it was removed.
    pub path: Option<String>,
    /// A person abandoned the content of the checkout.
    pub abandoned: bool,
    /// When the checkout was removed.
    pub removed_at: Option<Timestamp>,
    /// Why the checkout could not be removed.
    pub kept: Option<String>,
    /// States of its work that can be restored.
    #[serde(default)]
    pub kept_count: u64,
    /// Its worker's queries.
    #[serde(default, skip_serializing_if = "QueryTally::is_empty")]
    pub queries: QueryTally,
    /// Why its last snapshot failed.
    #[serde(default)]
    pub unkept: Option<String>,
    /// The worker's output besides the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<TaskOutput>,
    #[serde(default, skip_serializing_if = "Blocked::is_none")]
    pub blocked: Blocked,
    /// The first of the different files that it could not write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_writes: Vec<String>,
    /// The last denied action, and the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<String>,
    /// The last hosts that it was refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_places: Vec<RefusedPlace>,
    /// How much of its network record was read.
    #[serde(skip)]
    pub egress_offset: u64,
}

/// The refused files outside the worker's zone, as far as they were recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    pub reads_count: u64,
    pub writes_count: u64,
    /// The size of what it did not have to read.
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

impl Attempt {
    pub(super) fn block(&mut self, access: Access, path: &str, bytes_saved: u64) {
        self.blocked.count(access, bytes_saved);
        let path = plain::line(path);
        let is_new = access == Access::Write && !self.refused_writes.contains(&path);
        if is_new && self.refused_writes.len() < REFUSED_LISTED_MAX {
            self.refused_writes.push(path);
        }
    }
}

/// A host that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedPlace {
    pub host: String,
    pub port: u16,
    pub reason: String,
    pub count: u32,
}

impl RefusedPlace {
    /// Returns the setting that would allow it, if there is one.
    pub fn remedy(&self) -> Option<String> {
        let Self { host, port, reason, .. } = self;
        let is_name = host.chars().all(|it| it.is_ascii_alphanumeric() || ".-_:[]".contains(it));
        if !is_name {
            return None;
        }
        if host == "localhost" || host.starts_with("127.") || host == "[::1]" {
            return Some(format!("forward = [{port}]"));
        }
        // Hosts of this machine and of cloud metadata are never allowed.
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
    /// Saves the work of a failed attempt.
    Save,
}

/// A running agent on one attempt.
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
    /// The agent's own id of the session.
    pub session: Option<String>,
    /// Its sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confined: Option<Confined>,
    pub activity: Option<Activity>,
    /// Its last message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<Activity>,
    /// Its open requests.
    pub requests: Vec<RequestId>,
    /// The worker whose answer it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<WorkerId>,
    /// How its process ended.
    pub exit: Option<String>,
}

/// The last activity of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    pub note: String,
    pub at: Timestamp,
}

/// The results of the checks on the base, before any task.
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
    /// Absent if it was killed at its timeout.
    pub code: Option<i32>,
    pub took_ms: u64,
}

/// The status and the result of a landing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingView {
    pub status: LandingStatus,
    pub since: Timestamp,
    pub reason: String,
    pub result: Option<Landing>,
    pub failure: Option<Failure>,
    /// A person merged the result, and no landing moved the branch.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub by_hand: bool,
    /// The commits that wait for a signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsigned: Option<Unsigned>,
    /// How the last landing was undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Undo>,
}

impl Board {
    /// Returns the last entry that was folded.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// Returns the attempts with live workers.
    pub fn live_attempts(&self) -> impl Iterator<Item = AttemptId> {
        self.workers.values().filter(|it| !it.status.has_ended()).map(|it| it.attempt)
    }

    /// Returns the open network records, each with how much of it was read.
    pub fn open_records(&self) -> impl Iterator<Item = (EgressOf, u64)> {
        let attempts = self.attempts.values().filter(|it| it.ended_at.is_none());
        let plans = self.plans.iter().filter(|it| it.1.is_checked());
        let attempts = attempts.map(|it| (EgressOf::Attempt(it.id), it.egress_offset));
        attempts.chain(plans.map(|(id, it)| (EgressOf::Plan(*id), it.egress_offset)))
    }

    /// Returns the plans whose result is on a separate branch, with the base branch and the result.
    pub fn side_branches(&self) -> Vec<(PlanId, String, CommitId)> {
        let side = self.plans.iter().filter(|it| it.1.landing.status == LandingStatus::SideBranch);
        let parts = side.filter_map(|(id, it)| {
            let branch = it.base.as_ref()?.branch.clone()?;
            Some((*id, branch, it.landing.result.as_ref()?.commit.clone()))
        });
        parts.collect()
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

    pub(crate) fn asked(&self, request: RequestId) -> Option<RequestSource> {
        self.requests.get(&request).copied()
    }

    /// Returns the saved states of a task.
    pub fn kept(&self, task: TaskId) -> Option<&KeptStates> {
        self.tasks.get(&task).map(|it| &it.kept)
    }

    pub fn attempt(&self, attempt: AttemptId) -> Option<&Attempt> {
        self.attempts.get(&attempt)
    }

    pub fn worker(&self, worker: WorkerId) -> Option<&Worker> {
        self.workers.get(&worker)
    }

    /// Returns the display name: `task-3 core-types`, or the bare id of an unknown task.
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
