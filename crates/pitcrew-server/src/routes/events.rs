//! The journal as a stream, from any position.

use crate::{
    auth::Person,
    extract::QueryParams,
    serve::{Doors, now},
    streams::{Broken, HEARTBEAT, Lines, stream},
};
use axum::{extract::State, response::Response};
use pitcrew_api::{EventLine, EventStreamLine, paths::EventsQuery};
use pitcrew_model::{Entry, Seq};
use std::sync::Arc;
use tokio::{sync::watch, time::timeout};

/// Entries read at a time.
const READ_BATCH: usize = 256;

pub async fn events(
    _: Person,
    State(doors): State<Arc<Doors>>,
    QueryParams(query): QueryParams<EventsQuery>,
) -> Response {
    let writing = doors.clone();
    stream(&doors, move |lines| write(writing, query, lines))
}

async fn write(doors: Arc<Doors>, query: EventsQuery, lines: Lines) -> Result<(), Broken> {
    let mut after = query.after;
    let mut changes = doors.orchestrator.handle().changes();
    loop {
        let reading = doors.clone();
        let read = move || reading.orchestrator.entries(after, READ_BATCH);
        let entries = tokio::task::spawn_blocking(read).await.map_err(Broken::new)?;
        let entries = entries.map_err(Broken::new)?;
        for entry in &entries {
            lines.send(&EventStreamLine::Event(line(&doors, entry))).await?;
            after = entry.seq;
        }
        if entries.len() == READ_BATCH {
            continue;
        }
        if !query.follow {
            return Ok(());
        }
        while !has_grown(&mut changes, after).await {
            lines.send(&EventStreamLine::Heartbeat { at: now(), seq: after }).await?;
        }
    }
}

/// Whether the journal grows before the next heartbeat, or has grown before this call.
async fn has_grown(changes: &mut watch::Receiver<Seq>, after: Seq) -> bool {
    matches!(timeout(HEARTBEAT, changes.wait_for(|it| *it > after)).await, Ok(Ok(_)))
}

fn line(doors: &Doors, entry: &Entry) -> EventLine {
    let views = doors.orchestrator.handle().views();
    let line = pitcrew_views::line(&views.board, entry);
    EventLine {
        seq: entry.seq,
        at: entry.at,
        plan: line.as_ref().and_then(|it| it.plan),
        task: line.as_ref().and_then(|it| it.task),
        text: line.map(|it| it.to_string()),
        entry: entry.clone().into(),
    }
}
