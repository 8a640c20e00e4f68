//! Describes what a task waits for, or why it failed.

use super::{
    facts::{Attempt, Board, Plan, Step, Task},
    view::Moment,
};
use crate::{
    plain,
    words::{clock, duration},
};
use pitcrew_model::{
    Deploy, Overlap, PlanStatus, Reason, RepoPath, TaskId, TaskStatus, WorkerStatus, exclusive,
    overlap, text,
};

/// A reason with a rule, in bytes.
const REASON_BYTES_MAX: usize = 280;
/// The most names in a reason; the rest is counted.
const NAMES_LISTED_MAX: usize = 3;

impl Board {
    pub(super) fn reason(&self, id: TaskId, task: &Task, moment: &Moment) -> Option<String> {
        match task.status {
            TaskStatus::Pending => Some(self.why_pending(id, task, moment)),
            TaskStatus::Queued => Some(self.why_queued(id, task, moment)),
            TaskStatus::Starting => self.newest_attempt(task).map(|it| starting(it).to_owned()),
            TaskStatus::Running => self.why_running(task, moment),
            TaskStatus::Verifying | TaskStatus::Integrating => {
                self.newest_attempt(task).map(|it| finishing(it).to_owned())
            }
            TaskStatus::Blocked
            | TaskStatus::Partial
            | TaskStatus::Failed
            | TaskStatus::Cancelled => Some(self.why_moved(task)).filter(|it| !it.is_empty()),
            TaskStatus::Completed => None,
        }
    }

    fn why_pending(&self, id: TaskId, task: &Task, moment: &Moment) -> String {
        let plan = self.plans.get(&task.plan);
        if let Some(wait) = plan.and_then(plan_holds) {
            return wait.to_owned();
        }
        let unfinished =
            |it: &&TaskId| self.task(**it).is_none_or(|it| it.status != TaskStatus::Completed);
        let waits: Vec<TaskId> = task.depends_on.iter().filter(unfinished).copied().collect();
        if !waits.is_empty() {
            return format!("waits for {}", self.list(&waits));
        }
        let by_hand = task.held || plan.is_some_and(|it| it.head.deploy == Deploy::Manual);
        if by_hand && !task.deployed {
            return format!("waits for `pitcrew deploy {id}`");
        }
        match task.not_before() {
            Some(at) if at > moment.now => {
                let wait = duration(at.since(moment.now));
                format!("next attempt in {wait}, after: {}", self.why_moved(task))
            }
            Some(_) => format!("next attempt is due, after: {}", self.why_moved(task)),
            None => "is about to be queued".to_owned(),
        }
    }

    fn why_queued(&self, id: TaskId, task: &Task, moment: &Moment) -> String {
        let plan = self.plans.get(&task.plan);
        if plan.is_some_and(|it| it.status == PlanStatus::Paused) {
            return "the plan is paused".to_owned();
        }
        if let Some(limit) =
            self.cap_reached(id, task.plan).filter(|_| task.spec.vendor().is_some())
        {
            return limit;
        }
        if let Some(limit) = self.limit_of(id, task, moment) {
            return limit;
        }
        if plan.is_some_and(|it| it.head.overlap == Overlap::Wait)
            && let Some(holder) = self.region_holder(task, moment)
        {
            return format!("waits for the region of {}", self.task_name(holder));
        }
        let of_plan = moment.slots_of.get(&task.plan).copied().unwrap_or(0);
        if let Some(max) = plan.and_then(|it| it.head.agents_max).filter(|it| of_plan >= *it) {
            return format!("waits for a slot of its plan: {of_plan} of {max} are taken");
        }
        if moment.slots_taken >= self.agents_max {
            let (taken, max) = (moment.slots_taken, self.agents_max);
            return format!("waits for a slot: {taken} of {max} are taken");
        }
        "is about to be started".to_owned()
    }

    fn region_holder(&self, task: &Task, moment: &Moment) -> Option<TaskId> {
        let wanted = self.exclusive_region(task);
        let overlaps = |it: &Task| overlap(&self.exclusive_region(it), &wanted);
        moment.in_attempt.iter().copied().find(|it| self.task(*it).is_some_and(overlaps))
    }

    fn exclusive_region(&self, task: &Task) -> Vec<RepoPath> {
        let shared = self.plans.get(&task.plan).map_or(&[][..], |it| &it.head.shared);
        exclusive(&task.spec.region, shared).cloned().collect()
    }

    /// Describes what holds the backend of the task, if anything does.
    fn limit_of(&self, id: TaskId, task: &Task, moment: &Moment) -> Option<String> {
        let backend = task.spec.vendor()?;
        let hold = self.held.get(backend)?;
        let until = clock(hold.until, moment.now);
        if let Some(reason) = &hold.unreachable {
            return match hold.probe {
                Some(probe) if probe == id => None,
                Some(probe) => Some(format!("{reason}; {} tries again", self.task_name(probe))),
                None => Some(format!("{reason}; tries again at {until}")),
            };
        }
        Some(format!("waits for the limit of {} until {until}", plain::line(backend)))
    }

