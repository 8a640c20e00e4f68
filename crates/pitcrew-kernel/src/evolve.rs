//! Folds an event into the state. Total: a stored event is a fact.

mod plan;
mod task;
mod attempt;
mod worker;
mod message;
mod query;
mod quota;
mod budget;
mod subtask;
mod permission;
mod result;

pub(crate) use query::spent_on_last;
pub(crate) use worker::{Allow, choose};

use crate::{
    State,
    state::{LandingPlan, Standalone},
};
use alloc::sync::Arc;
use pitcrew_model::{AttemptId, EffectId, EgressOf, Entry, Event, LandingStatus};

/// Folds one journal entry into the state.
pub fn evolve(state: &mut State, entry: &Entry) {
    assert_eq!(entry.seq, state.seq.next(), "the journal has a gap");
    state.seq = entry.seq;
    if asks_for_effect(&entry.event) {
        state.effects.insert(EffectId(entry.seq.0));
    }
    fold(state, entry);
    if let Some(attempt) = begins_step_of(state, &entry.event) {
        state.attempts.row(attempt).step = Some(EffectId(entry.seq.0));
    }
}

#[expect(clippy::too_many_lines, reason = "one arm for each kind of event")]
fn fold(state: &mut State, entry: &Entry) {
    // The effect that the event requests, if any.
    let (at, effect) = (entry.at, EffectId(entry.seq.0));
    match &entry.event {
        Event::SettingsApplied { agents_max, agents_live_max, history, sign } => {
            plan::settings_applied(state, *agents_max, *agents_live_max);
            (state.history, state.sign) = (*history, *sign);
        }
        Event::AgentsMaxSet { count } => state.agents_max = *count,
        Event::PlanCreated { plan, head, status, clean_base, actor } => {
            plan::created(state, *plan, head, *status, *clean_base, *actor);
        }
        Event::TaskAdded { plan, task, spec, depends_on } => {
            task::added(state, *plan, *task, spec, depends_on);
        }
        Event::SubtaskAdded { plan, task, spec, delegation } => {
            subtask::added(state, *plan, *task, spec, delegation, at);
        }
        Event::AwaitBegun { worker, tasks, until, call } => {
            subtask::await_begun(state, *worker, tasks, *until, call.as_deref());
        }
        Event::AwaitEnded { worker, end, .. } => subtask::await_ended(state, *worker, *end),
        Event::ResultsHanded { worker, tasks } => subtask::results_handed(state, *worker, tasks),
        Event::OutputHanded { attempt, output } => {
            state.attempts.row(*attempt).output = Some(output.clone());
        }
        Event::PullAsked { attempt, task } => {
            subtask::pull_asked(state, *attempt, *task, effect);
        }
        Event::PlanMoved { plan, from, to, .. } => plan::moved(state, *plan, *from, *to),
        Event::PlanOpened { plan } => state.plans.row(*plan).preparing = true,
        Event::TaskMoved { task, from, to, reason, .. } => {
            task::moved(state, *task, *from, *to, reason);
        }
        Event::TaskDeployed { task, .. } => task::deployed(state, *task),
        Event::TaskHeld { task, actor } => task::held(state, *task, *actor),
        Event::RetryGranted { task, freshness, actor } => {
            task::retry_granted(state, *task, *freshness);
            subtask::tried_again(state, *task, *actor, at);
        }
        Event::AttemptOpened { attempt, task, worker, number, start, base } => {
            let opened = attempt::Opened { attempt: *attempt, task: *task, worker: *worker };
            attempt::opened(state, &opened, *number, start, base);
        }
        Event::AttemptEnded { attempt, outcome, failure } => {
            attempt::ended(state, *attempt, *outcome, failure.as_ref());
            quota::attempt_ended(state, *attempt, failure.as_ref(), at);
        }
        Event::BackendHeld { backend, until, reason, cause } => {
            quota::held(state, backend, *until, (*cause, reason), at);
        }
        Event::BackendProbed { backend, task } => quota::probed(state, backend, *task, at),
        Event::BackendReleased { backend, .. } => quota::released(state, backend),
        Event::WorkerMoved { worker, from, to, .. } => {
            worker::moved(state, *worker, *from, *to, at);
        }
        Event::AgentStartAsked { worker } => worker::start_asked(state, *worker),
        Event::TurnOpened { worker, cause } => {
            worker::turn_opened(state, *worker, cause, effect, at);
        }
        Event::StopAsked { worker } => worker::stop_asked(state, *worker),
        Event::AgentExited { worker, .. } => worker::gone(state, *worker),
        Event::AgentReattached { worker, away_ms } => worker::reattached(state, *worker, *away_ms),
        Event::CallTaken { worker, nonce } => worker::call_taken(state, *worker, nonce),
        Event::UsageNoted { worker, usage } => {
            budget::noted(state, *worker, *usage);
            quota::answered(state, *worker, *usage);
        }
        Event::BudgetWarned(spending) => budget::warned(state, spending),
        Event::CompletionClaimed { attempt, claim, summary } => {
            attempt::claimed(state, *attempt, *claim, summary);
        }
        Event::SnapshotAsked { attempt } => attempt::snapshot_asked(state, *attempt, effect),
        Event::VerifyAsked { attempt, onto } => plan::verify_asked(state, *attempt, onto, effect),
        Event::IntegrateAsked { attempt } => plan::integrate_asked(state, *attempt, effect),
        Event::RequestOpened { request, plan, worker, kind, .. } => {
            worker::request_opened(state, *request, *plan, *worker, kind);
            permission::stands(state, *request, at);
        }
        Event::RequestMoved { request, from, to, text, actor } => {
            permission::leaves(state, *request);
            permission::decided(state, *request, *to, *actor);
            worker::request_moved(state, *request, *from, *to, text.as_deref());
            permission::stands(state, *request, at);
            permission::tell_parent(state, *request);
        }
        Event::ToolDecided { worker, call, .. } => {
            worker::answer_asked(state, *worker, effect, call);
        }
        Event::ToolAnswered { request, worker, call, .. } => {
            worker::call_answered(state, *worker, *request);
            worker::answer_asked(state, *worker, effect, call);
        }
        Event::LandingPlanned { plan, history, message, hooks, signed } => {
            let (history, message, hooks) = (*history, message.clone(), *hooks);
            let planned = LandingPlan { history, message, hooks, signed: signed.clone() };
            state.plans.row(*plan).landing_plan = planned;
        }
        Event::MergedByHand { plan, branch } => plan::merged_by_hand(state, *plan, branch),
        Event::LandingMoved { plan, from, to, .. } => {
            plan::landing_moved(state, *plan, *from, *to, at);
        }
        Event::Abandoned { attempt, .. } => attempt::abandoned(state, *attempt, at),
        Event::RemovalAsked { attempt } => attempt::removal_asked(state, *attempt),
        Event::MessageQueued(it) => message::queued(state, it, at),
        Event::MessageMoved { message, from, to, reader, .. } => {
            message::moved(state, *message, *from, *to, *reader);
        }
        Event::EffectEnded { effect, result } => result::ended(state, *effect, result, at),
        Event::DropAsked { attempt } => state.attempts.row(*attempt).dropping = Some(effect),
        Event::TidyAsked => state.tidying = Some(effect),
        Event::MatrixApplied { matrix } => {
            state.matrix = Arc::new(matrix.clone());
            // The number of slots decides what may start.
            state.refresh_backend();
            permission::matrix_applied(state);
        }
        Event::CrewApplied { crew } => state.crew = Some(Arc::new(crew.clone())),
        Event::SandboxApplied { sandbox } => state.sandbox = Some(sandbox.clone()),
        Event::TierAccepted { tier, .. } => state.accepted_tier = Some(*tier),
        Event::GrantGiven { grant, .. } => permission::granted(state, grant),
        Event::GrantRevoked { grant, .. } => permission::revoked(state, *grant),
        Event::ClientCallTaken { nonce } => worker::client_call_taken(state, nonce),
        Event::AgentGroupMemberCompleted { task, .. } => {
            state.agenda.group_ends.remove(task);
        }
        Event::StandaloneSpawned { plan, readers, call, .. } => {
            let (readers, call) = (readers.clone(), call.clone());
            state.plans.row(*plan).standalone = Some(Standalone { call, readers });
        }
        Event::BaseCheckAsked { plan } => plan::base_check_asked(state, *plan),
        Event::ActivityNoted { worker, .. } => state.workers.row(*worker).noted_at = at,
        Event::QueryLimitsApplied { limits } => state.queries.limits = *limits,
        Event::QueryAsked { query, worker, symbol, context, via, until, nonce } => {
            let (query, worker, via, until) = (*query, *worker, *via, *until);
            let asked = query::NewQuery { query, worker, symbol, context, via, until, nonce };
            query::asked(state, &asked);
        }
        Event::QueryRouted { query, owner, message, .. } => {
            query::routed(state, *query, *owner, *message);
        }
        Event::QueryEnded { query, outcome, text, tokens_spent, tokens_saved, .. } => {
            let (query, outcome) = (*query, *outcome);
            let (tokens_spent, tokens_saved) = (*tokens_spent, *tokens_saved);
            let ended = query::Ended { query, outcome, text, tokens_spent, tokens_saved };
            query::ended(state, &ended);
        }
        Event::QueryAnsweredLate { query, owner, text, tokens_spent, .. } => {
            query::answered_late(state, *query, *owner, text, *tokens_spent);
        }
        Event::AccessBlocked { worker, place, access, path, .. } => {
            worker::access_blocked(state, *worker, *place, *access, path);
        }
        Event::EgressDecided(decision) => {
            let known = match decision.whose {
                EgressOf::Attempt(attempt) => &mut state.attempts.row(attempt).egress,
                EgressOf::Plan(plan) => &mut state.plans.row(plan).egress,
            };
            known.offset = decision.offset;
            known.count += 1;
        }
        Event::InterruptAsked { .. }
        | Event::AgentGroupCreated { .. }
        | Event::CollectAsked { .. }
        | Event::SaveAsked { .. }
        | Event::AgentConfined { .. }
        | Event::RestoreAsked { .. } => {}
    }
}

