//! Joins the facts for display.

use super::{
    facts::{Attempt, Board, Plan, Task, Worker},
    shape::{BoardView, PlanView, RegionView, SessionView, SubtaskView, TaskView},
};
use pitcrew_model::{
    BudgetScope, Delegation, LandingStatus, PlanId, PlanStatus, Reason, Sandbox, SubtaskResult,
    TaskId, TaskStatus, Timestamp, Usage, WorkerStatus,
};
use std::collections::BTreeMap;

/// The plans of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Plans that need an action, and the newest one unless it was abandoned.
    Current,
    All,
    Only(PlanId),
}

impl Board {
    pub fn view(&self, now: Timestamp, scope: Scope) -> BoardView {
        let moment = self.moment(now);
        let newest = self.plans.keys().next_back().copied();
        let shown = |id: PlanId, plan: &Plan| match scope {
            Scope::Current if plan.landing.status == LandingStatus::Abandoned => false,
            Scope::Current => !plan.is_settled() || Some(id) == newest,
            Scope::All => true,
            Scope::Only(only) => id == only,
        };
        let mut view = BoardView {
            seq: self.seq,
            at: now,
            agents_max: self.agents_max,
            sandbox: self.show_sandbox(),
            slots_taken: moment.slots_taken,
            plans: Vec::new(),
            tasks: Vec::new(),
            subtasks: Vec::new(),
            workers: Vec::new(),
            regions: self.regions(),
            sessions: self.sessions(),
            held: self.held.iter().map(|(name, it)| (name.clone(), it.until)).collect(),
            unreachable: self
                .held
                .iter()
                .filter_map(|(name, it)| Some((name.clone(), it.unreachable.clone()?)))
                .collect(),
        };
        for (id, plan) in self.plans.iter().filter(|(id, plan)| shown(**id, plan)) {
            view.plans.push(self.show_plan(*id, plan));
            for id in &plan.tasks {
                let Some(task) = self.show_task(*id, &moment) else { continue };
                view.workers.extend(self.show_workers(&task));
                view.tasks.push(task);
                self.show_subtasks(*id, &moment, &mut view);
            }
        }
        view
    }

    /// Each after its parent, and before the next sub-task of the same parent.
    fn show_subtasks(&self, parent: TaskId, moment: &Moment, view: &mut BoardView) {
        let children = self.tasks.get(&parent).into_iter().flat_map(|it| &it.subtasks);
        for id in children {
            let Some(task) = self.show_task(*id, moment) else { continue };
            view.workers.extend(self.show_workers(&task));
            view.subtasks.push(task);
            self.show_subtasks(*id, moment, view);
        }
    }

    fn show_workers(&self, task: &TaskView) -> impl Iterator<Item = Worker> {
        let workers = task.attempts.iter().filter_map(|it| self.workers.get(&it.worker));
        workers.map(|it| self.show_worker(it)).collect::<Vec<_>>().into_iter()
    }

    pub fn plan_view(&self, plan: PlanId) -> Option<PlanView> {
        self.plans.get(&plan).map(|it| self.show_plan(plan, it))
    }

    pub fn task_view(&self, task: TaskId, now: Timestamp) -> Option<TaskView> {
        self.show_task(task, &self.moment(now))
    }

    fn show_plan(&self, id: PlanId, plan: &Plan) -> PlanView {
        let mut counts = BTreeMap::new();
        let mut usage = Usage::default();
        for task in plan.tasks.iter().filter_map(|it| self.tasks.get(it)) {
            *counts.entry(task.status).or_insert(0) += 1;
            usage = usage.plus(self.usage_below(task));
        }
        PlanView {
            id,
            name: plan.head.name.clone(),
            description: plan.head.description.clone(),
            status: plan.status,
            since: plan.since,
            reason: plan.reason.clone(),
            deploy: plan.head.deploy,
            setup: plan.head.setup.clone(),
            base: plan.base.clone(),
            base_check: plan.base_check.clone(),
            head: plan.integrated.clone(),
            landing: plan.landing.clone(),
            tasks: plan.tasks.clone(),
            counts,
            usage,
            vendors: self.usage_by_vendor(plan),
            queries: self.queries_of_plan(plan),
            caps: self.spendings(BudgetScope::Plan(id)),
            refused_places: plan.refused_places.clone(),
            created_at: plan.created_at,
            ended_at: plan.ended_at,
        }
    }

    fn show_sandbox(&self) -> Option<Sandbox> {
        let sandbox = self.sandbox.clone()?;
        let accepted = self.accepted_tier.is_some_and(|it| it <= sandbox.available);
        Some(Sandbox { consent: sandbox.consent || accepted, ..sandbox })
    }

    fn show_worker(&self, worker: &Worker) -> Worker {
        let live = self.live.get(&worker.id).cloned();
        Worker { activity: live.or_else(|| worker.activity.clone()), ..worker.clone() }
    }

