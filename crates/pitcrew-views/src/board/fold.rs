//! Folds events into the facts.

use super::{
    facts::{
        Activity, Attempt, BaseCheck, Blocked, Board, Hold, LandingView, Plan, RefusedPlace,
        RequestSource, Step, Task, Worker,
    },
    queries::QueryTally,
};
use crate::{plain, timeline::denied};
use pitcrew_model::{
    Actor, AttemptId, BudgetScope, Delegation, EffectId, EgressDecision, EgressOf, Entry, Event,
    Failure, HoldCause, KeptStates, LandedAt, LandingStatus, Message, MessageKind, Outcome, Party,
    PlanHead, PlanId, PlanStatus, Reason, RequestId, RequestKind, RequestStatus, TaskId, TaskSpec,
    TaskStatus, Timestamp, Usage, WorkerId, WorkerStatus,
};

/// The most refused hosts that are shown of an attempt.
const REFUSED_PLACES_MAX: usize = 8;

impl Board {
    /// Folds one entry. Total: an entry that does not fit is ignored.
    #[expect(clippy::too_many_lines, reason = "one arm for each kind of event")]
    pub fn fold(&mut self, entry: &Entry) {
        self.seq = entry.seq;
        let at = entry.at;
        match &entry.event {
            Event::AgentsMaxSet { count } => self.agents_max = *count,
            Event::SandboxApplied { sandbox } => self.sandbox = Some(sandbox.clone()),
            Event::TierAccepted { tier, .. } => self.accepted_tier = Some(*tier),
            Event::PlanCreated { plan, head, status, clean_base, actor } => {
                self.limit(BudgetScope::Plan(*plan), head.caps);
                self.create_plan(*plan, (head, *clean_base), *actor, *status, at);
            }
            Event::TaskAdded { plan, task, spec, depends_on } => {
                self.limit(BudgetScope::Task(*task), spec.caps);
                self.add_task(*task, Task::new(*plan, spec, depends_on, at));
            }
            Event::SubtaskAdded { plan, task, spec, delegation } => {
                self.add_subtask(*task, delegation, Task::new(*plan, spec, &[], at));
            }
            Event::OutputHanded { attempt, output } => {
                self.edit_attempt(*attempt, |it| it.output = Some(output.clone()));
            }
            Event::PlanMoved { plan, to, reason, .. } => self.move_plan(*plan, *to, reason, at),
            Event::BaseCheckAsked { plan } => {
                self.edit_plan(*plan, |it| it.base_check = BaseCheck::Running);
            }
            Event::MergedByHand { plan, branch } => self.edit_plan(*plan, |it| {
                it.landing.by_hand = true;
                if let Some(result) = &mut it.landing.result {
                    result.at = LandedAt::Base { branch: branch.clone() };
                }
            }),
            Event::LandingMoved { plan, to, reason, .. } => {
                self.edit_plan(*plan, |it| it.landing.move_to(*to, reason, at));
            }
            Event::TaskMoved { task, to, reason, .. } => self.move_task(*task, *to, reason, at),
            Event::TaskDeployed { task, .. } => self.edit_task(*task, |it| it.deployed = true),
            Event::TaskHeld { task, .. } => self.edit_task(*task, |it| it.held = true),
            Event::RetryGranted { task, .. } => self.edit_task(*task, Task::grant_retry),
            Event::AttemptOpened { .. } => self.open_attempt(entry),
            Event::AttemptEnded { attempt, outcome, failure } => {
                self.edit_attempt(*attempt, |it| it.end(*outcome, failure.as_ref(), at));
            }
            Event::CompletionClaimed { attempt, claim, summary } => {
                self.edit_attempt(*attempt, |it| {
                    it.claim = Some(*claim);
                    it.summary = Some(plain::block(summary));
                });
            }
            Event::CollectAsked { attempt } => self.begin(*attempt, Step::Collect),
            Event::SaveAsked { attempt } => self.begin(*attempt, Step::Save),
            Event::VerifyAsked { attempt, .. } => self.begin(*attempt, Step::Verify),
            Event::IntegrateAsked { attempt } => self.begin(*attempt, Step::Integrate),
            Event::Abandoned { attempt, .. } => {
                self.edit_attempt(*attempt, |it| it.abandoned = true);
            }
            Event::BackendHeld { backend, until, reason, cause } => {
                let unreachable = (*cause == HoldCause::Unreachable).then(|| plain::line(reason));
                let hold = Hold { until: *until, unreachable, probe: None };
                self.held.insert(backend.clone(), hold);
            }
            Event::BackendProbed { backend, task } => {
                if let Some(hold) = self.held.get_mut(backend) {
                    hold.probe = Some(*task);
                }
            }
            Event::BackendReleased { backend, .. } => drop(self.held.remove(backend)),
            Event::WorkerMoved { worker, to, reason, .. } => {
                self.live.retain(|it, _| it != worker || !to.has_ended());
                self.edit_worker(*worker, |it| it.move_to(*to, reason, at));
            }
            Event::AgentStartAsked { worker } => {
                self.edit_attempt_of(*worker, |it| it.step = Step::Agent);
            }
            Event::TurnOpened { worker, .. } => {
                self.turns.insert(*worker, (EffectId(entry.seq.0), Usage::NONE));
                self.edit_attempt_of(*worker, Attempt::count_turn);
            }
            Event::UsageNoted { worker, usage } => self.note_usage(*worker, *usage),
            Event::AgentExited { worker, exit } => {
                self.edit_worker(*worker, |it| it.exit = Some(exit.to_string()));
            }
            Event::ActivityNoted { worker, note } => {
                let activity = Activity { note: plain::line(note), at };
                self.live.remove(worker);
                self.edit_worker(*worker, |it| it.activity = Some(activity));
            }
            Event::AccessBlocked { worker, access, path, bytes_saved, .. } => {
                self.edit_attempt_of(*worker, |it| it.block(*access, path, *bytes_saved));
            }
            Event::ToolDecided {
                worker,
                title,
                action: Some(action),
                denied_by: Some(rule),
                ..
            } => {
                let denied = denied(title, action, rule);
                self.edit_attempt_of(*worker, |it| it.denied = Some(denied));
            }
            Event::MessageQueued(message) => self.note_message(message, at),
            Event::QueryEnded { worker, outcome, tokens_spent, tokens_saved, .. } => {
                let tokens = (*tokens_spent, *tokens_saved);
                self.edit_worker(*worker, |it| it.asks = None);
                self.edit_attempt_of(*worker, |it| it.queries.count(*outcome, tokens.0, tokens.1));
            }
            Event::QueryRouted { worker, owner, .. } => {
                self.edit_worker(*worker, |it| it.asks = Some(*owner));
            }
            Event::QueryAnsweredLate { worker, tokens_spent, .. } => {
                self.edit_attempt_of(*worker, |it| it.queries.tokens_spent += tokens_spent);
            }
            Event::RequestOpened { request, plan, task, worker, kind } => {
                let budget =
                    if let RequestKind::Budget(spending) = kind { Some(*spending) } else { None };
                let asked = RequestSource { plan: *plan, task: *task, worker: *worker, budget };
                self.open_request(*request, asked);
            }
            Event::RequestMoved { request, to, .. } => self.move_request(*request, *to),
            Event::EffectEnded { effect, result } => {
                self.end_turn(*effect, result);
                self.fold_result(result, at);
            }
            Event::EgressDecided(it) => match it.whose {
                EgressOf::Attempt(attempt) => self.edit_attempt(attempt, |row| {
                    row.egress_offset = it.offset;
                    note_refusal(&mut row.refused_places, it);
                }),
                EgressOf::Plan(plan) => self.edit_plan(plan, |row| {
                    row.egress_offset = it.offset;
                    note_refusal(&mut row.refused_places, it);
                }),
            },
            Event::AgentConfined { worker, confined } => {
                self.edit_worker(*worker, |it| it.confined = Some(confined.clone()));
            }
            Event::BudgetWarned(_)
            | Event::PlanOpened { .. }
            | Event::StopAsked { .. }
            | Event::SnapshotAsked { .. }
            | Event::RestoreAsked { .. }
            | Event::DropAsked { .. }
            | Event::TidyAsked
            | Event::MatrixApplied { .. }
            | Event::CrewApplied { .. }
            | Event::GrantGiven { .. }
            | Event::GrantRevoked { .. }
            | Event::QueryLimitsApplied { .. }
            | Event::QueryAsked { .. }
            | Event::ClientCallTaken { .. }
            | Event::AgentGroupCreated { .. }
            | Event::AgentGroupMemberCompleted { .. }
            | Event::StandaloneSpawned { .. }
            | Event::InterruptAsked { .. }
            | Event::ToolDecided { .. }
            | Event::ToolAnswered { .. }
            | Event::AgentReattached { .. }
            | Event::CallTaken { .. }
            | Event::MessageMoved { .. }
            | Event::RemovalAsked { .. }
            | Event::AwaitBegun { .. }
            | Event::AwaitEnded { .. }
            | Event::ResultsHanded { .. }
            | Event::PullAsked { .. }
            | Event::LandingPlanned { .. }
            | Event::SettingsApplied { .. } => {}
        }
    }