/// Returns the attempt that waits for the event's effect from now on, and for no earlier one.
#[expect(clippy::too_many_lines, reason = "one arm for each kind of event")]
fn begins_step_of(state: &State, event: &Event) -> Option<AttemptId> {
    match event {
        Event::AttemptOpened { attempt, .. }
        | Event::CollectAsked { attempt }
        | Event::SaveAsked { attempt }
        | Event::VerifyAsked { attempt, .. }
        | Event::IntegrateAsked { attempt } => Some(*attempt),
        Event::AgentStartAsked { worker }
        | Event::TurnOpened { worker, .. }
        | Event::StopAsked { worker } => Some(state.workers[*worker].attempt),
        Event::SettingsApplied { .. }
        | Event::AgentsMaxSet { .. }
        | Event::PlanCreated { .. }
        | Event::TaskAdded { .. }
        | Event::PlanMoved { .. }
        | Event::PlanOpened { .. }
        | Event::SnapshotAsked { .. }
        | Event::BaseCheckAsked { .. }
        | Event::TaskMoved { .. }
        | Event::TaskDeployed { .. }
        | Event::TaskHeld { .. }
        | Event::RetryGranted { .. }
        | Event::AttemptEnded { .. }
        | Event::BackendHeld { .. }
        | Event::BackendProbed { .. }
        | Event::BackendReleased { .. }
        | Event::WorkerMoved { .. }
        | Event::InterruptAsked { .. }
        | Event::AgentExited { .. }
        | Event::AgentReattached { .. }
        | Event::CallTaken { .. }
        | Event::ActivityNoted { .. }
        | Event::UsageNoted { .. }
        | Event::BudgetWarned(_)
        | Event::CompletionClaimed { .. }
        | Event::RequestOpened { .. }
        | Event::RequestMoved { .. }
        | Event::ToolDecided { .. }
        | Event::ToolAnswered { .. }
        | Event::LandingMoved { .. }
        | Event::LandingPlanned { .. }
        | Event::MergedByHand { .. }
        | Event::Abandoned { .. }
        | Event::RemovalAsked { .. }
        | Event::RestoreAsked { .. }
        | Event::DropAsked { .. }
        | Event::TidyAsked
        | Event::SubtaskAdded { .. }
        | Event::AwaitBegun { .. }
        | Event::AwaitEnded { .. }
        | Event::ResultsHanded { .. }
        | Event::OutputHanded { .. }
        | Event::PullAsked { .. }
        | Event::MessageQueued(_)
        | Event::MessageMoved { .. }
        | Event::MatrixApplied { .. }
        | Event::CrewApplied { .. }
        | Event::GrantGiven { .. }
        | Event::GrantRevoked { .. }
        | Event::QueryLimitsApplied { .. }
        | Event::EgressDecided(_)
        | Event::QueryAsked { .. }
        | Event::QueryRouted { .. }
        | Event::QueryEnded { .. }
        | Event::QueryAnsweredLate { .. }
        | Event::AccessBlocked { .. }
        | Event::ClientCallTaken { .. }
        | Event::AgentGroupCreated { .. }
        | Event::AgentGroupMemberCompleted { .. }
        | Event::StandaloneSpawned { .. }
        | Event::SandboxApplied { .. }
        | Event::TierAccepted { .. }
        | Event::AgentConfined { .. }
        | Event::EffectEnded { .. } => None,
    }
}

