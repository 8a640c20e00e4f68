//! What workers and clients call: the same tools as over MCP.

use crate::{
    answer::Failed,
    extract::{Asked, Named, Wanted},
    serve::Doors,
    tools::{Caller, Calling, Refused},
};
use axum::{Json, extract::State};
use pitcrew_api::{ProblemCode, ToolAnswer, ToolNames, paths::ToolQuery};
use serde_json::Value;
use std::sync::Arc;

/// The tools that the caller is shown.
pub async fn list(caller: Caller, State(doors): State<Arc<Doors>>) -> Json<ToolNames> {
    let visible = pitcrew_mcp::visible(caller.role(&doors));
    Json(ToolNames { names: visible.iter().map(|it| it.name.to_owned()).collect() })
}

pub async fn call(
    caller: Caller,
    State(doors): State<Arc<Doors>>,
    Named(name): Named<String>,
    Asked(query): Asked<ToolQuery>,
    Wanted(arguments): Wanted<Value>,
) -> Result<Json<ToolAnswer>, Failed> {
    let calling = Calling { doors: &doors, caller, nonce: query.nonce };
    match calling.call(&name, &arguments).await {
        Ok(answer) => Ok(Json(ToolAnswer::told(answer.text).with(answer.structured))),
        Err(Refused::Told(message)) => Ok(Json(ToolAnswer::failed(message))),
        Err(Refused::ShuttingDown(message)) => Err(Failed::new(ProblemCode::ShuttingDown, message)),
    }
}