    fn why_running(&self, task: &Task, moment: &Moment) -> Option<String> {
        let attempt = self.newest_attempt(task)?;
        let worker = self.workers.get(&attempt.worker)?;
        let waits = |what: &str| match worker.requests.first() {
            Some(request) => format!("waits for {what}: {request}"),
            None => {
                let cap = self.cap_reached(attempt.task, task.plan);
                cap.unwrap_or_else(|| "waits for a slot to continue".to_owned())
            }
        };
        match worker.status {
            WorkerStatus::WaitingPermission => Some(waits("a permission")),
            WorkerStatus::WaitingInput => Some(match worker.asks {
                Some(asked) => format!("waits for an answer from {asked}"),
                None => waits("an answer"),
            }),
            WorkerStatus::WaitingQuota => {
                let limit = self.limit_of(attempt.task, task, moment);
                let cap = || self.cap_reached(attempt.task, task.plan);
                Some(
                    limit.or_else(cap).unwrap_or_else(|| "waits for a slot to continue".to_owned()),
                )
            }
            WorkerStatus::WaitingSubtasks => Some("waits for its sub-tasks".to_owned()),
            WorkerStatus::Paused => Some("the plan is paused".to_owned()),
            WorkerStatus::Created
            | WorkerStatus::Starting
            | WorkerStatus::Running
            | WorkerStatus::Completed
            | WorkerStatus::Failed
            | WorkerStatus::Killed => None,
        }
    }

    /// Returns the reason of the last move, or else the worker's summary.
    fn why_moved(&self, task: &Task) -> String {
        match &task.reason {
            Reason::DependencyEnded { task, status } => {
                format!("{} is {status}", self.task_name(*task))
            }
            Reason::Progress => {
                let said = self.newest_attempt(task).and_then(|it| it.summary.as_deref());
                plain::line(said.unwrap_or_default())
            }
            Reason::Failure { .. } => {
                let why = plain::line(&task.reason.to_string());
                let newest = self.newest_attempt(task);
                let denied = newest.and_then(|it| it.denied.clone());
                let refused = newest.filter(|it| !it.refused_writes.is_empty());
                match denied.or_else(|| refused.map(|_| may_change(task))) {
                    Some(rule) => with_rule(&why, &rule),
                    None => why,
                }
            }
            Reason::DependenciesCompleted
            | Reason::Unblocked
            | Reason::SlotFree
            | Reason::Retry
            | Reason::Cancelled
            | Reason::Accepted => plain::line(&task.reason.to_string()),
        }
    }

    fn list(&self, tasks: &[TaskId]) -> String {
        let listed = tasks.iter().take(NAMES_LISTED_MAX).map(|it| self.task_name(*it));
        let names = listed.collect::<Vec<_>>().join(", ");
        match tasks.len().saturating_sub(NAMES_LISTED_MAX) {
            0 => names,
            more => format!("{names} and {more} more"),
        }
    }
}

/// Returns what prevents all tasks of a plan from starting.
fn plan_holds(plan: &Plan) -> Option<&'static str> {
    match plan.status {
        PlanStatus::Draft => Some("the plan is a draft"),
        PlanStatus::Clarifying | PlanStatus::Decomposing => Some("the plan is being created"),
        PlanStatus::AwaitingApproval => Some("the plan waits for approval"),
        PlanStatus::Paused => Some("the plan is paused"),
        PlanStatus::Active if plan.base.is_none() => Some("the base is being prepared"),
        PlanStatus::Active
        | PlanStatus::Partial
        | PlanStatus::Failed
        | PlanStatus::Completed
        | PlanStatus::Cancelled => None,
    }
}

fn starting(attempt: &Attempt) -> &'static str {
    match attempt.step {
        Step::Checkout => "its checkout is being created",
        Step::Agent | Step::Collect | Step::Verify | Step::Integrate | Step::Save => {
            "its agent starts"
        }
    }
}

fn finishing(attempt: &Attempt) -> &'static str {
    match attempt.step {
        Step::Checkout | Step::Agent | Step::Collect | Step::Save if attempt.commit.is_none() => {
            "its work is being collected"
        }
        Step::Checkout | Step::Agent | Step::Collect | Step::Save => {
            "waits for its turn to be merged"
        }
        Step::Verify => "the checks run on the merged tree",
        Step::Integrate => "its work is being integrated",
    }
}

/// A reason with the rule behind it, short enough for one line with both.
fn with_rule(why: &str, rule: &str) -> String {
    let room = REASON_BYTES_MAX.saturating_sub(rule.len());
    let short = text::cut(why, room);
    let dots = if short.len() < why.len() { "…" } else { "" };
    format!("{short}{dots}; {rule}")
}

/// The rule behind a refused write.
fn may_change(task: &Task) -> String {
    let region: Vec<&str> = task.spec.region.iter().map(RepoPath::as_str).collect();
    match &region[..] {
        [] => "it may not write outside its zone".to_owned(),
        region => format!("it may write only in its region ({})", region.join(", ")),
    }
}