    /// A note to the orchestrator is the current activity.
    fn note_message(&mut self, message: &Message, at: Timestamp) {
        if let (Party::Worker(worker), Party::Orchestrator) = (message.from, message.to) {
            let told = Activity { note: plain::line(&message.content), at };
            self.live.remove(&worker);
            self.edit_worker(worker, |it| {
                it.activity = Some(told.clone());
                it.told = Some(told);
            });
        }
        if let (MessageKind::Question, Party::Worker(asker), Party::Worker(asked)) =
            (message.kind, message.from, message.to)
        {
            self.edit_worker(asker, |it| it.asks = Some(asked));
        } else if let (MessageKind::Answer, Party::Worker(asker)) = (message.kind, message.to) {
            self.edit_worker(asker, |it| it.asks = None);
        }
    }

    /// Shows the current activity of a worker. This is not an event: nothing depends on it, and for
    /// an ended worker the journal decides.
    pub fn show_activity(&mut self, worker: WorkerId, note: &str, at: Timestamp) {
        if self.workers.get(&worker).is_some_and(|it| !it.status.has_ended()) {
            self.live.insert(worker, Activity { note: plain::line(note), at });
        }
    }

    fn create_plan(
        &mut self,
        plan: PlanId,
        (head, clean_base): (&PlanHead, bool),
        creator: Actor,
        status: PlanStatus,
        at: Timestamp,
    ) {
        self.plans.entry(plan).or_insert_with(|| Plan {
            head: head.clone(),
            clean_base,
            creator,
            status,
            since: at,
            reason: String::new(),
            created_at: at,
            ended_at: status.has_ended().then_some(at),
            base: None,
            base_check: BaseCheck::NotAsked,
            integrated: None,
            landing: LandingView {
                status: LandingStatus::None,
                since: at,
                reason: String::new(),
                result: None,
                failure: None,
                by_hand: false,
                unsigned: None,
                undo: None,
            },
            tasks: Vec::new(),
            refused_places: Vec::new(),
            egress_offset: 0,
        });
    }

