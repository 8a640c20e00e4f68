//! What stands where, and what waits for a person.

use crate::{
    auth::Person,
    extract::Asked,
    serve::{Doors, now},
};
use axum::{Json, extract::State};
use pitcrew_api::paths::BoardQuery;
use pitcrew_views::{BoardView, InboxView, Scope};
use std::sync::Arc;

pub async fn board(
    _: Person,
    State(doors): State<Arc<Doors>>,
    Asked(query): Asked<BoardQuery>,
) -> Json<BoardView> {
    let scope = match query.plan {
        Some(plan) => Scope::Only(plan),
        None if query.all => Scope::All,
        None => Scope::Current,
    };
    Json(doors.orchestrator.handle().views().board.view(now(), scope))
}

pub async fn inbox(_: Person, State(doors): State<Arc<Doors>>) -> Json<InboxView> {
    let views = doors.orchestrator.handle().views();
    Json(views.inbox.view(&views.board))
}
