//! Asks for the tools over HTTP.

use crate::{answer::Failed, auth::Person, extract::Wanted, loopback, serve::Doors};
use axum::{Json, extract::State};
use pitcrew_api::{McpAddress, McpRequest, ProblemCode};
use std::sync::Arc;

pub async fn open(
    _: Person,
    State(doors): State<Arc<Doors>>,
    Wanted(asked): Wanted<McpRequest>,
) -> Result<Json<McpAddress>, Failed> {
    match loopback::open(&doors, asked.port, loopback::ASKED_FOR).await {
        Ok(port) => Ok(Json(McpAddress { url: loopback::url(port) })),
        Err(error) => {
            let message = format!("port {} of 127.0.0.1 cannot be opened: {error}", asked.port);
            Err(Failed::new(ProblemCode::BadRequest, message).help("choose another with `--port`"))
        }
    }
}