    fn add_task(&mut self, id: TaskId, task: Task) {
        let Some(plan) = self.plans.get_mut(&task.plan) else { return };
        if let std::collections::btree_map::Entry::Vacant(place) = self.tasks.entry(id) {
            plan.tasks.push(id);
            place.insert(task);
        }
    }

    fn add_subtask(&mut self, id: TaskId, delegation: &Delegation, task: Task) {
        let parent = self.attempts.get(&delegation.parent).map(|it| it.task);
        let Some(parent) = parent.and_then(|it| self.tasks.get_mut(&it)) else { return };
        if !parent.subtasks.contains(&id) {
            parent.subtasks.push(id);
            self.tasks.insert(id, Task { delegation: Some(delegation.clone()), ..task });
        }
    }

    fn move_plan(&mut self, plan: PlanId, to: PlanStatus, reason: &str, at: Timestamp) {
        self.edit_plan(plan, |it| {
            it.status = to;
            it.since = at;
            it.reason = plain::line(reason);
            it.ended_at = to.has_ended().then_some(at);
        });
    }

    fn move_task(&mut self, task: TaskId, to: TaskStatus, reason: &Reason, at: Timestamp) {
        self.edit_task(task, |it| {
            it.status = to;
            it.since = at;
            it.reason = reason.clone();
        });
    }

    fn open_attempt(&mut self, entry: &Entry) {
        let Event::AttemptOpened { attempt, task, worker, number, start, base } = &entry.event
        else {
            return;
        };
        let at = entry.at;
        let Some(owner) = self.tasks.get_mut(task) else { return };
        if self.attempts.contains_key(attempt) || self.workers.contains_key(worker) {
            return;
        }
        owner.attempts.push(*attempt);
        self.workers.insert(
            *worker,
            Worker {
                id: *worker,
                plan: owner.plan,
                task: *task,
                attempt: *attempt,
                status: WorkerStatus::Created,
                since: at,
                reason: String::new(),
                agent: None,
                session: None,
                confined: None,
                activity: None,
                told: None,
                requests: Vec::new(),
                asks: None,
                exit: None,
            },
        );
        let opened = Attempt {
            id: *attempt,
            task: *task,
            worker: *worker,
            number: *number,
            opened: entry.seq,
            step: Step::Checkout,
            started_at: at,
            ended_at: None,
            outcome: None,
            failure: None,
            claim: None,
            summary: None,
            start: start.clone(),
            base: base.clone(),
            commit: None,
            files_count: 0,
            insertions: 0,
            deletions: 0,
            turns_count: 0,
            usage: Usage::default(),
            path: None,
            abandoned: false,
            removed_at: None,
            kept: None,
            kept_count: 0,
            queries: QueryTally::default(),
            unkept: None,
            output: None,
            blocked: Blocked::default(),
            refused_writes: Vec::new(),
            denied: None,
            refused_places: Vec::new(),
            egress_offset: 0,
        };
        self.attempts.insert(*attempt, opened);
    }

