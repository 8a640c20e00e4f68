//! A plan's changes to the base branch.

use crate::{answer::Failed, auth::Person, extract::PathParam, serve::Doors};
use axum::{Json, extract::State};
use pitcrew_api::{PlanReview, ProblemCode};
use pitcrew_model::PlanId;
use std::sync::Arc;

pub async fn review(
    _: Person,
    State(doors): State<Arc<Doors>>,
    PathParam(plan): PathParam<PlanId>,
) -> Result<Json<PlanReview>, Failed> {
    let Some(view) = doors.orchestrator.handle().views().board.plan_view(plan) else {
        return Err(Failed::new(ProblemCode::NotFound, format!("there is no {plan}"))
            .help("`pitcrew status --all` lists the plans"));
    };
    let branch = view.base.and_then(|it| it.branch);
    let changed = super::look(move || doors.orchestrator.plan_changes(plan)).await?;
    Ok(Json(PlanReview { plan, branch, diff: super::diff(changed) }))
}
