//! Which events belong to the plans being followed.

use pitcrew_api::EventLine;
use pitcrew_model::{
    AttemptId, BudgetScope, EffectResult, EgressOf, Event, PlanId, RequestId, TaskId, WorkerId,
};
use pitcrew_views::BoardView;
use std::collections::BTreeSet;

/// The ids that belong to the plans. Grows with the events.
pub struct FollowedIds {
    plans: BTreeSet<PlanId>,
    tasks: BTreeSet<TaskId>,
    attempts: BTreeSet<AttemptId>,
    workers: BTreeSet<WorkerId>,
    requests: BTreeSet<RequestId>,
}

enum Subject {
    Plan(PlanId),
    Task(TaskId),
    Attempt(AttemptId),
    Worker(WorkerId),
    Request(RequestId),
    Workspace,
}

impl FollowedIds {
    pub fn of(board: &BoardView, plans: &[PlanId]) -> Self {
        let plans: BTreeSet<PlanId> = plans.iter().copied().collect();
        let tasks: Vec<_> = board.units().filter(|it| plans.contains(&it.plan)).collect();
        let attempts = || tasks.iter().flat_map(|it| &it.attempts);
        Self {
            tasks: tasks.iter().map(|it| it.id).collect(),
            attempts: attempts().map(|it| it.id).collect(),
            workers: attempts().map(|it| it.worker).collect(),
            requests: BTreeSet::new(),
            plans,
        }
    }

    pub fn follows(&self, plan: PlanId) -> bool {
        self.plans.contains(&plan)
    }

    pub fn includes(&mut self, line: &EventLine) -> bool {
        let event = line.entry.known().map(|it| &it.event);
        let subject = event.map_or(Subject::Workspace, subject);
        let includes = match subject {
            Subject::Plan(plan) => self.plans.contains(&plan),
            Subject::Task(task) => self.tasks.contains(&task),
            Subject::Attempt(attempt) => self.attempts.contains(&attempt),
            Subject::Worker(worker) => self.workers.contains(&worker),
            Subject::Request(request) => self.requests.contains(&request),
            Subject::Workspace => false,
        };
        let includes = includes || line.plan.is_some_and(|it| self.plans.contains(&it));
        if let (true, Some(event)) = (includes, event) {
            self.add(event);
        }
        includes
    }

    fn add(&mut self, event: &Event) {
        if let Event::TaskAdded { task, .. } | Event::SubtaskAdded { task, .. } = event {
            self.tasks.insert(*task);
        } else if let Event::AttemptOpened { attempt, worker, .. } = event {
            self.attempts.insert(*attempt);
            self.workers.insert(*worker);
        } else if let Event::RequestOpened { request, .. } = event {
            self.requests.insert(*request);
        }
    }
}

