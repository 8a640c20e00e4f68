//! Compares the journal with a bare `SQLite` loop that writes the same bytes in the same batches.
//!
//! Prints a line of JSON for each batch size. Both write to files in the folder given as argument,
//! or in the temporary folder, alternately, so that other load affects both.

use pitcrew_model::{
    Actor, Effect, EffectId, EffectResult, Entry, Event, Reason, Seq, StopReason, TaskId,
    TaskStatus, Timestamp, TurnCause, Usage, WorkerId,
};
use pitcrew_store::{Batch, Journal as _, SqliteJournal};
use rusqlite::Connection;
use std::{env, error::Error, ffi::OsString, path::Path, time::Instant};

const ROUNDS: usize = 15;
const BATCH_EVENTS: [usize; 4] = [1, 8, 32, 128];
/// Batches that each side writes in a round.
const ROUND_BATCHES: usize = 40;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let place = env::args_os().nth(1).unwrap_or_else(|| OsString::from(env::temp_dir()));
    for batch_events in BATCH_EVENTS {
        let dir = tempfile::tempdir_in(&place)?;
        println!("{}", compare(dir.path(), batch_events)?);
    }
    Ok(())
}

fn compare(dir: &Path, batch_events: usize) -> Outcome<String> {
    let mut journal = SqliteJournal::open(&dir.join("journal"))?;
    let mut bare = open_bare(&dir.join("bare.db"))?;
    let (mut bare_rates, mut journal_rates, mut ratios) = (vec![], vec![], vec![]);
    // The first round is a warm-up.
    for round in 0..=ROUNDS {
        let first = round * ROUND_BATCHES;
        let batches: Vec<Batch> =
            (first..first + ROUND_BATCHES).map(|it| batch(it, batch_events)).collect();
        let encoded: Vec<Encoded> = batches.iter().map(encode).collect::<Outcome<_>>()?;
        let rows_count = encoded.iter().map(Encoded::rows_count).sum();
        let mut of_bare = || rate(rows_count, || write_bare(&mut bare, &encoded));
        let mut of_journal = || rate(rows_count, || write_journal(&mut journal, &batches));
        let (bare_rate, journal_rate) = if round % 2 == 0 {
            let bare_rate = of_bare()?;
            (bare_rate, of_journal()?)
        } else {
            let journal_rate = of_journal()?;
            (of_bare()?, journal_rate)
        };
        if round > 0 {
            bare_rates.push(bare_rate);
            journal_rates.push(journal_rate);
            ratios.push(journal_rate / bare_rate);
        }
    }
    Ok(format!(
        r#"{{"batch":{batch_events},"bare_rows_per_s":{:.0},"journal_rows_per_s":{:.0},"ratio":{:.3}}}"#,
        median(bare_rates),
        median(journal_rates),
        median(ratios),
    ))
}

fn rate(rows_count: u32, write: impl FnOnce() -> Outcome<()>) -> Outcome<f64> {
    let started = Instant::now();
    write()?;
    Ok(f64::from(rows_count) / started.elapsed().as_secs_f64())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The events of a running plan: a turn and its prompt, its end, moves and notes.
fn batch(index: usize, events_count: usize) -> Batch {
    let first = index * events_count + 1;
    let entries: Vec<Entry> = (first..first + events_count)
        .map(|seq| {
            let seq = seq as u64;
            Entry { seq: Seq(seq), at: Timestamp(1_700_000_000_000 + seq), event: event(seq) }
        })
        .collect();
    let effects = entries.iter().filter_map(effect).collect();
    Batch { entries, effects }
}

fn event(seq: u64) -> Event {
    let worker = WorkerId(seq % 50);
    match seq % 4 {
        0 => Event::TurnOpened { worker, cause: TurnCause::Start },
        1 => Event::EffectEnded {
            effect: EffectId(seq - 1),
            result: EffectResult::TurnEnded {
                worker,
                stop: StopReason::EndTurn,
                usage: Usage { tokens_in: seq, tokens_out: 700, ..Usage::default() },
                last_words: "the interface is there, with its tests ".repeat(4),
            },
        },
        2 => Event::TaskMoved {
            task: TaskId(seq / 8),
            from: TaskStatus::Starting,
            to: TaskStatus::Running,
            reason: Reason::Progress,
            actor: Actor::Orchestrator,
        },
        _ => Event::ActivityNoted { worker, note: "edits src/api/routes.rs".into() },
    }
}

fn effect(entry: &Entry) -> Option<(EffectId, Effect)> {
    let Event::TurnOpened { worker, .. } = entry.event else { return None };
    let text = "Add the interface that the plan describes. ".repeat(24);
    Some((EffectId(entry.seq.0), Effect::Prompt { worker, text, order: None }))
}

fn write_journal(journal: &mut SqliteJournal, batches: &[Batch]) -> Outcome<()> {
    for batch in batches {
        journal.append(batch)?;
    }
    Ok(())
}

/// The encoded rows of a batch.
struct Encoded {
    events: Vec<(i64, i64, String)>,
    effects: Vec<(i64, String)>,
    retired: Vec<i64>,
}

impl Encoded {
    fn rows_count(&self) -> u32 {
        let count = self.events.len() + self.effects.len() + self.retired.len();
        u32::try_from(count).expect("a batch is small")
    }
}

fn encode(batch: &Batch) -> Outcome<Encoded> {
    let mut encoded = Encoded { events: vec![], effects: vec![], retired: vec![] };
    for Entry { seq, at, event } in &batch.entries {
        let body = serde_json::to_string(event)?;
        encoded.events.push((seq.0.cast_signed(), at.0.cast_signed(), body));
        encoded.retired.extend(event.retires().map(|it| it.0.cast_signed()));
    }
    for (id, effect) in &batch.effects {
        encoded.effects.push((id.0.cast_signed(), serde_json::to_string(effect)?));
    }
    Ok(encoded)
}

fn open_bare(path: &Path) -> Outcome<Connection> {
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA journal_mode = wal;
         PRAGMA synchronous = full;
         CREATE TABLE events (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
         CREATE TABLE outbox (effect INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;",
    )?;
    Ok(connection)
}

fn write_bare(connection: &mut Connection, batches: &[Encoded]) -> Outcome<()> {
    for batch in batches {
        let transaction = connection.transaction()?;
        let mut insert = transaction.prepare_cached("INSERT INTO events VALUES (?1, ?2, ?3)")?;
        for (seq, at, body) in &batch.events {
            insert.execute((seq, at, body))?;
        }
        drop(insert);
        for (id, body) in &batch.effects {
            transaction
                .prepare_cached("INSERT INTO outbox VALUES (?1, ?2)")?
                .execute((id, body))?;
        }
        for id in &batch.retired {
            transaction.prepare_cached("DELETE FROM outbox WHERE effect = ?1")?.execute([id])?;
        }
        transaction.commit()?;
    }
    Ok(())
}
