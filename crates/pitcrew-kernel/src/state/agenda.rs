//! The input of the standing rules, updated with every change.
//!
//! It is derived from the rest of the state, so that finding the next step does not depend on the
//! number of tasks.

use super::{
    BaseCheck, Checkout, Process, Regions, Resumption, State, Worker,
    budget::{CapRequest, Standing},
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use pitcrew_model::{
    AttemptId, BudgetScope, GrantId, Overlap, PlanId, PlanStatus, RequestId, TaskId, TaskStatus,
    Timestamp, WorkerId, WorkerStatus,
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agenda {
    due: Vec<Due>,
    pub to_block: BTreeSet<TaskId>,
    pub to_unblock: BTreeSet<TaskId>,
    pub to_queue: BTreeSet<(Timestamp, TaskId)>,
    /// The oldest queued task of each group, oldest first. The others of its group wait with it.
    pub to_start: BTreeMap<TaskId, Group>,
    queued: BTreeMap<Group, BTreeSet<TaskId>>,
    /// Queued sub-tasks that only need a slot: their regions belong to their parents.
    pub children: BTreeSet<TaskId>,
    /// Sub-tasks that can be queued when the snapshot they start from is complete.
    pub soon: BTreeSet<TaskId>,
    /// Sub-tasks whose parent has ended without them.
    pub orphans: BTreeSet<TaskId>,
    /// Running workers between two turns that need no snapshot.
    pub resting: BTreeSet<WorkerId>,
    /// Running workers that only wait.
    pub to_wait: BTreeSet<WorkerId>,
    /// Running workers with a call that waits for an owner.
    pub asking: BTreeSet<WorkerId>,
    /// Waiting workers that continue at a time.
    pub waits: BTreeSet<(Timestamp, WorkerId)>,
    waits_until: BTreeMap<WorkerId, Timestamp>,
    /// Workers with a call that nobody waits for.
    pub lost_waits: BTreeSet<WorkerId>,
    /// Parked workers that could go on if they had a slot.
    pub returning: BTreeSet<WorkerId>,
    /// Waiting workers, and when a message wakes them.
    pub waking: BTreeSet<(Timestamp, WorkerId)>,
    waking_at: BTreeMap<WorkerId, Timestamp>,
    /// Running workers with a decided permission request.
    pub answered: BTreeSet<WorkerId>,
    /// Caps of which little is left, without a warning so far.
    pub near_caps: BTreeSet<BudgetScope>,
    /// Caps that are reached.
    over_caps: BTreeSet<BudgetScope>,
    /// Reached caps that stop a worker, without a request so far.
    pub caps_to_ask: BTreeSet<BudgetScope>,
    /// Requests for more that no longer stop a worker.
    pub caps_to_withdraw: BTreeSet<BudgetScope>,
    /// Tasks with a model that have not ended.
    unfinished: BTreeSet<(PlanId, TaskId)>,
    pub deadlines: BTreeSet<(Timestamp, WorkerId)>,
    /// Requests that expire.
    pub expiries: BTreeSet<(Timestamp, RequestId)>,
    /// Attempts that need a snapshot, and when.
    pub snapshots: BTreeSet<(Timestamp, AttemptId)>,
    /// Ended sub-tasks of groups that are not recorded yet.
    pub group_ends: BTreeSet<TaskId>,
    /// Grants whose task or plan has ended.
    pub spent_grants: BTreeSet<GrantId>,
    snapshots_due: BTreeMap<AttemptId, Timestamp>,
    pub to_verify: BTreeSet<PlanId>,
    pub to_end: BTreeSet<PlanId>,
    /// Landed plans whose checkouts are all removed.
    pub to_clean: BTreeSet<PlanId>,
    /// Workers whose processes may be alive.
    pub live: BTreeSet<WorkerId>,
    pub slots_used: u32,
    /// The slots of each plan that has any.
    slots_of_plans: BTreeMap<PlanId, u32>,
    /// Processes alive or about to be started.
    pub processes_count: u32,
    pub regions: Regions,
}

/// Tasks of the same region with the same overlap setting. Those of a plan with its own limit are
/// apart, so that they do not stop the others.
type Group = (u32, Overlap, Option<PlanId>);

/// What a standing rule has to do with a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Due {
    #[default]
    Nothing,
    Block,
    Unblock,
    Queue(Timestamp),
    Start(Group),
    StartChild,
    Soon,
}

impl Agenda {
    /// Returns whether the change affects who may continue.
    pub fn set_caps(&mut self, scope: BudgetScope, it: Standing) -> bool {
        set(&mut self.near_caps, scope, it.near);
        set(&mut self.caps_to_ask, scope, it.asking == CapRequest::Due);
        set(&mut self.caps_to_withdraw, scope, it.asking == CapRequest::Needless);
        set(&mut self.over_caps, scope, it.over)
    }

    /// Returns how many workers of the plan have a slot.
    pub fn slots_of(&self, plan: PlanId) -> u32 {
        self.slots_of_plans.get(&plan).copied().unwrap_or(0)
    }

    pub(crate) fn take_slot(&mut self, plan: PlanId) {
        self.slots_used += 1;
        *self.slots_of_plans.entry(plan).or_default() += 1;
    }

    fn free_slot(&mut self, plan: PlanId) {
        self.slots_used -= 1;
        let count = self.slots_of_plans.get_mut(&plan).expect("a freed slot was taken");
        *count -= 1;
        if *count == 0 {
            self.slots_of_plans.remove(&plan);
        }
    }

    pub fn has_unfinished(&self, plan: PlanId) -> bool {
        let first = self.unfinished.range((plan, TaskId(0))..).next();
        first.is_some_and(|it| it.0 == plan)
    }

    fn set_waking(&mut self, worker: WorkerId, at: Option<Timestamp>) {
        let before = match at {
            Some(at) => self.waking_at.insert(worker, at),
            None => self.waking_at.remove(&worker),
        };
        if let Some(before) = before {
            self.waking.remove(&(before, worker));
        }
        self.waking.extend(at.map(|at| (at, worker)));
    }

    fn set_due(&mut self, task: TaskId, due: Due) {
        let index = usize::try_from(task.0).expect("ids fit") - 1;
        if self.due.len() <= index {
            self.due.resize(index + 1, Due::Nothing);
        }
        let before = core::mem::replace(&mut self.due[index], due);
        if before == due {
            return;
        }
        match before {
            Due::Nothing => {}
            Due::Block => drop(self.to_block.remove(&task)),
            Due::Unblock => drop(self.to_unblock.remove(&task)),
            Due::Queue(at) => drop(self.to_queue.remove(&(at, task))),
            Due::Start(group) => self.leave_group(group, task),
            Due::StartChild => drop(self.children.remove(&task)),
            Due::Soon => drop(self.soon.remove(&task)),
        }
        match due {
            Due::Nothing => {}
            Due::Block => drop(self.to_block.insert(task)),
            Due::Unblock => drop(self.to_unblock.insert(task)),
            Due::Queue(at) => drop(self.to_queue.insert((at, task))),
            Due::Start(group) => self.join_group(group, task),
            Due::StartChild => drop(self.children.insert(task)),
            Due::Soon => drop(self.soon.insert(task)),
        }
    }

    fn join_group(&mut self, group: Group, task: TaskId) {
        let tasks = self.queued.entry(group).or_default();
        let head = tasks.first().copied();
        tasks.insert(task);
        if head.is_none_or(|head| task < head) {
            head.map(|head| self.to_start.remove(&head));
            self.to_start.insert(task, group);
        }
    }

    fn leave_group(&mut self, group: Group, task: TaskId) {
        let tasks = self.queued.get_mut(&group).expect("it joined the group");
        tasks.remove(&task);
        if self.to_start.remove(&task).is_some() {
            let head = tasks.first().map(|head| (*head, group));
            self.to_start.extend(head);
        }
        if tasks.is_empty() {
            self.queued.remove(&group);
        }
    }
}

impl State {
    pub(crate) fn refresh_task(&mut self, task: TaskId) {
        let due = self.due_of(task);
        self.agenda.set_due(task, due);
        let row = &self.tasks[task];
        let (plan, unfinished) = (row.plan, self.is_unfinished(row));
        if set(&mut self.agenda.unfinished, (plan, task), unfinished) {
            let chain: Vec<TaskId> = self.chain(task).map(|it| it.id).collect();
            for above in chain {
                self.refresh_caps(BudgetScope::Task(above));
            }
            self.refresh_caps(BudgetScope::Plan(plan));
        }
    }

    /// Updates everything a task waits for: its cap, its worker and the rules.
    pub(crate) fn refresh_task_wholly(&mut self, task: TaskId) {
        self.refresh_caps(BudgetScope::Task(task));
        self.refresh_task(task);
        if let Some(attempt) = self.tasks[task].last_attempt() {
            let worker = self.attempts[attempt].worker;
            let before = self.workers[worker].clone();
            self.refresh_worker(worker, &before);
        }
    }

    fn due_of(&self, task: TaskId) -> Due {
        let task = &self.tasks[task];
        let plan = &self.plans[task.plan];
        let runs = plan.status == PlanStatus::Active && plan.base.is_some();
        match task.status {
            TaskStatus::Pending if task.blocking_count > 0 => Due::Block,
            TaskStatus::Blocked if task.blocking_count == 0 => Due::Unblock,
            TaskStatus::Pending if runs && task.waits_for_snapshot => Due::Soon,
            TaskStatus::Pending
                if runs && task.deployed && task.waiting_count == 0 && self.is_put_away(task) =>
            {
                Due::Queue(task.not_before)
            }
            TaskStatus::Queued
                if runs && self.held_vendor(task).is_none() && !self.is_over_budget(task) =>
            {
                self.due_start(task, plan.head.overlap)
            }
            TaskStatus::Pending
            | TaskStatus::Queued
            | TaskStatus::Blocked
            | TaskStatus::Starting
            | TaskStatus::Running
            | TaskStatus::Verifying
            | TaskStatus::Integrating
            | TaskStatus::Completed
            | TaskStatus::Partial
            | TaskStatus::Failed
            | TaskStatus::Cancelled => Due::Nothing,
        }
    }

    /// A sub-task waits for a place among those of its parent, not for a region.
    fn due_start(&self, task: &super::Task, overlap: Overlap) -> Due {
        let Some(parent) = self.parent_of(task) else {
            let limited = self.plans[task.plan].head.agents_max.map(|_| task.plan);
            return Due::Start((task.region_key, overlap, limited));
        };
        let has_place = parent.family.active_count < self.spawn_limits().parallel_max;
        if has_place && parent.is_open() { Due::StartChild } else { Due::Nothing }
    }

    fn is_put_away(&self, task: &super::Task) -> bool {
        task.last_attempt().is_none_or(|it| self.attempts[it].put_away)
    }

    /// Returns whether another worker of the plan may have a slot, if there is one.
    pub fn plan_has_slot(&self, plan: PlanId) -> bool {
        let max = self.plans[plan].head.agents_max;
        max.is_none_or(|max| self.agenda.slots_of(plan) < max)
    }

    pub(crate) fn worker_has_slot(&self, worker: WorkerId) -> bool {
        let attempt = &self.attempts[self.workers[worker].attempt];
        self.plan_has_slot(self.tasks[attempt.task].plan)
    }

    pub(crate) fn refresh_worker(&mut self, worker: WorkerId, before: &Worker) {
        let now = &self.workers[worker];
        let plan = self.tasks[self.attempts[now.attempt].task].plan;
        let (returns, answers) = (self.can_return(now), self.can_be_answered(now));
        let (rests, asks) = (self.rests(now), self.asks_owner(now));
        let (waits, is_lost) = (self.does_wait(now), self.is_wait_lost(now));
        let until = now.wait.as_ref().filter(|_| waits && self.may_go_on(now)).map(|it| it.until);
        let until = until.filter(|_| now.status == WorkerStatus::WaitingSubtasks);
        let wakes_at = self.wakes_at(now);
        let agenda = &mut self.agenda;
        match (takes_slot(before.status), takes_slot(now.status)) {
            (false, true) => agenda.take_slot(plan),
            (true, false) => agenda.free_slot(plan),
            (true, true) | (false, false) => {}
        }
        match (counts_as_process(before), counts_as_process(now)) {
            (false, true) => agenda.processes_count += 1,
            (true, false) => agenda.processes_count -= 1,
            (true, true) | (false, false) => {}
        }
        if let Some(at) = before.deadline {
            agenda.deadlines.remove(&(at, worker));
        }
        if let Some(at) = now.deadline {
            agenda.deadlines.insert((at, worker));
        }
        set(&mut agenda.live, worker, matches!(now.process, Process::Alive | Process::Stopping));
        set(&mut agenda.returning, worker, returns);
        set(&mut agenda.answered, worker, answers);
        set(&mut agenda.to_wait, worker, waits && now.status == WorkerStatus::Running);
        set(&mut agenda.asking, worker, asks && now.status == WorkerStatus::Running);
        set(&mut agenda.lost_waits, worker, is_lost);
        set(&mut agenda.resting, worker, rests);
        let before = match until {
            Some(at) => agenda.waits_until.insert(worker, at),
            None => agenda.waits_until.remove(&worker),
        };
        if let Some(at) = before {
            agenda.waits.remove(&(at, worker));
        }
        agenda.waits.extend(until.map(|at| (at, worker)));
        agenda.set_waking(worker, wakes_at);
        self.refresh_snapshot(worker);
    }

    /// Only a live worker in a turn is snapshotted: otherwise its work is saved.
    fn refresh_snapshot(&mut self, worker: WorkerId) {
        let worker = &self.workers[worker];
        let attempt = &self.attempts[worker.attempt];
        let wanted = attempt.is_open()
            && worker.process == Process::Alive
            && attempt.snapshot.is_none()
            && attempt.family.pulls.is_empty();
        let due = attempt.snapshot_due.filter(|_| wanted);
        let (id, agenda) = (attempt.id, &mut self.agenda);
        let before = match due {
            Some(at) => agenda.snapshots_due.insert(id, at),
            None => agenda.snapshots_due.remove(&id),
        };
        if let Some(at) = before {
            agenda.snapshots.remove(&(at, id));
        }
        agenda.snapshots.extend(due.map(|at| (at, id)));
    }

    /// Returns whether it runs, with a decided permission request of its turn.
    fn can_be_answered(&self, worker: &Worker) -> bool {
        matches!(worker.next_resumption(), Some(Resumption::Permission { .. } | Resumption::Await))
            && self.attempts[worker.attempt].is_open()
            && worker.status == WorkerStatus::Running
            && worker.process == Process::Alive
    }

    fn can_return(&self, worker: &Worker) -> bool {
        worker.next_resumption().is_some()
            && worker.status.is_parked()
            && (worker.turn.is_some() || self.may_have_turn(worker))
            && self.may_go_on(worker)
    }

    /// Returns when a message wakes a worker that waits and has nothing to continue with.
    fn wakes_at(&self, worker: &Worker) -> Option<Timestamp> {
        let is_parked = matches!(
            worker.status,
            WorkerStatus::WaitingInput
                | WorkerStatus::WaitingSubtasks
                // An answer to its question may come after the turn that requested a permission.
                | WorkerStatus::WaitingPermission
        );
        let waits = is_parked
            && worker.turn.is_none()
            && worker.resumptions.is_empty()
            && self.attempts[worker.attempt].claim.is_none();
        let at = self.mailbox(worker.id).filter(|_| waits)?.presses_at()?;
        (self.may_have_turn(worker) && self.may_go_on(worker)).then_some(at)
    }

    /// Returns whether its turn has ended and needs no snapshot before the next one.
    fn rests(&self, worker: &Worker) -> bool {
        let attempt = &self.attempts[worker.attempt];
        attempt.checkout == Checkout::Borrowed
            && attempt.is_open()
            && worker.status == WorkerStatus::Running
            && worker.process == Process::Alive
            && worker.turn.is_none()
    }

    /// Returns whether its open call still waits.
    fn does_wait(&self, worker: &Worker) -> bool {
        worker.wait.as_ref().is_some_and(|it| !it.open.is_empty()) && !self.is_wait_lost(worker)
    }

    fn is_wait_lost(&self, worker: &Worker) -> bool {
        let lives = worker.turn.is_some() && worker.process == Process::Alive;
        worker.wait.is_some() && !(lives && self.attempts[worker.attempt].is_open())
    }

    fn may_go_on(&self, worker: &Worker) -> bool {
        let attempt = &self.attempts[worker.attempt];
        attempt.is_open()
            && worker.process == Process::Alive
            && self.plan_of(attempt).status == PlanStatus::Active
            && !(attempt.claim.is_none() && self.is_over_budget(&self.tasks[attempt.task]))
    }

    /// Returns whether the last turn is saved and no limit prevents another one.
    fn may_have_turn(&self, worker: &Worker) -> bool {
        let task = &self.tasks[self.attempts[worker.attempt].task];
        self.is_turn_kept(worker) && self.held_vendor(task).is_none()
    }

    /// Updates everything that a provider limit stops.
    pub(crate) fn refresh_backend(&mut self) {
        let runs = |it: &&super::Plan| it.status == PlanStatus::Active;
        let plans: Vec<PlanId> = self.plans.iter().filter(runs).map(|it| it.id).collect();
        for plan in plans {
            self.refresh_plan_wholly(plan);
        }
    }

    pub(crate) fn refresh_plan(&mut self, plan: PlanId) {
        let it = &self.plans[plan];
        // The failures on the base must be known before work is verified.
        let free = it.merging.is_none() && it.base_check == BaseCheck::Done;
        let verify = free && !it.merge_queue.is_empty();
        let running = matches!(it.status, PlanStatus::Active | PlanStatus::Paused);
        let end = running && it.open_count == 0;
        let clean = it.landing == pitcrew_model::LandingStatus::Merged && it.removals_count == 0;
        set(&mut self.agenda.to_verify, plan, verify);
        set(&mut self.agenda.to_end, plan, end);
        set(&mut self.agenda.to_clean, plan, clean);
    }

    /// Updates everything in a plan that began or ceased to run.
    pub(crate) fn refresh_plan_wholly(&mut self, plan: PlanId) {
        self.refresh_plan(plan);
        self.refresh_caps(BudgetScope::Plan(plan));
        for task in self.units(&self.plans[plan]) {
            self.refresh_task_wholly(task);
        }
    }
}

fn takes_slot(status: WorkerStatus) -> bool {
    matches!(status, WorkerStatus::Created | WorkerStatus::Starting | WorkerStatus::Running)
}

fn counts_as_process(worker: &Worker) -> bool {
    worker.status == WorkerStatus::Created
        || matches!(worker.process, Process::Alive | Process::Stopping)
}

/// Returns whether the membership has changed.
fn set<T: Ord>(members: &mut BTreeSet<T>, member: T, is_member: bool) -> bool {
    if is_member { members.insert(member) } else { members.remove(&member) }
}
