//! What workers and clients call: the same tools as over MCP.

use crate::{
    answer::Failed,
    extract::{Asked, Named, Wanted},
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

/// The tools that the caller is shown.
pub async fn list(caller: Caller, State(doors): State<Arc<Doors>>) -> Json<ToolNames> {
    let visible = pitcrew_mcp::visible(caller.role(&doors).await);
    Json(ToolNames { names: visible.iter().map(|it| it.name.to_owned()).collect() })
}

/// A call that takes longer is asked about again: so a connection that is dead is known as such.
const HELD_MAX: Duration = Duration::from_secs(20);

pub async fn call(
    caller: Caller,
    State(doors): State<Arc<Doors>>,
    Named(name): Named<String>,
    Asked(query): Asked<ToolQuery>,
    Wanted(arguments): Wanted<Value>,
) -> Result<Response, Failed> {
    let held_until = Some(Instant::now() + HELD_MAX);
    let calling = Calling { doors: &doors, caller, nonce: query.nonce, held_until };
    let answer = match calling.call(&name, &arguments).await {
        Ok(answer) => ToolReply::ok(answer.text).with(answer.structured),
        Err(Refused::Told(message)) => ToolReply::failed(message),
        Err(Refused::Held) => return Ok(StatusCode::ACCEPTED.into_response()),
        Err(Refused::ShuttingDown(message)) => {
            return Err(Failed::new(ProblemCode::ShuttingDown, message));
        }
    };
    Ok(Json(answer).into_response())
}