/// Returns whether `react` answers this event with an effect. Replay uses this instead of `react`.
#[expect(clippy::too_many_lines, reason = "one arm for each kind of event")]
pub(crate) fn asks_for_effect(event: &Event) -> bool {
    match event {
        Event::PlanOpened { .. }
        | Event::BaseCheckAsked { .. }
        | Event::AttemptOpened { .. }
        | Event::AgentStartAsked { .. }
        | Event::TurnOpened { .. }
        | Event::StopAsked { .. }
        | Event::InterruptAsked { .. }
        | Event::CollectAsked { .. }
        | Event::SaveAsked { .. }
        | Event::SnapshotAsked { .. }
        | Event::VerifyAsked { .. }
        | Event::IntegrateAsked { .. }
        | Event::ToolDecided { .. }
        | Event::ToolAnswered { .. }
        | Event::RestoreAsked { .. }
        | Event::DropAsked { .. }
        | Event::TidyAsked
        | Event::PullAsked { .. }
        | Event::QueryAsked { .. }
        | Event::RemovalAsked { .. } => true,
        Event::LandingMoved { to, .. } => {
            matches!(to, LandingStatus::Merging | LandingStatus::Undoing)
        }
        Event::SettingsApplied { .. }
        | Event::AgentsMaxSet { .. }
        | Event::LandingPlanned { .. }
        | Event::MergedByHand { .. }
        | Event::PlanCreated { .. }
        | Event::TaskAdded { .. }
        | Event::PlanMoved { .. }
        | Event::TaskMoved { .. }
        | Event::TaskDeployed { .. }
        | Event::TaskHeld { .. }
        | Event::RetryGranted { .. }
        | Event::AttemptEnded { .. }
        | Event::BackendHeld { .. }
        | Event::BackendProbed { .. }
        | Event::BackendReleased { .. }
        | Event::WorkerMoved { .. }
        | Event::AgentExited { .. }
        | Event::AgentReattached { .. }
        | Event::CallTaken { .. }
        | Event::ActivityNoted { .. }
        | Event::UsageNoted { .. }
        | Event::BudgetWarned(_)
        | Event::CompletionClaimed { .. }
        | Event::RequestOpened { .. }
        | Event::RequestMoved { .. }
        | Event::Abandoned { .. }
        | Event::SubtaskAdded { .. }
        | Event::AwaitBegun { .. }
        | Event::AwaitEnded { .. }
        | Event::ResultsHanded { .. }
        | Event::OutputHanded { .. }
        | Event::MessageQueued(_)
        | Event::MessageMoved { .. }
        | Event::MatrixApplied { .. }
        | Event::CrewApplied { .. }
        | Event::GrantGiven { .. }
        | Event::GrantRevoked { .. }
        | Event::QueryLimitsApplied { .. }
        | Event::EgressDecided(_)
        | Event::QueryRouted { .. }
        | Event::QueryEnded { .. }
        | Event::QueryAnsweredLate { .. }
        | Event::AccessBlocked { .. }
        | Event::ClientCallTaken { .. }
        | Event::AgentGroupCreated { .. }
        | Event::AgentGroupMemberCompleted { .. }
        | Event::StandaloneSpawned { .. }
        | Event::SandboxApplied { .. }
        | Event::TierAccepted { .. }
        | Event::AgentConfined { .. }
        | Event::EffectEnded { .. } => false,
    }
}