#[expect(clippy::too_many_lines, reason = "one arm for each kind of event")]
fn subject(event: &Event) -> Subject {
    match event {
        Event::SettingsApplied { .. }
        | Event::AgentsMaxSet { .. }
        | Event::BackendHeld { .. }
        | Event::BackendProbed { .. }
        | Event::BackendReleased { .. }
        | Event::MatrixApplied { .. }
        | Event::CrewApplied { .. }
        | Event::SandboxApplied { .. }
        | Event::TierAccepted { .. }
        | Event::AgentConfined { .. }
        | Event::GrantGiven { .. }
        | Event::GrantRevoked { .. }
        | Event::QueryLimitsApplied { .. }
        | Event::ClientCallTaken { .. }
        | Event::TidyAsked => Subject::Workspace,
        Event::PlanCreated { plan, .. }
        | Event::TaskAdded { plan, .. }
        | Event::SubtaskAdded { plan, .. }
        | Event::PlanMoved { plan, .. }
        | Event::PlanOpened { plan }
        | Event::BaseCheckAsked { plan }
        | Event::RequestOpened { plan, .. }
        | Event::StandaloneSpawned { plan, .. }
        | Event::LandingMoved { plan, .. }
        | Event::LandingPlanned { plan, .. }
        | Event::MergedByHand { plan, .. } => Subject::Plan(*plan),
        Event::AgentGroupMemberCompleted { task, .. }
        | Event::TaskMoved { task, .. }
        | Event::TaskDeployed { task, .. }
        | Event::TaskHeld { task, .. }
        | Event::RetryGranted { task, .. }
        | Event::RestoreAsked { task, .. }
        | Event::MessageMoved { task, .. }
        | Event::AttemptOpened { task, .. } => Subject::Task(*task),
        Event::MessageQueued(message) => Subject::Task(message.context.task),
        Event::AttemptEnded { attempt, .. }
        | Event::CompletionClaimed { attempt, .. }
        | Event::CollectAsked { attempt }
        | Event::SaveAsked { attempt }
        | Event::SnapshotAsked { attempt }
        | Event::VerifyAsked { attempt, .. }
        | Event::IntegrateAsked { attempt }
        | Event::Abandoned { attempt, .. }
        | Event::DropAsked { attempt }
        | Event::OutputHanded { attempt, .. }
        | Event::PullAsked { attempt, .. }
        | Event::AgentGroupCreated { parent: attempt, .. }
        | Event::RemovalAsked { attempt } => Subject::Attempt(*attempt),
        Event::EgressDecided(it) => match it.whose {
            EgressOf::Attempt(attempt) => Subject::Attempt(attempt),
            EgressOf::Plan(plan) => Subject::Plan(plan),
        },
        Event::WorkerMoved { worker, .. }
        | Event::AgentStartAsked { worker }
        | Event::TurnOpened { worker, .. }
        | Event::StopAsked { worker }
        | Event::InterruptAsked { worker }
        | Event::AgentExited { worker, .. }
        | Event::AgentReattached { worker, .. }
        | Event::CallTaken { worker, .. }
        | Event::ActivityNoted { worker, .. }
        | Event::UsageNoted { worker, .. }
        | Event::AccessBlocked { worker, .. }
        | Event::ToolDecided { worker, .. }
        | Event::ToolAnswered { worker, .. }
        | Event::AwaitBegun { worker, .. }
        | Event::AwaitEnded { worker, .. }
        | Event::ResultsHanded { worker, .. }
        | Event::QueryAsked { worker, .. }
        | Event::QueryRouted { worker, .. }
        | Event::QueryEnded { worker, .. }
        | Event::QueryAnsweredLate { worker, .. } => Subject::Worker(*worker),
        Event::BudgetWarned(spending) => match spending.scope {
            BudgetScope::Task(task) => Subject::Task(task),
            BudgetScope::Plan(plan) => Subject::Plan(plan),
        },
        Event::RequestMoved { request, .. } => Subject::Request(*request),
        Event::EffectEnded { result, .. } => result_subject(result),
    }
}

fn result_subject(result: &EffectResult) -> Subject {
    match result {
        EffectResult::PlanPrepared { plan, .. }
        | EffectResult::PlanNotPrepared { plan, .. }
        | EffectResult::BaseChecked { plan, .. }
        | EffectResult::Landed { plan, .. }
        | EffectResult::NotLanded { plan, .. }
        | EffectResult::Unsigned { plan, .. }
        | EffectResult::LandingUndone { plan, .. }
        | EffectResult::LandingNotUndone { plan, .. } => Subject::Plan(*plan),
        EffectResult::Restored { task, .. } | EffectResult::NotRestored { task, .. } => {
            Subject::Task(*task)
        }
        // The event that ends the query has the result.
        EffectResult::VaultTidied { .. }
        | EffectResult::VaultNotTidied { .. }
        | EffectResult::OracleAnswered { .. } => Subject::Workspace,
        EffectResult::CheckoutPrepared { attempt, .. }
        | EffectResult::SnapshotsDropped { attempt }
        | EffectResult::SnapshotsNotDropped { attempt, .. }
        | EffectResult::WorkPulled { attempt, .. }
        | EffectResult::WorkNotPulled { attempt, .. }
        | EffectResult::WorkCollected { attempt, .. }
        | EffectResult::WorkSaved { attempt, .. }
        | EffectResult::SnapshotTaken { attempt, .. }
        | EffectResult::SnapshotUnchanged { attempt }
        | EffectResult::SnapshotNotTaken { attempt, .. }
        | EffectResult::Verified { attempt, .. }
        | EffectResult::Integrated { attempt, .. }
        | EffectResult::CheckoutRemoved { attempt }
        | EffectResult::CheckoutKept { attempt, .. }
        | EffectResult::AttemptFailed { attempt, .. } => Subject::Attempt(*attempt),
        EffectResult::AgentReady { worker, .. }
        | EffectResult::TurnEnded { worker, .. }
        | EffectResult::PermissionAnswered { worker }
        | EffectResult::TurnInterrupted { worker }
        | EffectResult::AgentStopped { worker, .. } => Subject::Worker(*worker),
    }
}
