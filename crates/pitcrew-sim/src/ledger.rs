//! Folds the journal a second time, naively, and checks each event.
//!
//! It does not use the kernel's state, so it remembers what the kernel forgets.

mod rows;
mod moves;
mod attempts;
mod results;
mod budget;
mod family;
mod mail;
mod queries;
mod permissions;
mod bubbling;
mod zones;

pub use mail::Mail;
pub use queries::Queries;
pub use rows::{Attempt, Budget, Plan, Process, Request, SubtaskRow, Task, Worker};

use crate::{broken::hold, counters::Reached};
use pitcrew_model::{
    Access, Actor, AttemptId, Claim, CommitId, Effect, EffectId, EgressOf, Entry, Event, Grant,
    GrantId, LandingStatus, Matrix, PlanId, RequestId, RequestKind, RequestStatus, Sandbox, TaskId,
    TaskStatus, Tier, Timestamp, WorkerId, limits,
};
use std::collections::BTreeMap;

#[derive(Debug)]
pub struct Ledger {
    /// The number of entries.
    pub seq: u64,
    pub at: Timestamp,
    pub agents_max: u32,
    pub agents_live_max: u32,
    pub plans: Vec<Plan>,
    pub tasks: Vec<Task>,
    pub attempts: Vec<Attempt>,
    pub workers: Vec<Worker>,
    pub requests: Vec<Request>,
    pub mail: Mail,
    pub queries: Queries,
    pub matrix: Matrix,
    pub grants: BTreeMap<GrantId, Grant>,
    /// Backends that are held by a provider limit, or cannot reach their provider.
    pub held: BTreeMap<String, Timestamp>,
    /// The one task of a held backend that tries.
    pub probes: BTreeMap<String, (TaskId, Timestamp)>,
    /// The available sandbox, and the weakest tier that a person agreed to.
    pub sandbox: Option<Sandbox>,
    pub accepted_tier: Option<Tier>,
    /// Open effects, with the attempt whose checkout they remove.
    pub open: BTreeMap<EffectId, Option<AttemptId>>,
    pub reached: Reached,
    pub timeouts_count: u64,
    pub grants_given: u64,
    pub grants_used: u64,
    pub expired: u64,
    pub caps_warned: u64,
    pub caps_reached: u64,
    pub caps_raised: u64,
    pub limits_given_up: u64,
    pub family: family::Counts,
    pub bubbling: bubbling::Counts,
    /// How often each refused file was recorded, and the position of each worker's last one.
    pub blocked: BTreeMap<(WorkerId, Access, String), u32>,
    pub blocked_at: BTreeMap<WorkerId, u64>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            seq: 0,
            at: Timestamp(0),
            agents_max: limits::AGENTS_MAX_DEFAULT,
            agents_live_max: limits::AGENTS_LIVE_MAX_DEFAULT,
            plans: Vec::new(),
            tasks: Vec::new(),
            attempts: Vec::new(),
            workers: Vec::new(),
            requests: Vec::new(),
            mail: Mail::default(),
            queries: Queries::default(),
            matrix: Matrix::builtin(),
            grants: BTreeMap::new(),
            held: BTreeMap::new(),
            probes: BTreeMap::new(),
            sandbox: None,
            accepted_tier: None,
            open: BTreeMap::new(),
            reached: Reached::default(),
            timeouts_count: 0,
            grants_given: 0,
            grants_used: 0,
            expired: 0,
            caps_warned: 0,
            caps_reached: 0,
            caps_raised: 0,
            limits_given_up: 0,
            family: family::Counts::default(),
            bubbling: bubbling::Counts::default(),
            blocked: BTreeMap::new(),
            blocked_at: BTreeMap::new(),
        }
    }
}

/// Returns the index of the row of an id.
fn place(number: u64) -> usize {
    usize::try_from(number).expect("ids fit") - 1
}

impl Ledger {
    pub fn plan(&mut self, plan: PlanId) -> &mut Plan {
        &mut self.plans[place(plan.0)]
    }

    pub fn task(&mut self, task: TaskId) -> &mut Task {
        &mut self.tasks[place(task.0)]
    }

    pub fn attempt(&mut self, attempt: AttemptId) -> &mut Attempt {
        &mut self.attempts[place(attempt.0)]
    }

