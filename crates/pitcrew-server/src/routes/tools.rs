//! What workers call: the same tools as over MCP.

use crate::{
    answer::Failed,
    auth::WorkerOf,
    extract::{Asked, Named, Wanted},
    serve::Doors,
};
use axum::{Json, extract::State};
use pitcrew_api::{ProblemCode, ToolAnswer, paths::ToolQuery};
use pitcrew_mcp::ToolCall;
use pitcrew_model::{Actor, Command, Rejection};
use serde_json::Value;
use std::sync::Arc;

pub async fn call(
    WorkerOf(attempt): WorkerOf,
    State(doors): State<Arc<Doors>>,
    Named(name): Named<String>,
    Asked(query): Asked<ToolQuery>,
    Wanted(arguments): Wanted<Value>,
) -> Result<Json<ToolAnswer>, Failed> {
    let call = match ToolCall::parse(&name, &arguments) {
        Ok(call) => call,
        Err(error) => return Ok(Json(ToolAnswer::failed(error.to_string()))),
    };
    let told = call.acknowledgement().text;
    let handle = doors.orchestrator.handle();
    let worker = handle.views().board.attempt(attempt).map(|it| it.worker);
    let worker = worker.ok_or_else(|| {
        Failed::new(ProblemCode::NotFound, format!("{attempt} has no worker any more"))
    })?;
    let order = call.into_command(attempt);
    let order = match query.nonce {
        Some(nonce) => Command::Once { nonce, order: Box::new(order) },
        None => order,
    };
    match handle.command(Actor::Worker(worker), order).await {
        Ok(_) => Ok(Json(ToolAnswer::told(told))),
        // Not for the agent to know: its bridge asks the next orchestrator.
        Err(rejection @ Rejection::ShuttingDown) => {
            Err(Failed::new(ProblemCode::ShuttingDown, rejection.to_string()))
        }
        Err(rejection) => Ok(Json(ToolAnswer::failed(rejection.to_string()))),
    }
}
