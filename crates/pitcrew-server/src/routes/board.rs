//! The board, the inbox, the permissions and the messages.

use crate::{
    auth::Person,
    extract::QueryParams,
    serve::{Doors, now},
};
use axum::{Json, extract::State};
use pitcrew_api::paths::{BoardQuery, MessagesQuery};
use pitcrew_views::{BoardView, InboxView, MessageFilter, MessagesView, PermissionsView, Scope};
use std::sync::Arc;

pub async fn board(
    _: Person,
    State(doors): State<Arc<Doors>>,
    QueryParams(query): QueryParams<BoardQuery>,
) -> Json<BoardView> {
    let scope = match query.plan {
        Some(plan) => Scope::Only(plan),
        None if query.all => Scope::All,
        None => Scope::Current,
    };
    doors.orchestrator.find_merges().await;
    Json(doors.orchestrator.handle().views().board.view(now(), scope))
}

pub async fn inbox(_: Person, State(doors): State<Arc<Doors>>) -> Json<InboxView> {
    let views = doors.orchestrator.handle().views();
    Json(views.inbox.view(&views.board))
}

pub async fn messages(
    _: Person,
    State(doors): State<Arc<Doors>>,
    QueryParams(query): QueryParams<MessagesQuery>,
) -> Json<MessagesView> {
    let MessagesQuery { plan, worker, status } = query;
    let views = doors.orchestrator.handle().views();
    Json(views.messages.view(&views.board, &MessageFilter { plan, worker, status }))
}

pub async fn permissions(_: Person, State(doors): State<Arc<Doors>>) -> Json<PermissionsView> {
    Json(doors.orchestrator.handle().views().granted.view())
}
