//! The agent's client is lost and reattaches after every single record: the result is the same.

use crate::stage::{LONG, launch, script_order};
use pitcrew_acp::{Event, Profile, Session, SessionEvents, TurnEnd, attach, open};
use pitcrew_model::EffectId;
use pitcrew_process::{SpoolReader, SpoolRecord};
use serde_json::Value;
use std::{cell::RefCell, collections::BTreeSet, path::Path, time::Duration};
use tempfile::TempDir;

const SCRIPT: &str = "\
unless \"the first\" write a.txt <<END
a
END
unless \"the first\" permit Take the first
unless \"the first\" run echo one; echo two
unless \"the first\" permit Take the second
unless \"the first\" ask Which one?
when \"the first\" append a.txt <<END
b
END
when \"the first\" permit Take the last
when \"the first\" complete all of it
";
const FIRST: &str = "Do this.";
const SECOND: &str = "the first";

/// The facts from earlier clients that a journal would contain.
#[derive(Default)]
struct Memory {
    opened: bool,
    ends: Vec<TurnEnd>,
    decided: Vec<String>,
    answered: BTreeSet<String>,
}

/// Runs one client, starting where the previous one stopped.
async fn live(home: &Path, memory: &RefCell<Memory>) {
    let opened = memory.borrow_mut().opened;
    let (session, events) = if opened {
        let dir = home.join("attempt");
        let back = attach(&dir, &home.join("checkout"), Profile::default(), None, LONG)
            .await
            .expect("a session");
        (back.session, back.events)
    } else {
        open(launch(home, &["agent"])).await.expect("a session")
    };
    memory.borrow_mut().opened = true;
    tokio::select! {
        () = decide(&session, events, memory) => panic!("the agent exited"),
        () = prompt(&session, memory) => {}
    }
    session.stop(Duration::from_secs(2)).await;
}

async fn prompt(session: &Session, memory: &RefCell<Memory>) {
    for (number, text) in [(2, FIRST), (3, SECOND)] {
        if memory.borrow_mut().ends.len() + 2 > number {
            continue;
        }
        let effect = EffectId(number as u64);
        let end = match number {
            2 => session.prompt_with(effect, text, &script_order(SCRIPT)).await,
            _ => session.prompt(effect, text).await,
        };
        let end = end.expect("a turn");
        memory.borrow_mut().ends.push(end);
    }
}

/// Answers in the order of the decisions, starting with those that were decided but not answered.
async fn decide(session: &Session, mut events: SessionEvents, memory: &RefCell<Memory>) {
    loop {
        let open: Vec<String> = {
            let memory = memory.borrow_mut();
            let open = memory.decided.iter().filter(|it| !memory.answered.contains(*it));
            open.cloned().collect()
        };
        for call in open {
            session.answer_permission(&call, Some("allow")).await;
            memory.borrow_mut().answered.insert(call);
        }
        match events.next().await {
            Some(Event::Permission { call, .. }) => {
                let mut memory = memory.borrow_mut();
                if !memory.decided.contains(&call) {
                    memory.decided.push(call);
                }
            }
            Some(Event::Activity { .. } | Event::Usage(_) | Event::Blocked { .. }) => {}
            Some(Event::Exited(_)) | None => return,
        }
    }
}

fn records(home: &Path) -> Vec<SpoolRecord> {
    let Ok(mut spool) = SpoolReader::open(&home.join("attempt/spool.ndjson")) else {
        return Vec::new();
    };
    std::iter::from_fn(|| spool.read().expect("records")).collect()
}

/// The complete result, without details that depend on the folder.
fn result(home: &Path, memory: &Memory) -> String {
    let sent = records(home).into_iter().filter_map(|it| match it {
        SpoolRecord::Input { line, .. } => {
            let mut frame: Value = serde_json::from_str(&line).expect("a frame");
            if frame["id"].is_string() {
                // The agent generates the ids of its own requests.
                frame["id"].take();
            }
            Some(frame.to_string())
        }
        SpoolRecord::Output { .. } | SpoolRecord::Garbage { .. } => None,
    });
    let sent = sent.collect::<Vec<_>>().join("\n");
    let calls = std::fs::read_to_string(home.join("calls")).expect("calls of tools");
    let file = std::fs::read_to_string(home.join("checkout/a.txt")).expect("a file");
    let decided = memory.decided.len();
    let text = format!("{:#?}\n{decided}\n{sent}\n{calls}\n{file}", memory.ends);
    text.replace(&home.display().to_string(), "HOME")
}

async fn whole(home: &TempDir, memory: &RefCell<Memory>) -> String {
    tokio::time::timeout(LONG, live(home.path(), memory)).await.expect("an end");
    result(home.path(), &memory.borrow_mut())
}

/// The end, the requests and the work are the same as without a cut.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_after_any_record_changes_nothing() {
    let home = tempfile::tempdir().expect("a folder");
    let undisturbed = whole(&home, &RefCell::default()).await;
    assert!(undisturbed.contains("all of it"), "{undisturbed}");
    let count = records(home.path()).len();
    assert!(count > 25, "{count} records");
    let mut cuts_count = 0;
    for cut in 0..count {
        let (home, memory) = (tempfile::tempdir().expect("a folder"), RefCell::default());
        let spooled = async {
            while records(home.path()).len() < cut {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            () = spooled => {}
            () = live(home.path(), &memory) => {}
        }
        if memory.borrow_mut().ends.len() == 2 {
            continue;
        }
        cuts_count += 1;
        let after = whole(&home, &memory).await;
        assert!(
            after == undisturbed,
            "cut after {cut} records: {after}\ninstead of: {undisturbed}"
        );
    }
    assert!(cuts_count > count / 2, "{cuts_count} of {count}");
}

/// The agent is gone and only a part of its spool is left: everything up to there is known.
#[tokio::test]
async fn a_truncated_spool_is_read_up_to_its_end() {
    let home = tempfile::tempdir().expect("a folder");
    whole(&home, &RefCell::default()).await;
    let dir = home.path().join("attempt");
    let spool = std::fs::read(dir.join("spool.ndjson")).expect("a spool");
    let end_of = |text: &str| {
        let whole = String::from_utf8_lossy(&spool);
        let from = whole.find(text).expect("the text");
        from + whole[from..].find('\n').expect("its end") + 1
    };
    let agreed = end_of(r#"\"id\":9,\"result\""#);
    let first_end = end_of(r#"\"id\":16,\"result\""#);
    let second_end = end_of(r#"\"id\":24,\"result\""#);
    for length in (0..=spool.len()).step_by(61) {
        std::fs::write(dir.join("spool.ndjson"), &spool[..length]).expect("a spool");
        let back =
            attach(&dir, &home.path().join("checkout"), Profile::default(), None, LONG).await;
        assert_eq!(back.is_ok(), length >= agreed, "after {length} bytes");
        let Ok(back) = back else { continue };
        let (first, second) = tokio::join!(
            back.session.prompt(EffectId(2), "again"),
            back.session.prompt(EffectId(3), "again")
        );
        assert_eq!(first.is_ok(), (first_end..second_end).contains(&length), "{first:?}");
        assert_eq!(second.is_ok(), length >= second_end, "{second:?}");
    }
}
