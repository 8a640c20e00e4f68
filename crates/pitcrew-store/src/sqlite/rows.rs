//! Decodes rows into events and effects.

use crate::ReadErrorKind;
use pitcrew_model::{Effect, EffectId, Entry, Seq, Timestamp};
use rusqlite::Connection;

pub fn read(
    connection: &Connection,
    after: Seq,
    limit: usize,
) -> Result<Vec<Entry>, ReadErrorKind> {
    let mut select = connection
        .prepare_cached("SELECT seq, at, body FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2")?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let after_row = i64::try_from(after.0).unwrap_or(i64::MAX);
    let mut rows = select.query((after_row, limit))?;
    let mut entries: Vec<Entry> = Vec::new();
    let mut before = after;
    while let Some(row) = rows.next()? {
        let seq = Seq(row.get::<_, i64>(0)?.cast_unsigned());
        if seq != before.next() {
            return Err(ReadErrorKind::Missing { seq: before.next() });
        }
        let event = serde_json::from_slice(body(row, 2)?)
            .map_err(|source| ReadErrorKind::BadEvent { seq, source })?;
        let at = Timestamp(row.get::<_, i64>(1)?.cast_unsigned());
        entries.push(Entry { seq, at, event });
        before = seq;
    }
    Ok(entries)
}

pub fn open_effects(connection: &Connection) -> Result<Vec<(EffectId, Effect)>, ReadErrorKind> {
    let mut select =
        connection.prepare_cached("SELECT effect, body FROM outbox ORDER BY effect")?;
    let mut rows = select.query([])?;
    let mut effects = Vec::new();
    while let Some(row) = rows.next()? {
        let id = EffectId(row.get::<_, i64>(0)?.cast_unsigned());
        let effect = serde_json::from_slice(body(row, 1)?)
            .map_err(|source| ReadErrorKind::BadEffect { effect: id, source })?;
        effects.push((id, effect));
    }
    Ok(effects)
}

pub fn last(connection: &Connection) -> rusqlite::Result<Seq> {
    let mut select = connection.prepare_cached("SELECT coalesce(max(seq), 0) FROM events")?;
    select.query_row([], |row| Ok(Seq(row.get::<_, i64>(0)?.cast_unsigned())))
}

fn body<'row>(row: &'row rusqlite::Row<'_>, column: usize) -> rusqlite::Result<&'row [u8]> {
    Ok(row.get_ref(column)?.as_bytes()?)
}

impl From<rusqlite::Error> for ReadErrorKind {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error.into())
    }
}
