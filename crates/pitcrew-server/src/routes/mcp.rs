//! Opens the tools over HTTP.

use crate::{answer::Failed, auth::Person, extract::JsonBody, loopback, serve::Doors};
use axum::{Json, extract::State};
use pitcrew_api::{McpAddress, McpRequest, ProblemCode};
use std::sync::Arc;

pub async fn open(
    _: Person,
    State(doors): State<Arc<Doors>>,
    JsonBody(asked): JsonBody<McpRequest>,
) -> Result<Json<McpAddress>, Failed> {
    match loopback::open(&doors, asked.port, loopback::KEEP_OPEN).await {
        Ok(port) => Ok(Json(McpAddress { url: loopback::url(port) })),
        Err(error) => {
            let message = format!("failed to open port {} of 127.0.0.1: {error}", asked.port);
            Err(Failed::new(ProblemCode::BadRequest, message).help("choose another with `--port`"))
        }
    }
}
