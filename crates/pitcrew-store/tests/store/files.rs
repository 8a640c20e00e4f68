//! The journal file: its owner, its permissions, and files that are refused.

use crate::support::{
    NONE, batch, ended, everything, note, open, open_ids, program, temp_dir, turn,
};
use expect_test::{Expect, expect};
use pitcrew_model::{Seq, text};
use pitcrew_store::{AppendErrorKind, Journal as _, OpenErrorKind, SqliteJournal, holder};
use rusqlite::Connection;
use std::{error::Error, fs, os::unix::fs::PermissionsExt as _, path::Path, process};

/// Formats an error with its causes, a line each, without the temporary folder.
fn words(error: &dyn Error, dir: &Path) -> String {
    let causes = text::causes(error).map(ToString::to_string);
    let lines = [error.to_string()].into_iter().chain(causes);
    lines.map(|it| it.replace(&dir.display().to_string(), "DIR") + "\n").collect()
}

fn check_refused(dir: &Path, expected: &Expect) -> OpenErrorKind {
    let before = fs::read(dir.join("journal.db")).expect("the file reads");
    let error = SqliteJournal::open(dir).expect_err("the file is refused");
    expected.assert_eq(&words(&error, dir));
    let after = fs::read(dir.join("journal.db")).expect("the file reads");
    assert!(before == after, "the file was left as it is");
    error.kind
}

fn raw(dir: &Path) -> Connection {
    Connection::open(dir.join("journal.db")).expect("SQLite opens it")
}

#[test]
fn a_journal_is_there_again_after_it_was_closed() {
    let dir = temp_dir();
    let first = batch(0, [turn("a"), note("b"), turn("c"), ended(1)]);
    open(dir.path()).append(&first).expect("it appends");
    let mut journal = open(dir.path());
    assert_eq!(everything(&journal), first.entries);
    assert_eq!(open_ids(&journal), [3]);
    assert_eq!(journal.last().expect("it reads"), Seq(4));
    journal.append(&batch(4, [ended(3)])).expect("it goes on");
    assert_eq!(open_ids(&open_again(journal, dir.path())), NONE);
}

fn open_again(journal: SqliteJournal, dir: &Path) -> SqliteJournal {
    drop(journal);
    open(dir)
}

#[test]
fn only_the_owner_may_read_what_agents_do() {
    let dir = temp_dir();
    let state = dir.path().join("workspaces/one");
    let mut journal = open(&state);
    journal.append(&batch(0, [note("a")])).expect("it appends");
    let mode = |it: &Path| fs::metadata(it).expect("it is there").permissions().mode() & 0o777;
    for name in ["journal.db", "journal.db-wal", "journal.db-shm", "journal.lock"] {
        assert_eq!(mode(&state.join(name)), 0o600, "{name}");
    }
    assert_eq!(mode(&state), 0o700);
    drop(journal);
    fs::set_permissions(state.join("journal.db"), fs::Permissions::from_mode(0o644))
        .expect("the mode is set");
    let _journal = open(&state);
    assert_eq!(mode(&state.join("journal.db")), 0o600, "a wider mode is taken back");
}

#[test]
fn a_second_opener_gets_the_holder() {
    let dir = temp_dir();
    let journal = open(dir.path());
    let error = SqliteJournal::open(dir.path()).expect_err("it is locked");
    let pid = process::id();
    assert!(matches!(error.kind, OpenErrorKind::Locked { pid: Some(it) } if it == pid));
    assert!(error.kind.to_string().starts_with(&format!("process {pid} has it open")));
    drop(open_again(journal, dir.path()));
}

