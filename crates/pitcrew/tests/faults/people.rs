//! Agents that need a person in the middle of a turn.

use crate::support::*;
use pitcrew_model::{Entry, Event, Failure, TaskStatus, WorkerStatus};
use pitcrew_testkit::eventually;
use pitcrew_views::{Ask, names};
use std::collections::BTreeSet;

/// S1-058: a question waits for its answer, which is the next prompt; the sibling does not wait.
#[test]
fn question_is_answered_and_the_task_continues() {
    let sandbox = sandbox();
    let steps = "ask Tabs or spaces?\nwhen \"spaces, of course\" write core/a.txt <<END\n  a\nEND\ncomplete it";
    let task = format!("{}\nexpected_files = \"core/a.txt\"", script(steps));
    let plan = sandbox.plan(&beside_a_sibling(&task));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    let request = await_request(&sandbox);
    assert_eq!(request.title, "Tabs or spaces?");
    await_task(&sandbox, "sibling", TaskStatus::Completed);
    sandbox.pitcrew(&["answer", "faulty", "spaces, of course"]).expect(0);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0);
    assert_eq!(task_of(&board(&sandbox), "faulty").attempts.len(), 1);
}

#[test]
fn approved_command_runs_and_denied_one_does_not() {
    let sandbox = sandbox();
    let steps = "permit curl example.org\nwrite core/a.txt <<END\na\nEND\npermit rm -rf /\nwrite core/b.txt <<END\nb\nEND\ncomplete it";
    let plan = sandbox.plan(&beside_a_sibling(&script(steps)));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    let request = await_request(&sandbox);
    assert_eq!(request.title, "may it run `curl example.org`?");
    assert!(matches!(request.ask, Ask::ToolUse { .. }), "{request:?}");
    sandbox.pitcrew(&["approve", &request.id.to_string()]).expect(0);
    let request = await_request(&sandbox);
    assert_eq!(request.title, "may it run `rm -rf /`?");
    sandbox.pitcrew(&["deny", &request.id.to_string(), "--reason", "no"]).expect(0);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(4);
    let board = board(&sandbox);
    let failure = task_of(&board, "faulty").attempts[0].failure.clone();
    let Some(Failure::GaveUp { summary }) = failure else { panic!("{failure:?}") };
    assert!(summary.contains("permission for `rm -rf /` was denied"), "{summary}");
    let diff = sandbox.pitcrew(&["diff", "faulty"]).expect(0).stdout;
    assert!(diff.contains("core/a.txt") && !diff.contains("core/b.txt"), "{diff}");
}

/// A request is withdrawn with the task that asked.
#[test]
fn cancel_withdraws_the_question() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&beside_a_sibling(&script("ask Which?\ncomplete it")));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    let request = await_request(&sandbox).id.to_string();
    sandbox.pitcrew(&["cancel", "faulty"]).expect(0);
    sandbox.pitcrew(&["answer", &request, "this one"]).expect(6).notes("is withdrawn: ");
    sandbox.pitcrew(&["watch", "plan-1"]).expect(4);
    assert_eq!(
        sandbox.pitcrew(&["inbox", "--json"]).expect(0).json()["open"],
        serde_json::json!([])
    );
}

/// A command cannot be continued: after a pause it is run again, and completes its task.
#[test]
fn paused_command_is_repeated_after_resume() {
    let sandbox = sandbox();
    let gate = sandbox.root().join("gate");
    let command = format!("{}; echo a > core/a.txt", wait_at(&gate));
    let plan = sandbox.plan(&beside_a_sibling(&format!("command = \"\"\"{command}\"\"\"")));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_reached(&gate);
    sandbox.pitcrew(&["pause", "plan-1"]).expect(0);
    sandbox.pitcrew(&["resume", "plan-1"]).expect(0);
    open_gate(&gate);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0).says("2 of 2 completed");
    let board = board(&sandbox);
    let attempts = &task_of(&board, "faulty").attempts;
    assert_eq!(attempts[0].failure, Some(Failure::Interrupted), "it starts over");
    assert_eq!(attempts.len(), 2);
}

