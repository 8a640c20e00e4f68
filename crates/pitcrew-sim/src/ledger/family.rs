//! Sub-tasks: within the limits, delivered once, and never left behind.

use super::{Ledger, Process, SubtaskRow, Task, place};
use crate::broken::hold;
use pitcrew_model::{
    Actor, AttemptId, AwaitEnd, Claim, Delegation, PlanId, PlanStatus, RepoPath, TaskId, TaskSpec,
    TaskStatus, Timestamp, WorkerId, WorkspaceMode, overlap,
};

/// Counts of events.
#[derive(Debug, Default)]
pub struct Counts {
    pub handed_out: u64,
    pub by_clients: u64,
    pub orphaned: u64,
    pub answered: u64,
    pub timed_out: u64,
    pub lost: u64,
    pub pulled: u64,
    pub told_by_turn: u64,
}

impl Ledger {
    /// Returns the task and its ancestors.
    pub fn chain(&self, task: TaskId) -> Vec<TaskId> {
        let mut chain = vec![task];
        while let Some(part) = &self.tasks[place(chain[chain.len() - 1].0)].part {
            chain.push(self.attempts[place(part.parent.0)].task);
        }
        chain
    }

    fn open_children(&self, attempt: AttemptId) -> Vec<TaskId> {
        let children = self.attempts[place(attempt.0)].children.iter().copied();
        children.filter(|it| !self.tasks[place(it.0)].status.has_ended()).collect()
    }

    pub(super) fn subtask_added(
        &mut self,
        plan: PlanId,
        task: TaskId,
        spec: &TaskSpec,
        delegation: &Delegation,
    ) {
        let Delegation { parent, depth, workspace, .. } = *delegation;
        let above = &self.attempts[place(parent.0)];
        let lives = self.workers[place(above.worker.0)].process == Process::Alive;
        let open = above.outcome.is_none() && above.claim.is_none() && lives;
        hold!(open, "only who is at work hands out work", "{task} of {parent}");
        self.handed_out(parent);
        let limits = self.matrix.limits;
        let wanted = self.task_of(parent).part.as_ref().map_or(0, |it| it.depth) + 1;
        hold!(depth == wanted, "depth is counted", "{task} is at {depth}, not {wanted}");
        hold!(
            depth <= limits.subtask_depth,
            "sub-tasks keep to the depth limit",
            "{task} at {depth}"
        );
        let is_clients = self.plans[place(plan.0)].is_clients;
        hold!(!is_clients, "what a client hands out is not handed on", "{task} of {parent}");
        let words = |it: &TaskId| &self.tasks[place(it.0)].words;
        let prompt = (spec.agent.to_string(), spec.work.prompt().to_owned());
        let again =
            self.chain(self.attempts[place(parent.0)].task).iter().any(|it| words(it) == &prompt);
        hold!(!again, "no agent gets the prompt of an ancestor", "{task}: {prompt:?}");
        if workspace == WorkspaceMode::Shared {
            for other in self.open_children(parent) {
                let row = &self.tasks[place(other.0)];
                let shares =
                    row.part.as_ref().is_some_and(|it| it.workspace == WorkspaceMode::Shared);
                let beside = shares && overlap(&row.files, &spec.region);
                hold!(!beside, "leases are disjoint", "{task} beside {other}");
            }
        }
        let is_named = !delegation.target_files.is_empty();
        if is_named && workspace != WorkspaceMode::ReadOnly {
            self.check_given(parent, task, &spec.region);
        }
        let part = SubtaskRow { parent, depth, workspace, is_named, unheard: false, pulled: false };
        let row = Task {
            part: Some(part),
            deployed: true,
            region: Vec::new(),
            ..Task::new(plan, spec, &[])
        };
        self.tasks.push(row);
        hold!(self.tasks.len() as u64 == task.0, "ids have no gap", "{task}");
        self.attempt(parent).children.push(task);
        self.family.handed_out += 1;
    }

    /// Checks the limits for a new or retried sub-task.
    fn handed_out(&mut self, parent: AttemptId) {
        let (at, limits) = (self.at, self.matrix.limits);
        let row = self.attempt(parent);
        row.handed_out += 1;
        row.handed_out_at.retain(|it| at.since(*it) < 60_000);
        row.handed_out_at.push(at);
        let (all, lately) = (row.handed_out, row.handed_out_at.len());
        hold!(all <= limits.subtasks_total, "a worker hands out so many", "{parent}: {all}");
        let few = lately <= limits.subtasks_per_minute as usize;
        hold!(few, "a worker hands out so many in a minute", "{parent}: {lately}");
    }

    /// A worker retries its own sub-tasks, which count as new ones.
    pub(super) fn retry_granted(&mut self, task: TaskId, actor: Actor) {
        self.check_owns(task, actor);
        let parent = self.tasks[place(task.0)].part.as_ref().map(|it| it.parent);
        if let (Some(parent), Actor::Worker(_)) = (parent, actor) {
            self.handed_out(parent);
        }
        self.task(task).grant();
    }