    pub fn worker(&mut self, worker: WorkerId) -> &mut Worker {
        &mut self.workers[place(worker.0)]
    }

    pub fn request(&mut self, request: RequestId) -> &mut Request {
        &mut self.requests[place(request.0)]
    }

    pub fn task_of(&self, attempt: AttemptId) -> &Task {
        self.task_of_row(&self.attempts[place(attempt.0)])
    }

    pub fn task_of_row(&self, attempt: &Attempt) -> &Task {
        &self.tasks[place(attempt.task.0)]
    }

    pub fn plan_id_of(&self, attempt: AttemptId) -> PlanId {
        self.task_of(attempt).plan
    }

    pub fn plan_of(&mut self, attempt: AttemptId) -> &mut Plan {
        let plan = self.plan_id_of(attempt);
        self.plan(plan)
    }

    pub fn attempt_of(&mut self, worker: WorkerId) -> &mut Attempt {
        let attempt = self.worker(worker).attempt;
        self.attempt(attempt)
    }

    /// Folds an entry with the effect that was stored with it.
    pub fn see(&mut self, entry: &Entry, effect: Option<&Effect>) {
        self.seq += 1;
        hold!(
            entry.seq.0 == self.seq,
            "the journal has no gap",
            "{} after {}",
            entry.seq,
            self.seq
        );
        self.at = entry.at;
        let id = EffectId(entry.seq.0);
        self.fold(id, &entry.event);
        if let Some(effect) = effect {
            self.check_prompt(effect);
            self.check_zone(effect);
            let removes = if let Effect::RemoveCheckout { attempt, .. } = effect {
                Some(*attempt)
            } else {
                None
            };
            self.open.insert(id, removes);
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each kind of event")]
    fn fold(&mut self, id: EffectId, event: &Event) {
        match event {
            Event::SettingsApplied { agents_live_max, .. } => {
                self.agents_live_max = *agents_live_max;
            }
            Event::AgentsMaxSet { count } => self.agents_max = *count,
            Event::PlanCreated { head, status, .. } => {
                self.plans.push(Plan::new(*status, head));
                self.reached.plans |= 1 << (*status as u32);
            }
            Event::TaskAdded { plan, task, spec, depends_on } => {
                self.tasks.push(Task::new(*plan, spec, depends_on));
                self.plan(*plan).tasks.push(*task);
            }
            Event::SubtaskAdded { plan, task, spec, delegation } => {
                self.subtask_added(*plan, *task, spec, delegation);
            }
            Event::AwaitBegun { worker, tasks, until, .. } => {
                self.await_begun(*worker, tasks, *until);
            }
            Event::AwaitEnded { worker, tasks, open, end, .. } => {
                self.await_ended(*worker, tasks, open, *end);
            }
            Event::ResultsHanded { worker, tasks } => self.results_handed(*worker, tasks),
            Event::PullAsked { attempt, task } => self.pull_asked(*attempt, *task),
            Event::PlanMoved { plan, from, to, .. } => self.plan_moved(*plan, *from, *to),
            Event::PlanOpened { plan } => self.plan_opened(*plan),
            Event::BaseCheckAsked { plan } => {
                let row = self.plan(*plan);
                (row.checking_base, row.base_cut) = (Some(id), false);
            }
            Event::TaskMoved { task, from, to, reason, actor } => {
                if *to == TaskStatus::Cancelled {
                    self.check_owns(*task, *actor);
                }
                self.task_moved(*task, *from, *to, reason);
            }
            Event::TaskDeployed { task, .. } => self.task(*task).deployed = true,
            Event::TaskHeld { task, .. } => self.task(*task).deployed = false,
            Event::RetryGranted { task, actor, .. } => self.retry_granted(*task, *actor),
            Event::AttemptOpened { attempt, task, worker, number, .. } => {
                self.attempt_opened(*attempt, *task, *worker, *number);
            }
            Event::AttemptEnded { attempt, outcome, failure } => {
                self.attempt_ended(*attempt, *outcome, failure.as_ref());
            }
            Event::UsageNoted { worker, usage } => self.usage_noted(*worker, *usage),
            Event::BudgetWarned(spending) => self.budget_warned(spending),
            Event::BackendHeld { backend, until, .. } => self.backend_held(backend, *until),
            Event::BackendProbed { backend, task } => self.backend_probed(backend, *task),
            Event::BackendReleased { backend, actor } => self.backend_released(backend, *actor),
            Event::WorkerMoved { worker, from, to, .. } => self.worker_moved(*worker, *from, *to),
            Event::AgentStartAsked { worker } => self.start_asked(*worker),
            Event::TurnOpened { worker, cause } => self.turn_opened(id, *worker, cause),
            Event::StopAsked { worker } => self.stop_asked(*worker),
            Event::AgentExited { worker, .. } => self.agent_exited(*worker),
            Event::CompletionClaimed { attempt, claim, .. } => self.claimed(*attempt, *claim),
            Event::CollectAsked { attempt } => self.collect_asked(*attempt),
            Event::SaveAsked { attempt } => self.save_asked(id, *attempt),
            Event::VerifyAsked { attempt, onto } => self.verify_asked(id, *attempt, onto),
            Event::IntegrateAsked { attempt } => self.integrate_asked(id, *attempt),
            Event::RequestOpened { request, plan, worker, kind, .. } => {
                self.request_opened(*request, *plan, *worker, kind);
            }
            Event::RequestMoved { request, from, to, actor, .. } => {
                self.check_way(*request, *to, *actor);
                self.check_verdict(*request, *to, *actor);
                self.request_moved(*request, *from, *to);
            }
            Event::ToolAnswered { request, option, .. } => {
                self.tool_answered(*request, option.as_deref());
            }
            Event::LandingMoved { plan, from, to, .. } => self.landing_moved(*plan, *from, *to),
            Event::RemovalAsked { attempt } => self.removal_asked(*attempt),
            Event::EffectEnded { effect, result } => {
                self.effect_ended(*effect, result);
                self.turn_result(result);
            }
            Event::MessageQueued(message) => self.message_queued(message),
            Event::MessageMoved { message, from, to, reader, .. } => {
                self.message_moved(*message, *from, *to, *reader);
            }
            Event::AgentReattached { worker, away_ms } => {
                let row = self.worker(*worker);
                row.deadline = row.deadline.map(|it| it.plus(*away_ms));
            }
            Event::SnapshotAsked { attempt } => self.snapshot_asked(id, *attempt),
            Event::ToolDecided { worker, option, action, grant, .. } => {
                self.tool_decided(*worker, option.as_deref(), action.as_ref(), *grant);
            }
            Event::MatrixApplied { matrix } => self.matrix_applied(matrix),
            Event::GrantGiven { grant, request, actor } => self.granted(grant, *request, *actor),
            Event::GrantRevoked { grant, actor } => self.revoked(*grant, *actor),
            Event::AccessBlocked { worker, place, access, path, .. } => {
                self.access_blocked(*worker, *place, *access, path);
            }
            Event::EgressDecided(decision) => {
                let offset = match decision.whose {
                    EgressOf::Attempt(attempt) => &mut self.attempt(attempt).egress,
                    EgressOf::Plan(plan) => &mut self.plan(plan).egress,
                };
                let before = std::mem::replace(offset, decision.offset);
                hold!(
                    before < decision.offset,
                    "no line of a record is reported twice",
                    "{decision}"
                );
            }
            Event::AgentGroupCreated { group, parent, tasks } => {
                self.group_created(*group, *parent, tasks);
            }
            Event::AgentGroupMemberCompleted { group, task, success } => {
                self.group_member_ended(*group, *task, *success);
            }
            Event::QueryLimitsApplied { .. }
            | Event::CrewApplied { .. }
            | Event::QueryAsked { .. }
            | Event::QueryRouted { .. }
            | Event::QueryEnded { .. }
            | Event::QueryAnsweredLate { .. } => self.query_event(event),
            Event::SandboxApplied { sandbox } => self.sandbox = Some(sandbox.clone()),
            Event::TierAccepted { tier, actor } => {
                hold!(*actor == Actor::Person, "a person agrees to less", "{tier} by {actor}");
                self.accepted_tier = Some(*tier);
            }
            Event::StandaloneSpawned { plan, tasks, readers, .. } => {
                self.standalone_spawned(*plan, tasks, readers);
            }
            Event::RestoreAsked { .. }
            | Event::ClientCallTaken { .. }
            | Event::AgentConfined { .. }
            | Event::DropAsked { .. }
            | Event::TidyAsked
            | Event::CallTaken { .. }
            | Event::OutputHanded { .. }
            | Event::InterruptAsked { .. }
            | Event::ActivityNoted { .. }
            | Event::LandingPlanned { .. }
            | Event::MergedByHand { .. }
            | Event::Abandoned { .. } => {}
        }
    }

    fn backend_held(&mut self, backend: &str, until: Timestamp) {
        self.probes.remove(backend);
        let (at, before) = (self.at, self.held.insert(backend.into(), until));
        hold!(until > at, "a limit lasts", "{backend} until {until}, at {at}");
        let longer = before.is_none_or(|it| it < until || it <= at);
        hold!(longer, "a limit gets no shorter by itself", "{backend}: {before:?}, then {until}");
    }

    fn backend_probed(&mut self, backend: &str, task: TaskId) {
        let (at, until) = (self.at, self.held.get(backend));
        let over = until.is_some_and(|it| *it <= at);
        hold!(over, "a provider is tried after the wait", "{backend} until {until:?}, at {at}");
        let before = self.probes.insert(backend.into(), (task, at));
        hold!(before.is_none(), "one task tries at a time", "{backend}: {before:?}, then {task}");
    }

    fn backend_released(&mut self, backend: &str, actor: Actor) {
        let (at, until) = (self.at, self.held.remove(backend));
        // A probe waited for the end before it began. The clock may have gone back since.
        let is_probed = self.probes.remove(backend).is_some();
        let over = until.is_some_and(|it| it <= at || is_probed || actor == Actor::Person);
        hold!(over, "a limit is waited for", "{backend} until {until:?}, at {at}");
    }

    fn access_blocked(&mut self, worker: WorkerId, place: u64, access: Access, path: &str) {
        let last = self.blocked_at.insert(worker, place);
        let grows = last.is_none_or(|it| it < place);
        hold!(grows, "a refused file is noted once", "{worker} at {place} after {last:?}");
        let count = self.blocked.entry((worker, access, path.to_owned())).or_default();
        *count += 1;
        let few = *count <= limits::BLOCKED_PER_PATH_MAX;
        hold!(few, "a refused path is noted a few times", "{path} of {worker}: {count}");
    }

    /// Returns whether the backend of the task is held.
    pub fn is_held(&self, task: TaskId) -> bool {
        let vendor = self.tasks[place(task.0)].vendor.as_ref();
        let probes = |it: &String| self.probes.get(it).is_some_and(|it| it.0 == task);
        vendor.is_some_and(|it| self.held.contains_key(it) && !probes(it))
    }

    fn request_opened(
        &mut self,
        request: RequestId,
        plan: PlanId,
        worker: Option<WorkerId>,
        kind: &RequestKind,
    ) {
        if let (Some(worker), RequestKind::ToolUse { call, .. }) = (worker, kind) {
            let same = |it: &&Request| it.worker == Some(worker) && it.call.as_ref() == Some(call);
            let stands = |it: &Request| it.status != RequestStatus::Withdrawn;
            let again = self.requests.iter().any(|it| same(&it) && stands(it));
            hold!(!again, "a call is put before a person once", "{call} of {worker}");
        }
        let status = self.begins(worker, kind);
        self.reached.requests |= 1 << (status as u32);
        let call =
            if let RequestKind::ToolUse { call, .. } = kind { Some(call.clone()) } else { None };
        let approves_plan = *kind == RequestKind::PlanExecution;
        let approves_landing = *kind == RequestKind::BranchMerge;
        let budget = if let RequestKind::Budget(it) = kind { Some(*it) } else { None };
        if let Some(spending) = &budget {
            self.budget_asked(spending);
        }
        let (tool, action) = permissions::asked(kind);
        let due = tool.as_ref().and_then(|_| self.due_at(status));
        self.requests.push(Request {
            plan,
            worker,
            status,
            call,
            approves_plan,
            approves_landing,
            budget,
            tool,
            action,
            since: self.at,
            due,
            word: None,
            answered: false,
        });
        hold!(self.requests.len() as u64 == request.0, "ids have no gap", "{request}");
    }

    fn tool_answered(&mut self, request: RequestId, option: Option<&str>) {
        let it = self.request(request);
        let wanted = it.word;
        hold!(wanted.is_some(), "a call is answered by a person", "{request} is {}", it.status);
        hold!(!it.answered, "a call is answered once", "{request}");
        let same = option == wanted;
        hold!(same, "a call is answered as a person decided", "{request}: {option:?}");
        it.answered = true;
    }

    fn verify_asked(&mut self, id: EffectId, attempt: AttemptId, onto: &CommitId) {
        let row = self.attempt(attempt);
        hold!(row.collected, "only collected work is verified", "{attempt}");
        let plan = self.plan_of(attempt);
        hold!(plan.merging.is_none(), "one piece of work is verified at a time", "{attempt}");
        let is_known = plan.checking_base.is_none() && !plan.base_cut;
        hold!(is_known, "the base is checked before work is", "{attempt}");
        let head = plan.integrated.as_ref();
        hold!(
            head == Some(onto),
            "work is verified on the integration head",
            "{attempt} on {onto}"
        );
        plan.merging = Some(id);
    }

    fn integrate_asked(&mut self, id: EffectId, attempt: AttemptId) {
        let row = self.attempt(attempt);
        let (verified, failed) = (row.verified, row.has_failed());
        hold!(verified, "only what was verified is integrated", "{attempt}");
        hold!(!failed, "what has failed is not integrated", "{attempt}");
        let plan = self.plan_of(attempt);
        hold!(plan.merging.is_none(), "one piece of work is integrated at a time", "{attempt}");
        plan.merging = Some(id);
    }

    fn removal_asked(&mut self, attempt: AttemptId) {
        let row = self.attempt(attempt);
        let (worker, put_away) = (row.worker, row.is_put_away());
        hold!(put_away, "work is saved before its checkout goes", "{attempt}");
        hold!(!row.going && !row.gone, "a checkout is removed once", "{attempt}");
        row.going = true;
        let lives = self.worker(worker).process.may_live();
        hold!(!lives, "no checkout goes under a live agent", "{attempt}");
    }

    fn collect_asked(&mut self, attempt: AttemptId) {
        let row = self.attempt(attempt);
        let (open, claim, worker) = (row.outcome.is_none(), row.claim, row.worker);
        let done = matches!(claim, Some(Claim::Success | Claim::Partial));
        hold!(open && done, "work is collected when its agent says so", "{attempt}");
        let gone = self.worker(worker).process == Process::Gone;
        hold!(gone, "nothing is collected under a live agent", "{attempt}");
    }

    fn save_asked(&mut self, id: EffectId, attempt: AttemptId) {
        let row = self.attempt(attempt);
        row.saving = Some(id);
        let worker = row.worker;
        let lives = self.worker(worker).process.may_live();
        hold!(!lives, "nothing is saved under a live agent", "{attempt}");
    }

    fn snapshot_asked(&mut self, id: EffectId, attempt: AttemptId) {
        let row = self.attempt(attempt);
        let (open, worker) = (row.outcome.is_none(), row.worker);
        hold!(open, "what is over is not snapshotted", "{attempt}");
        hold!(row.snapshot.is_none(), "one snapshot is taken at a time", "{attempt}");
        row.snapshot = Some(id);
        let lives = self.worker(worker).process == Process::Alive;
        hold!(lives, "what is over is not snapshotted", "{attempt}");
    }

    fn landing_moved(&mut self, plan: PlanId, from: LandingStatus, to: LandingStatus) {
        let row = self.plan(plan);
        hold!(row.landing == from, "what moves was there", "{plan}: {from}, not {}", row.landing);
        hold!(from.may_become(to), "only legal transitions happen", "{plan}: {from} -> {to}");
        row.landing = to;
        let ended = row.status.has_ended();
        hold!(to != LandingStatus::Merging || ended, "an ended plan is landed", "{plan}");
        if from == LandingStatus::Review && to == LandingStatus::Merging {
            let mut asked =
                self.requests.iter().filter(|it| it.plan == plan && it.approves_landing);
            let agreed = asked.next_back().is_some_and(|it| it.status == RequestStatus::Approved);
            hold!(agreed, "a plan is landed when a person agreed", "{plan}");
        }
        self.reached.landings |= 1 << (to as u32) | 1 << (from as u32);
    }
}
