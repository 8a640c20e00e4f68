//! The state in memory always equals the state on disk.

mod plan;

use crate::{
    Committed, Writer,
    full_disk::{Disk, DiskJournal},
};
use pitcrew_kernel::{State, evolve};
use pitcrew_model::{Command, Input, PlanId, PlanStatus, Rejection, Seq};
use pitcrew_store::{Journal, SqliteJournal};
use plan::{answer, command, diamond, tick};

fn replayed(journal: &impl Journal) -> State {
    let mut state = State::default();
    for entry in journal.read(Seq(0), usize::MAX).unwrap() {
        evolve(&mut state, &entry);
    }
    state
}

/// Checks that the state is the fold of the journal, and that the outbox contains the open effects.
fn assert_true_to_disk<J: Journal>(writer: &Writer<J>) {
    assert!(*writer.state() == replayed(writer.journal()), "at {}", writer.last());
    assert_eq!(writer.last(), writer.journal().last().unwrap());
    let open = writer.journal().open_effects().unwrap();
    let open: Vec<_> = open.into_iter().map(|it| it.0).collect();
    assert_eq!(open, writer.state().effects.iter().copied().collect::<Vec<_>>());
}

fn answers(committed: &Committed) -> Vec<Input> {
    committed.effects.iter().flat_map(|(id, effect)| answer(*id, effect)).collect()
}

/// S2-084: nothing is published before it is durable. The disk is full once before every commit.
#[test]
fn a_batch_that_does_not_fit_changes_nothing() {
    let disk = Disk::default();
    let mut writer = Writer::open(DiskJournal::on(&disk), |_| {}).unwrap();
    let mut inputs = vec![command(diamond())];
    let mut commits = 0;
    while writer.state().plans.get(PlanId(1)).is_none_or(|it| !it.status.has_ended()) {
        disk.fill();
        let (before, last) = (writer.state().clone(), writer.last());
        let refused = writer.commit(&inputs);
        assert!(!refused.is_stored && refused.entries.is_empty() && refused.effects.is_empty());
        for verdict in &refused.verdicts {
            let Err(Rejection::JournalFull { message }) = verdict else { panic!("{verdict:?}") };
            assert!(message.contains("/full") && message.contains("free some space"), "{message}");
        }
        assert!(*writer.state() == before && writer.last() == last);
        assert_true_to_disk(&writer);

        disk.free();
        let committed = writer.commit(&inputs);
        assert!(committed.is_stored);
        for verdict in &committed.verdicts {
            assert!(verdict.is_ok(), "{verdict:?}");
        }
        assert_true_to_disk(&writer);
        inputs = answers(&committed);
        if inputs.is_empty() {
            // The failed task waits for its back-off.
            inputs = vec![tick(100_000)];
        }
        commits += 1;
        assert!(commits < 100, "it comes to an end");
    }
    assert_eq!(writer.state().plans[PlanId(1)].status, PlanStatus::Completed);
    assert_eq!(writer.state().attempts.len(), 5, "one task needed two");
}

/// An empty batch succeeds even on a full disk.
#[test]
fn an_input_without_consequences_needs_no_room() {
    let disk = Disk::default();
    let mut writer = Writer::open(DiskJournal::on(&disk), |_| {}).unwrap();
    disk.fill();
    let committed = writer.commit(&[tick(1), command(Command::PausePlan { plan: PlanId(7) })]);
    assert!(committed.is_stored);
    assert_eq!(committed.verdicts[0], Ok(0..0));
    assert_eq!(committed.verdicts[1], Err(Rejection::NoSuchPlan { plan: PlanId(7) }));
    assert_eq!(disk.tries(), 0, "nothing was to be written");
}

/// The writer is closed and opened again after every commit.
#[test]
fn a_replay_gives_the_same_state_at_every_step() {
    let dir = tempfile::tempdir().unwrap();
    let mut inputs = vec![command(diamond())];
    for step in 0.. {
        assert!(step < 100, "it comes to an end");
        let mut seen = 0;
        let journal = SqliteJournal::open(dir.path()).unwrap();
        let mut writer = Writer::open(journal, |_| seen += 1).unwrap();
        assert_eq!(seen, writer.last().0, "the views are shown every entry");
        assert_true_to_disk(&writer);
        if writer.state().plans.get(PlanId(1)).is_some_and(|it| it.status.has_ended()) {
            assert_eq!(writer.state().plans[PlanId(1)].status, PlanStatus::Completed);
            return;
        }
        let committed = writer.commit(&inputs);
        assert_true_to_disk(&writer);
        assert!(committed.verdicts.iter().all(Result::is_ok), "{:?}", committed.verdicts);
        // Open effects are read from the disk, as after a crash.
        let open = writer.journal().open_effects().unwrap();
        assert_eq!(open.len(), writer.state().effects.len());
        assert!(committed.is_stored);
        inputs = open.iter().flat_map(|(id, effect)| answer(*id, effect)).collect();
        if inputs.is_empty() {
            inputs = vec![tick(100_000)];
        }
    }
}
