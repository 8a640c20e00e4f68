//! Many agents at the same time, some of which fail.

use crate::support::*;
use pitcrew_model::{TaskStatus, WorkerStatus};
use pitcrew_testkit::{Sandbox, eventually};
use std::{fmt::Write, fs, path::Path};

const AT_ONCE: usize = 50;
const TASKS: usize = 105;

/// Writes the user's settings.
fn settings(sandbox: &Sandbox, text: &str) {
    let folder = sandbox.home().join(".config/pitcrew");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("config.toml"), text).expect("a file");
}

/// The first tasks wait at the gate; every fifth of the others fails in its first attempt.
fn plan(gate: &Path) -> String {
    let mut plan = "name = \"crowd\"\nmax_attempts = 3\n".to_owned();
    for number in 1..=TASKS {
        let first = match number {
            1..=AT_ONCE => format!(
                "run touch '{0}.{number}'; until [ -e '{0}' ]; do sleep 0.1; done\n",
                gate.display()
            ),
            _ if number.is_multiple_of(5) => "unless \"previous attempt\" exit 1\n".to_owned(),
            _ => String::new(),
        };
        let steps = format!("{first}write d{number}/a.txt <<END\n{number}\nEND\ncomplete it");
        writeln!(plan, "[[task]]\nid = \"t{number}\"\nregion = \"d{number}\"\n{}", script(&steps))
            .expect("text takes text");
    }
    plan
}

fn arrived(sandbox: &Sandbox) -> usize {
    let entries = fs::read_dir(sandbox.root()).expect("a folder").flatten();
    entries.filter(|it| it.file_name().to_string_lossy().starts_with("gate.")).count()
}

/// S4-127, S4-147: exactly fifty agents are live at the same time, and of more than a hundred
/// tasks, some of whose agents exit in the middle, more than 95 % complete.
#[test]
fn fifty_concurrent_agents_complete_almost_all_tasks() {
    let sandbox = sandbox();
    settings(&sandbox, &format!("max_agents = {AT_ONCE}\nmax_live_agents = {AT_ONCE}\n"));
    let gate = sandbox.root().join("gate");
    let plan = sandbox.plan(&plan(&gate));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    eventually("fifty agents work", || (arrived(&sandbox) == AT_ONCE).then_some(()));
    let board = board(&sandbox);
    let running = board.workers.iter().filter(|it| it.status == WorkerStatus::Running).count();
    assert_eq!((running, board.slots_taken), (AT_ONCE, 50));
    assert_eq!(task_of(&board, "t51").status, TaskStatus::Queued);
    open_gate(&gate);
    sandbox.pitcrew(&["watch", "plan-1"]);
    let board = self::board(&sandbox);
    let completed = board.tasks.iter().filter(|it| it.status == TaskStatus::Completed).count();
    assert!(completed * 100 > TASKS * 95, "{completed} of {TASKS}");
    let attempts: usize = board.tasks.iter().map(|it| it.attempts.len()).sum();
    assert!(attempts >= TASKS + 11, "some needed a second attempt: {attempts}");
    assert_eq!(integrations(&events(&sandbox, "plan-1")).len(), completed);
}

/// S4-127: a worker that waits for a person has no slot but is live; at the limit of live workers
/// no other starts, although slots are free.
#[test]
fn live_agent_limit_holds_with_free_slots() {
    let sandbox = sandbox();
    settings(&sandbox, "max_agents = 2\nmax_live_agents = 2\n");
    let mut plan = "name = \"live\"\n".to_owned();
    for (id, steps) in [("one", "ask Which?"), ("two", "ask Which?"), ("three", "say hello")] {
        let steps = format!("{steps}\nwrite {id}/a.txt <<END\na\nEND\ncomplete it");
        writeln!(plan, "[[task]]\nid = \"{id}\"\nregion = \"{id}\"\n{}", script(&steps))
            .expect("text takes text");
    }
    sandbox.pitcrew(&["run", &sandbox.plan(&plan), "--yes", "--detach"]).expect(0);
    let both = || {
        let board = board(&sandbox);
        let statuses = board.workers.iter().map(|it| it.status);
        let waiting = statuses.filter(|it| *it == WorkerStatus::WaitingInput).count();
        (waiting == 2).then_some(board)
    };
    let board = eventually("both wait for an answer", both);
    assert_eq!((board.slots_taken, task_of(&board, "three").status), (0, TaskStatus::Queued));
    sandbox.pitcrew(&["answer", "one", "this"]).expect(0);
    await_task(&sandbox, "three", TaskStatus::Completed);
    sandbox.pitcrew(&["answer", "two", "that"]).expect(0);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0).says("3 of 3 completed");
}
