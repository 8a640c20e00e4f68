//! The message throughput of the writer and the real store.

use crate::orchestrator::plan;
use pitcrew_model::{Actor, Command, Input, InputBody, Party, Priority, TaskId, Timestamp};
use pitcrew_runtime::Writer;
use pitcrew_store::SqliteJournal;
use std::time::{Duration, Instant};

const MESSAGES: usize = 600;
/// Concurrent senders, which share a disk write.
const AT_ONCE: usize = 10;

fn person(command: Command) -> Input {
    Input { at: Timestamp(1_000), actor: Actor::Person, body: InputBody::Command(command) }
}

fn message(number: usize) -> Input {
    person(Command::SendMessage {
        to: Party::Task(TaskId(1)),
        content: format!("message {number}"),
        priority: Some(Priority::Normal),
        thread: None,
        key: Some(format!("key-{number}")),
    })
}

/// S4-074, S4-149: more than 100 messages become durable in a second, and none is missing
/// afterwards.
#[test]
fn a_hundred_messages_a_second_are_durable() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(SqliteJournal::open(dir.path()).unwrap(), |_| {}).unwrap();
    assert!(writer.commit(&[person(plan("true"))]).verdicts[0].is_ok());
    let messages: Vec<Input> = (0..MESSAGES).map(message).collect();
    let began = Instant::now();
    for batch in messages.chunks(AT_ONCE) {
        let committed = writer.commit(batch);
        assert!(committed.is_stored && committed.verdicts.iter().all(Result::is_ok));
    }
    let took = began.elapsed();
    assert!(took < Duration::from_secs(MESSAGES as u64 / 100), "{MESSAGES} took {took:?}");
    let last = writer.last();
    drop(writer);
    let mut entries = 0;
    let again = Writer::open(SqliteJournal::open(dir.path()).unwrap(), |_| entries += 1).unwrap();
    assert_eq!(again.last(), last);
    assert!(entries > MESSAGES, "{entries} entries");
}