    fn begin(&mut self, attempt: AttemptId, step: Step) {
        self.edit_attempt(attempt, |it| it.step = step);
    }

    fn open_request(&mut self, request: RequestId, asked: RequestSource) {
        if self.requests.insert(request, asked).is_some() {
            return;
        }
        if let Some(spending) = asked.budget {
            self.caps_asked.insert(spending.scope, request);
        }
        if let Some(worker) = asked.worker {
            self.edit_worker(worker, |it| it.requests.push(request));
        }
    }

    fn move_request(&mut self, request: RequestId, to: RequestStatus) {
        let Some(asked) = self.asked(request) else { return };
        if let Some(spending) = asked.budget {
            self.decide_cap(&spending, to);
        }
        let Some(worker) = asked.worker else { return };
        if !to.is_open() {
            self.edit_worker(worker, |it| it.requests.retain(|open| *open != request));
        }
    }

    pub(super) fn edit_plan(&mut self, plan: PlanId, edit: impl FnOnce(&mut Plan)) {
        self.plans.get_mut(&plan).map(edit);
    }

    fn edit_task(&mut self, task: TaskId, edit: impl FnOnce(&mut Task)) {
        self.tasks.get_mut(&task).map(edit);
    }

    pub(super) fn edit_attempt(&mut self, attempt: AttemptId, edit: impl FnOnce(&mut Attempt)) {
        self.attempts.get_mut(&attempt).map(edit);
    }

    pub(super) fn edit_attempt_of(&mut self, worker: WorkerId, edit: impl FnOnce(&mut Attempt)) {
        if let Some(attempt) = self.workers.get(&worker).map(|it| it.attempt) {
            self.edit_attempt(attempt, edit);
        }
    }

    pub(super) fn edit_worker(&mut self, worker: WorkerId, edit: impl FnOnce(&mut Worker)) {
        self.workers.get_mut(&worker).map(edit);
    }
}

impl Task {
    fn new(plan: PlanId, spec: &TaskSpec, depends_on: &[TaskId], at: Timestamp) -> Self {
        Self {
            plan,
            spec: spec.clone(),
            depends_on: depends_on.to_vec(),
            status: TaskStatus::Pending,
            since: at,
            reason: Reason::Progress,
            deployed: false,
            held: false,
            retries_granted: 0,
            attempts: Vec::new(),
            kept: KeptStates::default(),
            created_at: at,
            delegation: None,
            subtasks: Vec::new(),
        }
    }

    fn grant_retry(&mut self) {
        self.retries_granted = self.retries_granted.saturating_add(1);
        self.deployed = true;
    }
}

impl Attempt {
    fn end(&mut self, outcome: Outcome, failure: Option<&Failure>, at: Timestamp) {
        self.ended_at = Some(at);
        self.outcome = Some(outcome);
        self.failure = failure.cloned();
    }

    fn count_turn(&mut self) {
        self.turns_count = self.turns_count.saturating_add(1);
    }
}

impl Worker {
    fn move_to(&mut self, to: WorkerStatus, reason: &str, at: Timestamp) {
        self.status = to;
        self.since = at;
        self.reason = plain::line(reason);
    }
}

impl LandingView {
    fn move_to(&mut self, to: LandingStatus, reason: &str, at: Timestamp) {
        self.status = to;
        self.since = at;
        self.reason = plain::line(reason);
    }
}

/// The newest refusals are kept, because people can act on them.
fn note_refusal(places: &mut Vec<RefusedPlace>, decision: &EgressDecision) {
    let EgressDecision { host, port, reason, count, allowed, .. } = decision;
    if *allowed {
        return;
    }
    let known = places.iter_mut().find(|it| it.host == *host && it.port == *port);
    if let Some(known) = known {
        known.count = known.count.saturating_add(*count);
        return;
    }
    if places.len() >= REFUSED_PLACES_MAX {
        places.remove(0);
    }
    let (host, reason) = (plain::line(host), plain::line(reason));
    places.push(RefusedPlace { host, port: *port, reason, count: *count });
}
