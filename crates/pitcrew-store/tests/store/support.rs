//! Small batches, and this test program as a child process.

use pitcrew_model::{
    Effect, EffectId, EffectResult, Entry, Event, Seq, Timestamp, TurnCause, WorkerId,
};
use pitcrew_store::{Batch, Journal, SqliteJournal};
use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// No effects, no events.
pub const NONE: [u64; 0] = [];

const WORKER: WorkerId = WorkerId(1);
/// Tells a child the folder to work in.
const CHILD_DIR: &str = "PITCREW_STORE_TEST_DIR";

pub fn temp_dir() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

pub fn open(dir: &Path) -> SqliteJournal {
    SqliteJournal::open(dir).expect("the journal opens")
}

pub fn note(text: &str) -> Event {
    Event::ActivityNoted { worker: WORKER, note: text.into() }
}

/// An event that requests an effect.
pub fn turn(answer: &str) -> Event {
    let cause = TurnCause::Answer { question: "?".into(), answer: answer.into() };
    Event::TurnOpened { worker: WORKER, cause }
}

/// The event that retires the effect of event `seq`.
pub fn ended(seq: u64) -> Event {
    let result = EffectResult::PermissionAnswered { worker: WORKER };
    Event::EffectEnded { effect: EffectId(seq), result }
}

/// A batch after event `after`, with an effect for every turn in it.
pub fn batch(after: u64, events: impl IntoIterator<Item = Event>) -> Batch {
    let entries: Vec<Entry> = (after + 1..)
        .zip(events)
        .map(|(seq, event)| Entry { seq: Seq(seq), at: Timestamp(1_000 + seq), event })
        .collect();
    let effects = entries.iter().filter_map(effect_of).collect();
    Batch { entries, effects }
}

pub fn effect_of(entry: &Entry) -> Option<(EffectId, Effect)> {
    let Event::TurnOpened { worker, cause: TurnCause::Answer { answer, .. } } = &entry.event else {
        return None;
    };
    Some((
        EffectId(entry.seq.0),
        Effect::Prompt { worker: *worker, text: answer.clone(), order: None },
    ))
}

pub fn everything(journal: &dyn Journal) -> Vec<Entry> {
    journal.read(Seq(0), usize::MAX).expect("the journal reads")
}

pub fn open_ids(journal: &dyn Journal) -> Vec<u64> {
    journal.open_effects().expect("the outbox reads").into_iter().map(|it| it.0.0).collect()
}

/// Checks that the outbox contains every effect that was requested and not retired.
pub fn assert_outbox_follows_events(journal: &dyn Journal) {
    let entries = everything(journal);
    let mut expected: Vec<(EffectId, Effect)> = entries.iter().filter_map(effect_of).collect();
    for retired in entries.iter().filter_map(|it| it.event.retires()) {
        expected.retain(|it| it.0 != retired);
    }
    assert_eq!(journal.open_effects().expect("the outbox reads"), expected);
}

/// Returns the folder of this process if it is a child.
pub fn child_dir() -> Option<PathBuf> {
    env::var_os(CHILD_DIR).map(PathBuf::from)
}

/// Returns this program as a child in `dir` that runs only `test`.
pub fn child(test: &str, dir: &Path) -> Command {
    let mut command = program(env::current_exe().expect("this program has a path"));
    as_child(&mut command, test, dir);
    command
}

/// Like [`child`], inside another program that takes a command line as its last arguments.
pub fn child_inside(mut wrapper: Command, test: &str, dir: &Path) -> Command {
    wrapper.arg(env::current_exe().expect("this program has a path"));
    as_child(&mut wrapper, test, dir);
    wrapper
}

fn as_child(command: &mut Command, test: &str, dir: &Path) {
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(CHILD_DIR, dir);
}

#[expect(clippy::disallowed_methods, reason = "the child is this test itself, not a tool of ours")]
pub fn program(name: impl AsRef<OsStr>) -> Command {
    Command::new(name)
}
