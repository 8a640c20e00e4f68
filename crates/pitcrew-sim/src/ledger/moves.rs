//! Transitions: from the current status, as the tables allow, and for a reason.

use super::{Ledger, place};
use crate::broken::hold;
use pitcrew_model::{
    Failure, Outcome, PlanId, PlanStatus, Reason, RequestId, RequestStatus, TaskId, TaskStatus,
    Timestamp, WorkerId, WorkerStatus, limits,
};

impl Ledger {
    pub(super) fn plan_moved(&mut self, plan: PlanId, from: PlanStatus, to: PlanStatus) {
        let row = self.plan(plan);
        hold!(row.status == from, "what moves was there", "{plan}: {from}, not {}", row.status);
        hold!(from.may_become(to), "only legal transitions happen", "{plan}: {from} -> {to}");
        row.status = to;
        row.base_cut |= row.checking_base.is_some() && to != PlanStatus::Active;
        self.reached.plans |= 1 << (from as u32) | 1 << (to as u32);
        if from == PlanStatus::AwaitingApproval && to == PlanStatus::Active {
            let mut asked = self.requests.iter().filter(|it| it.plan == plan && it.approves_plan);
            // A plan that grew was requested again: the last decision counts.
            let agreed = asked.next_back().is_none_or(|it| it.status == RequestStatus::Approved);
            hold!(agreed, "a plan runs when a person agreed", "{plan}");
        }
    }

    pub(super) fn plan_opened(&mut self, plan: PlanId) {
        let status = self.plan(plan).status;
        hold!(status == PlanStatus::Active, "only an active plan is prepared", "{plan}: {status}");
    }

    pub(super) fn task_moved(
        &mut self,
        task: TaskId,
        from: TaskStatus,
        to: TaskStatus,
        reason: &Reason,
    ) {
        let at = self.at;
        let row = self.task(task);
        let due = row.not_before;
        let waited = to != TaskStatus::Queued || due <= at;
        hold!(waited, "a back-off is waited for", "{task} waits until {due}");
        hold!(row.status == from, "what moves was there", "{task}: {from}, not {}", row.status);
        hold!(from.may_become(to), "only legal transitions happen", "{task}: {from} -> {to}");
        row.status = to;
        row.not_before = Timestamp(0);
        if let Reason::Failure { failure, retry_at } = reason {
            row.not_before = retry_at.unwrap_or_default();
            if from.in_attempt() {
                self.count_attempt(task, to, failure);
            } else if to == TaskStatus::Failed {
                let lost = matches!(failure, Failure::Checkout { .. });
                let stops = matches!(
                    failure,
                    Failure::Auth { .. }
                        | Failure::AgentMissing { .. }
                        | Failure::LimitStays { .. }
                        | Failure::ModelMissing { .. }
                ) || lost && self.task(task).part.is_some()
                    || matches!(failure, Failure::Sandbox { .. }) && !self.is_confined()
                    || matches!(failure, Failure::Budget(it) if self.budget(it.scope).denied);
                hold!(stops, "a task that waits fails with its backend only", "{task}: {failure}");
            }
        }
        self.reached.tasks |= 1 << (from as u32) | 1 << (to as u32);
        if to == TaskStatus::Completed {
            let last = self.task(task).attempts.last().copied().expect("it ran");
            let integrated = self.attempt(last).integrated || self.is_done(last);
            hold!(integrated, "completed means integrated", "{task}");
        }
        self.part_moved(task, from, to);
    }

    /// Counts attempts against the grants. Our own interruptions are free.
    fn count_attempt(&mut self, task: TaskId, to: TaskStatus, failure: &Failure) {
        let row = self.task(task);
        let not_its_fault = matches!(
            failure,
            Failure::Interrupted | Failure::Quota { .. } | Failure::Unreachable { .. }
        );
        let free = not_its_fault && row.interruptions < limits::INTERRUPTIONS_FREE_MAX;
        if free {
            row.interruptions += 1;
        } else {
            row.spent += 1;
        }
        let (spent, granted) = (row.spent, row.granted);
        let left = (free || spent < granted) && failure.is_retryable();
        let last = row.attempts.last().copied().expect("it ran");
        // Accepted work that does not merge needs the person again.
        let accepted = self.attempt(last).outcome == Some(Outcome::Partial);
        let detail = || format!("{task}: {spent} of {granted} are spent");
        if to == TaskStatus::Pending {
            hold!(left, "no attempt is begun that was not granted", "{}", detail());
        } else if to == TaskStatus::Failed && !accepted {
            hold!(!left, "every granted attempt is made", "{}", detail());
        }
    }

    pub(super) fn worker_moved(&mut self, worker: WorkerId, from: WorkerStatus, to: WorkerStatus) {
        let at = self.at;
        let row = self.worker(worker);
        if matches!(to, WorkerStatus::Starting | WorkerStatus::Running) {
            row.deadline.get_or_insert(at.plus(row.left_ms));
        } else if let Some(deadline) = row.deadline.take() {
            row.left_ms = deadline.since(at);
        }
        hold!(row.status == from, "what moves was there", "{worker}: {from}, not {}", row.status);
        hold!(from.may_become(to), "only legal transitions happen", "{worker}: {from} -> {to}");
        row.status = to;
        let is_parked = to == WorkerStatus::WaitingInput && row.turn.is_some();
        if to == WorkerStatus::WaitingQuota {
            let waits = row.waits;
            hold!(!row.has_waited_enough(at), "no worker waits forever", "{worker}: {waits:?}");
            let since = if row.waits.0 == 0 { at } else { row.waits.1 };
            row.waits = (row.waits.0 + 1, since);
        }
        self.queries.counts.parked += u64::from(is_parked);
        self.reached.workers |= 1 << (from as u32) | 1 << (to as u32);
    }

    pub(super) fn request_moved(
        &mut self,
        request: RequestId,
        from: RequestStatus,
        to: RequestStatus,
    ) {
        let row = &mut self.requests[place(request.0)];
        hold!(row.status == from, "what moves was there", "{request}: {from}, not {}", row.status);
        hold!(from.may_become(to), "only legal transitions happen", "{request}: {from} -> {to}");
        row.status = to;
        let (is_tool, budget) = (row.tool.is_some(), row.budget);
        let due = self.due_at(to).filter(|_| is_tool);
        let at = self.at;
        let row = &mut self.requests[place(request.0)];
        (row.since, row.due) = (at, due);
        if let Some(spending) = budget {
            self.budget_decided(&spending, to);
        }
        self.reached.requests |= 1 << (to as u32);
    }
}
