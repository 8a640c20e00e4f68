//! Reads the journal, and redacts secrets in what is printed from it.

use crate::{
    client::{Client, StreamItem},
    exit::Exit,
    report::Report,
};
use pitcrew_api::{EventStreamLine, paths};
use pitcrew_model::{Entry, Seq};
use pitcrew_runtime::Redactor;
use serde_json::Value;

/// Passes every entry after `after` to `take`, up to the end of the journal. Entries of unknown
/// types are skipped.
pub async fn entries(
    client: &Client,
    mut after: Seq,
    mut take: impl FnMut(&Entry) -> Result<(), Report>,
) -> Result<(), Report> {
    loop {
        let query = paths::EventsQuery { after, follow: false };
        let mut lines = client.stream(&paths::events(query)).await?;
        loop {
            let line = match lines.next().await {
                StreamItem::Line(line) => line,
                StreamItem::End => return Ok(()),
                StreamItem::Broken(_) => break,
            };
            let EventStreamLine::Event(line) = read(&line)? else { continue };
            after = line.seq;
            if let Some(entry) = line.entry.known() {
                take(entry)?;
            }
        }
    }
}

/// Passes new entries after `after` to `take` until it returns true.
pub async fn follow(
    client: &Client,
    mut after: Seq,
    mut take: impl FnMut(&Entry) -> bool,
) -> Result<(), Report> {
    loop {
        let query = paths::EventsQuery { after, follow: true };
        let mut lines = client.stream(&paths::events(query)).await?;
        while let StreamItem::Line(line) = lines.next().await {
            let EventStreamLine::Event(line) = read(&line)? else { continue };
            after = line.seq;
            if line.entry.known().is_some_and(&mut take) {
                return Ok(());
            }
        }
    }
}

/// Redacts every string of a document.
pub fn redacted(redactor: &Redactor, value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(redactor.redact(&text)),
        Value::Array(items) => items.into_iter().map(|it| redacted(redactor, it)).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(key, it)| (key, redacted(redactor, it)));
            Value::Object(fields.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

fn read(line: &[u8]) -> Result<EventStreamLine, Report> {
    serde_json::from_slice(line).map_err(|error| {
        Report::new(Exit::Failure, "the orchestrator sent a line that cannot be parsed")
            .because(error.to_string())
    })
}
