//! One file per family of routes.

mod health;
mod board;
mod commands;
mod events;
mod tasks;
mod plans;
mod tools;
mod mcp;
mod garbage;

use crate::{answer::Failed, serve::Doors};
use axum::{
    Router,
    extract::{DefaultBodyLimit, Request, State},
    middleware::{self, Next},
    response::Response,
    routing::{get, post},
};
use pitcrew_api::{Diff, FileStat, ProblemCode, paths};
use pitcrew_model::text;
use pitcrew_runtime::{Changed, InspectError};
use std::sync::Arc;

/// A plan of the largest size, with room for the encoding.
const BODY_BYTES_MAX: usize = 64 * 1_024 * 1_024;
/// The largest body from an agent: far more than is kept of any summary.
const TOOL_BODY_BYTES_MAX: usize = 1_024 * 1_024;

/// The routes for the user, and the tools for the user's own agents.
pub fn for_person(doors: Arc<Doors>) -> Router {
    let routes = tools()
        .route(paths::HEALTH, get(health::health))
        .route(paths::BOARD, get(board::board))
        .route(paths::INBOX, get(board::inbox))
        .route(paths::MESSAGES, get(board::messages))
        .route(paths::PERMISSIONS, get(board::permissions))
        .route(paths::COMMANDS, post(commands::command))
        .route(paths::EVENTS, get(events::events))
        .route(paths::TASK_LOG, get(tasks::log))
        .route(paths::TASK_DIFF, get(tasks::diff))
        .route(paths::TASK_PATH, get(tasks::path))
        .route(paths::TASK_SNAPSHOTS, get(tasks::snapshots))
        .route(paths::PLAN_REVIEW, get(plans::review))
        .route(paths::MCP_OPEN, post(mcp::open))
        .route(paths::GARBAGE, get(garbage::preview))
        .route(paths::SHUTDOWN, post(health::shutdown));
    finished(routes, doors)
}

/// The routes for a worker: only its tools.
pub fn for_worker(doors: Arc<Doors>) -> Router {
    finished(tools(), doors)
}

fn tools() -> Router<Arc<Doors>> {
    let call = post(tools::call).layer(DefaultBodyLimit::max(TOOL_BODY_BYTES_MAX));
    Router::new().route(paths::TOOLS, get(tools::list)).route(paths::TOOL, call)
}

fn finished(routes: Router<Arc<Doors>>, doors: Arc<Doors>) -> Router {
    routes
        .fallback(unknown)
        .method_not_allowed_fallback(unknown)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(doors.clone(), count))
        .with_state(doors)
}

/// An open request keeps the orchestrator running.
async fn count(State(doors): State<Arc<Doors>>, request: Request, next: Next) -> Response {
    let guard = doors.open_requests.enter();
    let response = next.run(request).await;
    drop(guard);
    response
}

async fn unknown(request: Request) -> Failed {
    let (method, path) = (request.method(), request.uri().path());
    Failed::new(ProblemCode::NotFound, format!("there is no {method} {path}"))
        .help("the command line and the orchestrator may have different versions")
}

/// Runs a slow read on a blocking thread.
async fn look<T: Send + 'static>(
    look: impl FnOnce() -> Result<T, InspectError> + Send + 'static,
) -> Result<T, Failed> {
    match tokio::task::spawn_blocking(look).await {
        Ok(Ok(seen)) => Ok(seen),
        Ok(Err(error @ InspectError::Nothing)) => {
            Err(Failed::new(ProblemCode::NotFound, error.to_string()))
        }
        Ok(Err(error @ InspectError::Vault(_))) => Err(Failed::internal(&error)),
        Err(panic) => Err(Failed::internal(&panic)),
    }
}

/// A longer patch is cut: it is for reading only.
const PATCH_BYTES_MAX: usize = 4 * 1_024 * 1_024;

fn diff(changed: Changed) -> Diff {
    let text = text::cut(&changed.patch, PATCH_BYTES_MAX);
    let files = changed.stat.files.into_iter().map(|it| FileStat {
        path: it.file.path,
        change: it.file.change,
        insertions: it.lines.map(|it| it.0),
        deletions: it.lines.map(|it| it.1),
    });
    Diff {
        from: changed.from,
        to: changed.to,
        files_count: changed.stat.files_count,
        insertions: changed.stat.insertions,
        deletions: changed.stat.deletions,
        files: files.collect(),
        truncated: text.len() < changed.patch.len(),
        text: text.into(),
    }
}