/// Each pause interrupts one turn and each resume opens one: no further turn is interrupted, and no
/// reminder is sent.
#[test]
fn rapid_pause_and_resume_costs_no_turn() {
    let sandbox = sandbox();
    let gate = sandbox.root().join("gate");
    let steps = format!("run {}\nwrite core/a.txt <<END\na\nEND\ncomplete it", wait_at(&gate));
    let plan = sandbox.plan(&beside_a_sibling(&script(&steps)));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_reached(&gate);
    for _ in 0..4 {
        sandbox.pitcrew(&["pause", "plan-1"]).expect(0);
        sandbox.pitcrew(&["resume", "plan-1"]).expect(0);
    }
    open_gate(&gate);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0).says("2 of 2 completed");
    let board = board(&sandbox);
    let attempts = &task_of(&board, "faulty").attempts;
    assert_eq!(attempts.len(), 1);
    assert!(attempts[0].turns_count <= 5, "{attempts:?}");
}

/// S1-054: real workers pass through each of the states that an editor knows.
#[test]
fn workers_reach_every_session_state() {
    let sandbox = sandbox();
    let gate = sandbox.root().join("gate");
    let wait = format!("run until [ -e '{}' ]; do sleep 0.02; done", gate.display());
    let steps = format!("ask Tabs or spaces?\n{wait}\nwrite core/a.txt <<END\na\nEND\ncomplete it");
    let breaks = "[[task]]\nid = \"breaks\"\nregion = \"docs\"\nscript = \"exit 3\"\n";
    let plan = sandbox.plan(&format!("{}\n{breaks}", beside_a_sibling(&script(&steps))));
    let running = sandbox.start(&["run", &plan, "--yes", "--json"]);
    let request = await_request(&sandbox);
    let status = || {
        let board = board(&sandbox);
        board.workers.iter().find(|it| Some(it.id) == request.worker).map(|it| it.status)
    };
    let await_status =
        |wanted| eventually("its worker", || (status() == Some(wanted)).then_some(()));
    await_status(WorkerStatus::WaitingInput);
    sandbox.pitcrew(&["answer", &request.id.to_string(), "spaces"]).expect(0);
    await_status(WorkerStatus::Running);
    sandbox.pitcrew(&["pause", "plan-1"]).expect(0);
    await_status(WorkerStatus::Paused);
    sandbox.pitcrew(&["resume", "plan-1"]).expect(0);
    std::fs::write(gate, "").expect("a file");
    let moves = running.wait().expect(4).json_lines().into_iter().filter_map(|it| {
        let entry: Entry = serde_json::from_value(it["entry"].clone()).expect("an entry");
        let Event::WorkerMoved { from, to, .. } = entry.event else { return None };
        Some([from, to])
    });
    let states: BTreeSet<&str> = moves.flatten().map(names::worker_state).collect();
    let known = ["completed", "created", "error", "idle", "paused", "running"];
    assert_eq!(states.into_iter().collect::<Vec<_>>(), known);
}

/// S4-070: questions, answers, notes and decisions are the same after a kill.
#[test]
fn questions_answers_and_notes_survive_a_kill() {
    let sandbox = sandbox();
    let note = r#"pitcrew tool a2a_notify_orchestrator --json '{"kind": "progress", "message": "half of it is done"}'"#;
    let steps = format!(
        "run {note}\nask Tabs or spaces?\nwhen \"spaces, of course\" write core/a.txt <<END\na\nEND\ncomplete it"
    );
    let plan = sandbox.plan(&beside_a_sibling(&script(&steps)));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    let request = await_request(&sandbox);
    sandbox.pitcrew(&["answer", &request.id.to_string(), "spaces, of course"]).expect(0);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0);
    let state = || {
        let inbox = sandbox.pitcrew(&["inbox", "--json"]).expect(0).json();
        (inbox, events(&sandbox, "plan-1"))
    };
    let before = state();
    let answer = &before.0["closed"][0];
    assert_eq!(
        (&answer["title"], &answer["text"]),
        (&"Tabs or spaces?".into(), &"spaces, of course".into())
    );
    let noted = |it: &Entry| format!("{:?}", it.event).contains("half of it is done");
    assert!(before.1.iter().any(noted), "{:?}", before.1);
    sandbox.kill_orchestrator();
    assert_eq!(state(), before);
}
