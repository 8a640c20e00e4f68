//! Attempts, their agents and their turns.

use super::{Attempt, Ledger, Process, Worker, place};
use crate::broken::hold;
use pitcrew_model::{
    AttemptId, EffectId, Failure, Outcome, Overlap, PlanStatus, TaskId, TaskStatus, TurnCause,
    Usage, WorkerId, WorkerStatus, overlap,
};

impl Ledger {
    pub(super) fn attempt_opened(
        &mut self,
        attempt: AttemptId,
        task: TaskId,
        worker: WorkerId,
        number: u32,
    ) {
        self.check_start(task);
        let row = self.task(task);
        let before = row.attempts.last().copied();
        hold!(row.status == TaskStatus::Starting, "a starting task has an attempt", "{task}");
        row.attempts.push(attempt);
        let count = row.attempts.len();
        hold!(
            number as usize == count,
            "attempts are counted",
            "{attempt} is #{number} of {count}"
        );
        if let Some(before) = before {
            let put_away = self.attempt(before).is_put_away();
            hold!(put_away, "an attempt is put away before the next", "{before} of {task}");
        }
        let borrows = self.task(task).borrows();
        self.attempts.push(Attempt::new(task, worker, borrows));
        let timeout_ms = self.task(task).timeout_ms;
        self.workers.push(Worker::new(attempt, timeout_ms));
        let ids = (self.attempts.len() as u64, self.workers.len() as u64);
        hold!(ids == (attempt.0, worker.0), "ids have no gap", "{attempt} {worker}");
    }

    fn check_start(&self, task: TaskId) {
        let row = &self.tasks[place(task.0)];
        hold!(!self.is_held(task), "a limit is waited for", "{task} starts");
        hold!(!self.is_over(task), "nothing begins over its cap", "{task} starts");
        for dependency in &row.depends_on {
            let status = self.tasks[place(dependency.0)].status;
            let done = status == TaskStatus::Completed;
            hold!(done, "dependents start after integration", "{task}: {dependency} is {status}");
        }
        let plan = &self.plans[place(row.plan.0)];
        let runs = plan.status == PlanStatus::Active && plan.prepared;
        hold!(runs, "only an active plan starts tasks", "{task}: {} is {}", row.plan, plan.status);
        if row.part.is_some() {
            return self.check_child(task);
        }
        if plan.overlap == Overlap::Allow {
            return;
        }
        // A sub-task works in its parent's region.
        let others = self.tasks.iter().zip(1..).filter(|it| it.0.part.is_none());
        let numbered = others.filter(|it| it.1 != task.0);
        for (other, number) in numbered.filter(|it| it.0.status.in_attempt()) {
            let beside = overlap(&row.region, &other.region);
            hold!(!beside, "regions never overlap", "{task} starts beside task-{number}");
        }
    }

    pub(super) fn attempt_ended(
        &mut self,
        attempt: AttemptId,
        outcome: Outcome,
        failure: Option<&Failure>,
    ) {
        let row = self.attempt(attempt);
        hold!(row.outcome.is_none(), "an attempt has one outcome", "{attempt}");
        let integrated = row.integrated || self.is_done(attempt);
        let row = self.attempt(attempt);
        hold!(outcome != Outcome::Success || integrated, "success means integrated", "{attempt}");
        row.outcome = Some(outcome);
        let worker = row.worker;
        if let Some(Failure::Timeout { .. }) = failure {
            self.timeouts_count += 1;
            let (at, deadline) = (self.at, self.worker(worker).deadline);
            let late = deadline.is_some_and(|it| it <= at);
            hold!(late, "no attempt times out early", "{attempt} at {at}: {deadline:?}");
        }
        if let Some(Failure::LimitStays { .. }) = failure {
            self.limits_given_up += 1;
            let (at, waits) = (self.at, self.worker(worker).waits);
            let long = self.worker(worker).has_waited_enough(at);
            hold!(long, "a limit is waited for", "{attempt} at {at}: {waits:?}");
        }
    }

    pub(super) fn start_asked(&mut self, worker: WorkerId) {
        self.check_confined(worker);
        let attempt = self.attempt_of(worker);
        let there = attempt.has_checkout && attempt.outcome.is_none();
        hold!(there, "an agent starts in a checkout", "{worker}");
        attempt.has_run = true;
        let row = self.worker(worker);
        hold!(row.process == Process::None, "an agent is started once", "{worker}");
        row.process = Process::Alive;
    }

    pub(super) fn turn_opened(&mut self, id: EffectId, worker: WorkerId, cause: &TurnCause) {
        let attempt = self.attempt_of(worker);
        let open = attempt.outcome.is_none();
        let kept = attempt.snapshot.is_none();
        hold!(open, "an attempt that has ended gets no turn", "{worker}");
        hold!(kept, "a turn begins when the last one is kept", "{worker}");
        let attempt = self.worker(worker).attempt;
        self.check_told(attempt);
        let held = self.is_held(self.attempts[place(attempt.0)].task);
        hold!(!held, "a limit is waited for", "{worker} gets a turn");
        let over = self.is_over(self.attempts[place(attempt.0)].task);
        hold!(!over, "nothing begins over its cap", "{worker} gets a turn");
        let status = self.plan_of(attempt).status;
        hold!(status != PlanStatus::Paused, "a paused plan begins no turn", "{worker}");
        let row = self.worker(worker);
        let (runs, lives) = (row.status == WorkerStatus::Running, row.process == Process::Alive);
        hold!(runs && lives, "a running worker gets turns", "{worker} is {}", row.status);
        hold!(row.turn.is_none(), "a worker has one turn at a time", "{worker}");
        let first = row.turns_count == 0;
        hold!(
            first == (*cause == TurnCause::Start),
            "the task is the first prompt, once",
            "{worker}"
        );
        row.turn = Some(id);
        row.reported = Usage::NONE;
        row.turns_count += 1;
    }

    pub(super) fn stop_asked(&mut self, worker: WorkerId) {
        let row = self.worker(worker);
        hold!(row.process == Process::Alive, "an agent is stopped once", "{worker}");
        row.process = Process::Stopping;
        row.deadline = None;
    }

    pub(super) fn agent_exited(&mut self, worker: WorkerId) {
        let row = self.worker(worker);
        hold!(row.process.may_live(), "an agent ends once", "{worker}");
        row.process = Process::Gone;
    }
}