    fn show_task(&self, id: TaskId, moment: &Moment) -> Option<TaskView> {
        let task = self.tasks.get(&id)?;
        let worker = self.newest_attempt(task).and_then(|it| self.workers.get(&it.worker));
        Some(TaskView {
            id,
            plan: task.plan,
            key: task.spec.key.clone(),
            prompt: task.spec.work.prompt().to_owned(),
            status: task.status,
            since: task.since,
            reason: self.reason(id, task, moment),
            not_before: task.not_before(),
            region: task.spec.region.clone(),
            depends_on: task.depends_on.clone(),
            agent: task.spec.agent.to_string(),
            attempts_max: task.spec.attempts_max.saturating_add(task.retries_granted),
            attempts: task
                .attempts
                .iter()
                .filter_map(|it| self.attempts.get(it))
                .cloned()
                .collect(),
            worker: worker.filter(|it| !it.status.has_ended()).map(|it| it.id),
            usage: self.usage_of(task),
            caps: self.spendings(BudgetScope::Task(id)),
            usage_below: self.usage_below(task),
            subtask: task.delegation.as_ref().and_then(|it| self.show_delegation(id, task, it)),
        })
    }

    fn show_delegation(
        &self,
        id: TaskId,
        task: &Task,
        delegation: &Delegation,
    ) -> Option<SubtaskView> {
        let parent = self.attempts.get(&delegation.parent)?;
        let has_ended = task.status.has_ended();
        let newest = self.newest_attempt(task);
        let claim = newest.and_then(|it| Some((it.claim?, it.summary.clone()?)));
        let result = |it: &Attempt| {
            let (output, failure) = (it.output.as_ref(), it.failure.as_ref());
            let (outcome, claim, count) = (it.outcome?, claim.as_ref(), it.files_count);
            Some(SubtaskResult::new(id, outcome, claim, output, failure, count))
        };
        Some(SubtaskView {
            parent_task: parent.task,
            parent_attempt: parent.id,
            parent_worker: parent.worker,
            kind: delegation.kind,
            depth: delegation.depth,
            workspace: delegation.workspace,
            target_files: delegation.target_files.clone(),
            blocking: delegation.blocking,
            expected_output: delegation.expected_output.clone(),
            model: task.spec.model.clone(),
            created_at: task.created_at,
            ended_at: has_ended.then_some(task.since),
            result: newest.filter(|_| has_ended).and_then(result),
        })
    }

    fn moment(&self, now: Timestamp) -> Moment {
        let takes_slot = |status| match status {
            WorkerStatus::Created | WorkerStatus::Starting | WorkerStatus::Running => true,
            WorkerStatus::WaitingInput
            | WorkerStatus::WaitingPermission
            | WorkerStatus::WaitingQuota
            | WorkerStatus::WaitingSubtasks
            | WorkerStatus::Paused
            | WorkerStatus::Completed
            | WorkerStatus::Failed
            | WorkerStatus::Killed => false,
        };
        let mut slots_of: BTreeMap<PlanId, u32> = BTreeMap::new();
        let takers = self.workers.values().filter(|it| takes_slot(it.status));
        for plan in takers.filter_map(|it| Some(self.tasks.get(&it.task)?.plan)) {
            *slots_of.entry(plan).or_default() += 1;
        }
        let open = self.tasks.iter().filter(|(_, it)| it.status.in_attempt());
        Moment {
            now,
            slots_taken: slots_of.values().sum(),
            slots_of,
            in_attempt: open.map(|(id, _)| *id).collect(),
        }
    }

    fn regions(&self) -> Vec<RegionView> {
        let live = self.workers.values().filter(|it| !it.status.has_ended());
        let owned = live.filter_map(|it| Some((it, self.tasks.get(&it.task)?)));
        let regions = owned.flat_map(|(worker, task)| {
            task.spec.region.iter().map(|region| RegionView {
                region: region.clone(),
                worker: worker.id,
                task: worker.task,
            })
        });
        let mut regions: Vec<RegionView> = regions.collect();
        regions
            .sort_by(|left, right| (&left.region, left.worker).cmp(&(&right.region, right.worker)));
        regions
    }

    fn sessions(&self) -> Vec<SessionView> {
        let live = self.workers.values().filter(|it| !it.status.has_ended());
        live.filter_map(|it| {
            Some(SessionView {
                worker: it.id,
                task: it.task,
                attempt: it.attempt,
                agent: it.agent.clone()?,
                session: it.session.clone()?,
                status: it.status,
            })
        })
        .collect()
    }
}

/// Values of the whole board at one moment, computed once for all tasks.
pub(super) struct Moment {
    pub now: Timestamp,
    pub slots_taken: u32,
    pub slots_of: BTreeMap<PlanId, u32>,
    pub in_attempt: Vec<TaskId>,
}

impl Plan {
    /// Returns whether the plan needs no action any more.
    fn is_settled(&self) -> bool {
        match self.landing.status {
            LandingStatus::Merged | LandingStatus::Cleaned | LandingStatus::Abandoned => true,
            LandingStatus::None
            | LandingStatus::Review
            | LandingStatus::Merging
            | LandingStatus::Conflict
            | LandingStatus::Signing
            | LandingStatus::Undoing
            | LandingStatus::Undone
            | LandingStatus::SideBranch => self.status == PlanStatus::Cancelled,
        }
    }
}

impl Task {
    /// Returns the end of its back-off; absent if it waits for something else.
    pub(super) fn not_before(&self) -> Option<Timestamp> {
        match &self.reason {
            Reason::Failure { retry_at, .. } if self.status == TaskStatus::Pending => *retry_at,
            Reason::Failure { .. }
            | Reason::Progress
            | Reason::DependenciesCompleted
            | Reason::DependencyEnded { .. }
            | Reason::Unblocked
            | Reason::SlotFree
            | Reason::Retry
            | Reason::Cancelled
            | Reason::Accepted => None,
        }
    }
}
