//! Health and shutdown.

use crate::{auth::Person, serve::Doors};
use axum::{Json, extract::State};
use pitcrew_api::{API_VERSION, Health, ShuttingDown, Tier};
use pitcrew_runtime::settings_environment;
use std::sync::Arc;

pub async fn health(_: Person, State(doors): State<Arc<Doors>>) -> Json<Health> {
    let workers = doors.orchestrator.handle().views().board.live_workers_count();
    Json(Health {
        api_version: API_VERSION,
        version: env!("CARGO_PKG_VERSION").into(),
        pid: std::process::id(),
        workspace: doors.workspace.clone(),
        started_at: doors.started_at,
        tier: Tier::T1,
        workers_live_count: workers as u64,
        environment: Some(settings_environment()),
    })
}

pub async fn shutdown(_: Person, State(doors): State<Arc<Doors>>) -> Json<ShuttingDown> {
    doors.close();
    let workers = doors.orchestrator.handle().views().board.live_workers_count();
    Json(ShuttingDown { pid: std::process::id(), workers_live_count: workers as u64 })
}