    /// Checks that a worker's command is about its own sub-tasks.
    pub(super) fn check_owns(&self, task: TaskId, actor: Actor) {
        let Actor::Worker(worker) = actor else { return };
        let parent = self.tasks[place(task.0)].part.as_ref().map(|it| it.parent);
        let own = parent.is_some_and(|it| self.attempts[place(it.0)].worker == worker);
        hold!(own, "a worker orders its own about", "{task} by {worker}");
    }

    /// The sub-tasks of an outside client are a plan of their own, with the house rules.
    pub(super) fn standalone_spawned(
        &mut self,
        plan: PlanId,
        tasks: &[TaskId],
        readers: &[TaskId],
    ) {
        let row = &self.plans[place(plan.0)];
        hold!(row.tasks == tasks && !tasks.is_empty(), "all are created or none", "{plan}");
        let draft = row.status == PlanStatus::Draft;
        hold!(draft, "who hands out makes a plan", "{plan} is {}", row.status);
        let live = |it: &super::Plan| it.is_clients && !it.status.has_ended();
        let plans = self.plans.iter().filter(|it| live(it));
        let open = plans.flat_map(|it| &it.tasks).filter(|it| self.is_going(**it));
        let all = u32::try_from(open.count() + tasks.len()).expect("few");
        let most = self.matrix.limits.subtasks_total;
        hold!(all <= most, "clients hand out so many", "{all} with those of {plan}");
        let deep = self.matrix.limits.subtask_depth_standalone;
        hold!(deep > 0, "sub-tasks keep to the depth limit", "{plan}");
        for task in tasks {
            let row = &self.tasks[place(task.0)];
            hold!(row.part.is_none(), "a client's sub-task works for no worker", "{task}");
            let denied = &self.plans[place(plan.0)].denied;
            let is_denied = |it: &RepoPath| denied.iter().any(|rule| rule.contains(it.as_str()));
            let kept = !row.files.iter().any(is_denied);
            hold!(kept, "no sub-task gets a denied path", "{task}: {:?}", row.files);
        }
        let row = self.plan(plan);
        row.is_clients = true;
        row.readers = readers.to_vec();
        self.family.by_clients += tasks.len() as u64;
    }

    fn is_going(&self, task: TaskId) -> bool {
        let status = self.tasks[place(task.0)].status;
        !status.has_ended() && status != TaskStatus::Blocked
    }

    /// Checks that a sub-task starts while its parent is open, within the parallel limit.
    pub(super) fn check_child(&self, task: TaskId) {
        let part = self.tasks[place(task.0)].part.as_ref().expect("a part");
        let parent = &self.attempts[place(part.parent.0)];
        hold!(parent.outcome.is_none(), "no child under an ended parent", "{task} starts");
        let active = |it: &&TaskId| self.tasks[place(it.0)].status.in_attempt();
        let count = u32::try_from(parent.children.iter().filter(active).count()).expect("few");
        let most = self.matrix.limits.subtasks_parallel;
        hold!(count <= most, "as many of a parent run at once as may", "{task}: {count}");
    }

    /// Returns whether the parent can get the sub-task's work.
    pub(super) fn is_done(&self, attempt: AttemptId) -> bool {
        let (row, task) = (&self.attempts[place(attempt.0)], self.task_of(attempt));
        let done = matches!(row.claim, Some(Claim::Success | Claim::Partial));
        task.part.is_some() && done && (row.collected || row.borrows)
    }

    pub(super) fn claimed(&mut self, attempt: AttemptId, claim: Claim) {
        let open = self.open_children(attempt);
        let row = &self.attempts[place(attempt.0)];
        let lives = self.workers[place(row.worker.0)].process == Process::Alive;
        let works = row.outcome.is_none() && lives;
        hold!(works, "only who is at work is done", "{attempt}");
        let idle = open.is_empty() || claim == Claim::Failed;
        hold!(idle, "no worker is done while its sub-tasks run", "{attempt}: {open:?}");
        self.attempt(attempt).claim = Some(claim);
    }

    pub(super) fn part_moved(&mut self, task: TaskId, from: TaskStatus, to: TaskStatus) {
        let Some(part) = &self.tasks[place(task.0)].part else { return };
        let over = self.attempts[place(part.parent.0)].outcome.is_some();
        hold!(to.has_ended() || !over, "no child under an ended parent", "{task}: {from} -> {to}");
        let ends = !from.has_ended() && to.has_ended();
        self.family.orphaned += u64::from(over && ends);
        if from.has_ended() != to.has_ended() {
            self.task(task).part.as_mut().expect("a part").unheard = ends;
        }
    }