#[test]
fn a_newer_journal_is_refused() {
    let dir = temp_dir();
    drop(open(dir.path()));
    raw(dir.path()).pragma_update(None, "user_version", 7).expect("the version is set");
    let kind = check_refused(
        dir.path(),
        &expect![[r#"
        failed to open the journal at `DIR/journal.db`
        it was written by a newer pitcrew (journal version 7, this one knows 1): use the pitcrew that wrote it, or a newer one
    "#]],
    );
    assert!(matches!(kind, OpenErrorKind::Newer { found: 7, known: 1 }), "{kind}");
}

#[test]
fn the_database_of_another_program_is_unchanged() {
    let dir = temp_dir();
    raw(dir.path()).execute_batch("CREATE TABLE bookmarks (url TEXT)").expect("a table");
    let kind = check_refused(
        dir.path(),
        &expect![[r#"
        failed to open the journal at `DIR/journal.db`
        it is the database of another program (application id 0x00000000): it was left as it is, move it away
    "#]],
    );
    assert!(matches!(kind, OpenErrorKind::Foreign { application_id: 0 }), "{kind}");
}

#[test]
fn a_file_that_is_no_database_is_unchanged() {
    let dir = temp_dir();
    for count in [1, 17, 600, 100_000] {
        fs::write(dir.path().join("journal.db"), "garbage!".repeat(count)).expect("a file");
        let kind = SqliteJournal::open(dir.path()).expect_err("it is garbage").kind;
        assert!(matches!(kind, OpenErrorKind::Garbage(_)), "{kind}");
    }
    check_refused(
        dir.path(),
        &expect![[r#"
        failed to open the journal at `DIR/journal.db`
        it is not a journal: it was left as it is, move it away or put a copy of the journal in its place
        file is not a database
        Error code 26: file is not a database
    "#]],
    );
}

/// A crash during the creation leaves an empty file, or one with a header and no tables.
#[test]
fn an_unfinished_file_is_created_again() {
    let dir = temp_dir();
    fs::write(dir.path().join("journal.db"), "").expect("a file");
    drop(open(dir.path()));
    let dir = temp_dir();
    raw(dir.path()).pragma_update(None, "journal_mode", "wal").expect("a header");
    assert!(fs::metadata(dir.path().join("journal.db")).expect("it is there").len() > 0);
    open(dir.path()).append(&batch(0, [note("a")])).expect("it appends");
}

#[test]
fn an_impossible_folder_is_named() {
    let dir = temp_dir();
    fs::write(dir.path().join("file"), "").expect("a file");
    let error = SqliteJournal::open(&dir.path().join("file/state")).expect_err("no folder");
    expect![[r#"
        failed to open the journal at `DIR/file/state/journal.db`
        the operating system refused it
        cannot make the folder `DIR/file`: File exists (os error 17)
    "#]]
    .assert_eq(&words(&error, dir.path()));
}

#[test]
fn an_unknown_event_is_named() {
    let dir = temp_dir();
    open(dir.path()).append(&batch(0, ["a", "b", "c"].map(note))).expect("it appends");
    raw(dir.path())
        .execute("UPDATE events SET body = '{\"type\":\"from_the_future\"}' WHERE seq = 2", [])
        .expect("a row changes");
    let journal = open(dir.path());
    let error = journal.read(Seq(0), 10).expect_err("event 2 is bad");
    let text = words(&error, dir.path());
    assert!(text.contains("event 2 is not understood"), "{text}");
    assert!(text.contains("unknown variant `from_the_future`"), "{text}");
    assert_eq!(journal.read(Seq(2), 10).expect("what follows reads").len(), 1);
}

#[test]
fn a_missing_event_is_named() {
    let dir = temp_dir();
    open(dir.path()).append(&batch(0, ["a", "b", "c"].map(note))).expect("it appends");
    raw(dir.path()).execute("DELETE FROM events WHERE seq = 2", []).expect("a row goes");
    let error = open(dir.path()).read(Seq(0), 10).expect_err("event 2 is gone");
    expect![[r#"
        failed to read the journal at `DIR/journal.db`
        event 2 is missing
    "#]]
    .assert_eq(&words(&error, dir.path()));
}

#[test]
fn an_unknown_effect_is_named() {
    let dir = temp_dir();
    open(dir.path()).append(&batch(0, [turn("a")])).expect("it appends");
    raw(dir.path()).execute("UPDATE outbox SET body = '{'", []).expect("a row changes");
    let error = open(dir.path()).open_effects().expect_err("the effect is bad");
    expect![[r#"
        failed to read the journal at `DIR/journal.db`
        effect-1 is not understood: it is damaged, or a newer pitcrew wrote it
        EOF while parsing an object at line 1 column 1
    "#]]
    .assert_eq(&words(&error, dir.path()));
}

/// The outbox refuses its row after the events were inserted: then neither is stored.
#[test]
fn events_and_effects_are_written_together_or_not_at_all() {
    let dir = temp_dir();
    let mut journal = open(dir.path());
    journal.append(&batch(0, [turn("a")])).expect("it appends");
    let intruder = raw(dir.path());
    intruder.execute("INSERT INTO outbox VALUES (3, '{}')", []).expect("a row comes");
    let next = batch(1, [ended(1), turn("b"), note("c")]);
    let kind = journal.append(&next).expect_err("effect-3 is there already").kind;
    assert!(matches!(kind, AppendErrorKind::Corrupt(_)), "{kind}");
    intruder.execute("DELETE FROM outbox WHERE effect = 3", []).expect("the row goes");
    assert_eq!(everything(&journal).len(), 1);
    assert_eq!(open_ids(&journal), [1]);
    journal.append(&next).expect("it goes on");
    assert_eq!(open_ids(&open_again(journal, dir.path())), [3]);
}

/// A page in the middle of the file is overwritten: reading fails instead of returning made-up
/// data.
#[test]
fn a_damaged_page_is_an_error() {
    let dir = temp_dir();
    let text = "x".repeat(2_000);
    open(dir.path()).append(&batch(0, (0..50).map(|_| note(&text)))).expect("it appends");
    let path = dir.path().join("journal.db");
    let mut bytes = fs::read(&path).expect("the file reads");
    bytes[4_096..].fill(0xff);
    fs::write(&path, bytes).expect("the file is damaged");
    let outcome = SqliteJournal::open(dir.path()).map(|it| it.read(Seq(0), 100).is_err());
    match outcome {
        Ok(unreadable) => assert!(unreadable, "the damage was not seen"),
        Err(error) => assert!(matches!(error.kind, OpenErrorKind::Corrupt(_)), "{}", error.kind),
    }
}

/// The lock ends with its holder, however that ends; the lock file stays.
#[test]
fn a_lock_file_alone_locks_nothing() {
    let dir = temp_dir();
    let mut dead = program("true").spawn().expect("a process");
    dead.wait().expect("it ends");
    fs::write(dir.path().join("journal.lock"), format!("{}\n", dead.id())).expect("a file");
    drop(open(dir.path()));
    let text = fs::read_to_string(dir.path().join("journal.lock")).expect("it reads");
    assert_eq!(text.split_whitespace().next(), Some(&*process::id().to_string()));
}

/// A caller that ends a hanging orchestrator finds its process, and none after its end.
#[test]
fn the_holder_of_the_lock_is_known_while_it_holds_it() {
    let dir = temp_dir();
    assert_eq!(holder(dir.path()).expect("no file is no error"), None);
    let journal = open(dir.path());
    let found = holder(dir.path()).expect("it reads").expect("it is held");
    assert_eq!(found.pid, process::id());
    let stat = fs::read_to_string("/proc/self/stat").expect("a process has one");
    assert!(stat.contains(&format!(" {} ", found.start)), "{stat}");
    drop(journal);
    assert_eq!(holder(dir.path()).expect("it reads"), None);
}
