//! The tools for workers and clients, the same as over MCP.

use crate::{
    answer::Failed,
    extract::{JsonBody, PathParam, QueryParams},
    serve::Doors,
    tools::{Caller, Calling, Refused},
};
use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use pitcrew_api::{ProblemCode, ToolNames, ToolReply, paths::ToolQuery};
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// The tools that the caller can see.
pub async fn list(caller: Caller, State(doors): State<Arc<Doors>>) -> Json<ToolNames> {
    let visible = pitcrew_mcp::visible(caller.role(&doors).await);
    Json(ToolNames { names: visible.iter().map(|it| it.name.to_owned()).collect() })
}

/// A longer call has to be repeated, so that dead connections are detected.
const HELD_MAX: Duration = Duration::from_secs(20);

pub async fn call(
    caller: Caller,
    State(doors): State<Arc<Doors>>,
    PathParam(name): PathParam<String>,
    QueryParams(query): QueryParams<ToolQuery>,
    JsonBody(arguments): JsonBody<Value>,
) -> Result<Response, Failed> {
    let held_until = Some(Instant::now() + HELD_MAX);
    let calling = Calling { doors: &doors, caller, nonce: query.nonce, held_until };
    let answer = match calling.call(&name, &arguments).await {
        Ok(answer) => ToolReply::ok(answer.text).with(answer.structured),
        Err(Refused::Rejected(message)) => ToolReply::failed(message),
        Err(Refused::Held) => return Ok(StatusCode::ACCEPTED.into_response()),
        Err(Refused::ShuttingDown(message)) => {
            return Err(Failed::new(ProblemCode::ShuttingDown, message));
        }
    };
    Ok(Json(answer).into_response())
}
