//! Plans, their merge queue and their landing.

use super::{permission, worker};
use crate::{
    State,
    state::{BaseCheck, Budget, Egress, LandingPlan, Plan},
};
use alloc::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
    vec::Vec,
};
use pitcrew_model::{
    Actor, AttemptId, CommitId, EffectId, GrantTarget, LandedAt, LandingStatus, PlanHead, PlanId,
    PlanStatus, Timestamp, TurnCause, WorkerStatus,
};

pub fn created(
    state: &mut State,
    plan: PlanId,
    head: &PlanHead,
    status: PlanStatus,
    clean_base: bool,
    creator: Actor,
) {
    let row = Plan {
        id: plan,
        head: Arc::new(head.clone()),
        creator,
        status,
        clean_base,
        tasks: Vec::new(),
        standalone: None,
        subtasks: BTreeSet::new(),
        open_count: 0,
        completed_count: 0,
        base: None,
        preparing: false,
        base_check: BaseCheck::Done,
        integrated: None,
        integrated_tasks: Vec::new(),
        red_on_base: BTreeSet::new(),
        merge_queue: VecDeque::new(),
        merging: None,
        landing: LandingStatus::None,
        landing_plan: LandingPlan::default(),
        landed: None,
        cleaned_at: None,
        request: None,
        removals_count: 0,
        budget: Budget::new(head.caps),
        egress: Egress::default(),
    };
    state.plans.push(plan, row);
}

/// Applies the limits that all plans share.
pub fn settings_applied(state: &mut State, agents_max: u32, agents_live_max: u32) {
    state.settings = (agents_max, agents_live_max);
    state.agents_live_max = agents_live_max;
}

pub fn base_check_asked(state: &mut State, plan: PlanId) {
    let row = state.plans.row(plan);
    row.base_check = BaseCheck::UnderWay;
    state.refresh_plan(plan);
}

pub fn moved(state: &mut State, plan: PlanId, from: PlanStatus, to: PlanStatus) {
    let row = state.plans.row(plan);
    assert_eq!(row.status, from, "{plan} moved from where it was not: the journal is corrupt");
    row.status = to;
    if row.base_check == BaseCheck::UnderWay && to != PlanStatus::Active {
        row.base_check = BaseCheck::CutShort;
    }
    if from == PlanStatus::Paused && to == PlanStatus::Active {
        wake_paused(state, plan);
    }
    state.refresh_plan_wholly(plan);
    permission::refresh_grants(state, |it| it == GrantTarget::Plan(plan));
}

/// Workers that were parked by the pause can continue.
fn wake_paused(state: &mut State, plan: PlanId) {
    for task in state.units(&state.plans[plan]) {
        let Some(attempt) = state.tasks[task].last_attempt() else { continue };
        let id = state.attempts[attempt].worker;
        if state.workers[id].status == WorkerStatus::Paused {
            worker::change(state, id, |it| worker::gets_turn(it, TurnCause::Resumed));
        }
    }
}

pub fn verify_asked(state: &mut State, attempt: AttemptId, onto: &CommitId, effect: EffectId) {
    let plan = state.tasks[state.attempts[attempt].task].plan;
    let row = state.plans.row(plan);
    assert!(row.merging.is_none(), "{plan} verifies one attempt at a time");
    assert_eq!(row.merge_queue.pop_front(), Some(attempt), "{plan} verifies in order");
    row.merging = Some(effect);
    let row = state.attempts.row(attempt);
    row.merged = Some((onto.clone(), onto.clone()));
    state.refresh_plan(plan);
}

pub fn integrate_asked(state: &mut State, attempt: AttemptId, effect: EffectId) {
    let plan = state.tasks[state.attempts[attempt].task].plan;
    state.plans.row(plan).merging = Some(effect);
    state.refresh_plan(plan);
}

/// The landing is the same, on the base branch now.
pub fn merged_by_hand(state: &mut State, plan: PlanId, branch: &str) {
    if let Some(landed) = &mut state.plans.row(plan).landed {
        landed.at = LandedAt::Base { branch: branch.into() };
    }
}

pub fn landing_moved(
    state: &mut State,
    plan: PlanId,
    from: LandingStatus,
    to: LandingStatus,
    at: Timestamp,
) {
    let row = state.plans.row(plan);
    assert_eq!(row.landing, from, "the landing of {plan} moved from where it was not");
    row.landing = to;
    row.cleaned_at = (to == LandingStatus::Cleaned).then_some(at);
    state.refresh_plan(plan);
}
