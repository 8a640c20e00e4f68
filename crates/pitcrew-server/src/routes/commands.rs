//! Commands of the user.

use crate::{auth::Person, extract::JsonBody, serve::Doors};
use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use pitcrew_api::{Accepted, Created, Refused};
use pitcrew_model::{Actor, Command};
use std::sync::Arc;

pub async fn command(
    _: Person,
    State(doors): State<Arc<Doors>>,
    JsonBody(command): JsonBody<Command>,
) -> Response {
    match doors.command(Actor::Person, command).await {
        Ok(accepted) => {
            let created = Created::from_events(accepted.entries.iter().map(|it| &it.event));
            Json(Accepted { seq: accepted.seq, created }).into_response()
        }
        Err(rejection) => {
            let status = StatusCode::from_u16(Refused::HTTP_STATUS).unwrap_or(StatusCode::CONFLICT);
            (status, Json(Refused::from(rejection))).into_response()
        }
    }
}