    pub(super) fn group_created(&mut self, group: u64, parent: AttemptId, tasks: &[TaskId]) {
        let first = tasks.first().is_some_and(|it| it.0 == group) && tasks.len() > 1;
        hold!(first, "a group is known by its first", "{group}: {tasks:?}");
        let own = &self.attempt(parent).children;
        hold!(tasks.iter().all(|it| own.contains(it)), "a group is of one parent", "{group}");
    }

    pub(super) fn group_member_ended(&mut self, group: u64, task: TaskId, success: bool) {
        let status = self.tasks[place(task.0)].status;
        let same = status.has_ended() && success == (status == TaskStatus::Completed);
        hold!(same, "the end of a member is recorded", "{task} of {group} is {status}");
    }

    pub(super) fn await_begun(&mut self, worker: WorkerId, tasks: &[TaskId], until: Timestamp) {
        let row = self.worker(worker);
        hold!(row.wait.is_none(), "a worker waits in one call", "{worker}");
        hold!(row.turn.is_some(), "only a turn has calls", "{worker}");
        row.wait = Some((tasks.to_vec(), until));
        let attempt = row.attempt;
        let own = &self.attempt(attempt).children;
        hold!(tasks.iter().all(|it| own.contains(it)), "a worker waits for its own", "{worker}");
    }

    pub(super) fn await_ended(
        &mut self,
        worker: WorkerId,
        tasks: &[TaskId],
        open: &[TaskId],
        end: AwaitEnd,
    ) {
        let at = self.at;
        let wait = self.worker(worker).wait.take();
        let going = |it: &TaskId| !self.tasks[place(it.0)].status.has_ended();
        let left: Vec<TaskId> = tasks.iter().copied().filter(going).collect();
        hold!(left == open, "open sub-tasks are named", "{worker}: {open:?}, not {left:?}");
        match end {
            AwaitEnd::AllEnded => {
                hold!(left.is_empty(), "a wait ends with what it waits for", "{worker}: {left:?}");
                self.family.answered += 1;
            }
            AwaitEnd::TimedOut => {
                let late = wait.is_some_and(|it| it.1 <= at);
                hold!(late, "a wait lasts as long as was asked", "{worker}");
                self.family.timed_out += 1;
            }
            AwaitEnd::ChildAsks => {
                let attempt = self.worker(worker).attempt;
                let asks = self.asked_of(attempt).next().is_some();
                hold!(asks, "a wait is cut short for a request", "{worker}");
                self.bubbling.cut_short += 1;
            }
            AwaitEnd::Questioned => {}
            AwaitEnd::TurnOver | AwaitEnd::Replaced => {
                self.worker(worker).shown.clear();
                self.family.lost += 1;
                return;
            }
        }
        let attempt = self.worker(worker).attempt;
        let shown = self.asked_of(attempt).collect();
        self.worker(worker).shown = shown;
        self.check_heard(tasks);
    }

    /// Checks that an answer contains all ended sub-tasks.
    fn check_heard(&self, tasks: &[TaskId]) {
        for task in tasks {
            let row = &self.tasks[place(task.0)];
            let part = row.part.as_ref().expect("a part");
            hold!(!part.unheard, "every result is delivered", "{task} is {}", row.status);
        }
    }

    /// Checks that a worker gets all ended sub-tasks with a turn.
    pub(super) fn check_told(&mut self, attempt: AttemptId) {
        let children = self.attempt(attempt).children.clone();
        self.check_heard(&children);
    }

    pub(super) fn results_handed(&mut self, worker: WorkerId, tasks: &[TaskId]) {
        let (attempt, turn) = (self.worker(worker).attempt, self.worker(worker).turn);
        self.family.told_by_turn += u64::from(turn.is_none());
        for task in tasks {
            let row = self.task(*task);
            let status = row.status;
            let part = row.part.as_mut().expect("a part");
            hold!(part.parent == attempt, "a result is its parent's", "{task} for {worker}");
            hold!(status.has_ended(), "delivered results have ended", "{task} is {status}");
            hold!(part.unheard, "a result is delivered once", "{task} to {worker}");
            part.unheard = false;
        }
    }

    pub(super) fn pull_asked(&mut self, attempt: AttemptId, task: TaskId) {
        let row = self.task(task);
        let part = row.part.as_ref().expect("a part");
        let own =
            part.parent == attempt && part.workspace == WorkspaceMode::Isolated && !part.pulled;
        let done = matches!(row.status, TaskStatus::Completed | TaskStatus::Partial);
        hold!(own && done, "a parent pulls what its own has done", "{task} into {attempt}");
    }

    pub(super) fn pulled(&mut self, task: TaskId) {
        let part = self.task(task).part.as_mut().expect("a part");
        hold!(!part.pulled, "changes are pulled once", "{task}");
        part.pulled = true;
        self.family.pulled += 1;
    }
}
