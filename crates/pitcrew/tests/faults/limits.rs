//! Concurrency limits, and what waits for them.

use crate::support::*;
use pitcrew_model::{Entry, Event, TaskId, TaskStatus, WorkerStatus};
use pitcrew_testkit::{Sandbox, eventually};
use std::{collections::BTreeSet, fmt::Write, fs, path::PathBuf};

/// Tasks that wait at the same gate, each in its own folder.
fn at_the_gate(count: usize, gate: &std::path::Path, head: &str) -> String {
    let mut plan = format!("name = \"gates\"\n{head}\n");
    for number in 1..=count {
        let gate = gate.display();
        let wait = format!("touch '{gate}.{number}'; until [ -e '{gate}' ]; do sleep 0.05; done");
        writeln!(
            plan,
            "[[task]]\nid = \"t{number}\"\nregion = \"d{number}\"\ncommand = \"\"\"{wait}; mkdir d{number} && echo {number} > d{number}/a.txt\"\"\""
        )
        .expect("text takes text");
    }
    plan
}

fn gate(sandbox: &Sandbox) -> PathBuf {
    sandbox.root().join("gate")
}

/// How many of the tasks are at the gate.
fn arrived(sandbox: &Sandbox) -> usize {
    let entries = fs::read_dir(sandbox.root()).expect("a folder").flatten();
    entries.filter(|it| it.file_name().to_string_lossy().starts_with("gate.")).count()
}

/// The largest number of tasks that had a slot at the same time.
fn most_at_once(events: &[Entry]) -> usize {
    let (mut holders, mut most) = (BTreeSet::new(), 0);
    for entry in events {
        if let Event::TaskMoved { task, to, .. } = &entry.event {
            if matches!(to, TaskStatus::Starting | TaskStatus::Running) {
                holders.insert(*task)
            } else {
                holders.remove(task)
            };
            most = most.max(holders.len());
        }
    }
    most
}

/// S0-001, S0-002, S0-015, S0-023, S0-024, S0-108, S0-113: five agents work at the same time; the
/// sixth waits for a slot.
#[test]
fn sixth_task_waits_for_a_slot() {
    let sandbox = sandbox();
    let gate = gate(&sandbox);
    let plan = sandbox.plan(&at_the_gate(6, &gate, ""));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    eventually("five agents work", || (arrived(&sandbox) == 5).then_some(()));
    let board = board(&sandbox);
    assert_eq!((board.agents_max, board.slots_taken), (5, 5));
    let sixth = task_of(&board, "t6");
    assert_eq!(sixth.status, TaskStatus::Queued);
    assert_eq!(sixth.reason.as_deref(), Some("waits for a slot: 5 of 5 are taken"));
    assert_eq!(arrived(&sandbox), 5);
    open_gate(&gate);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0).says("6 of 6 completed");
    assert_eq!(most_at_once(&events(&sandbox, "plan-1")), 5);
}

/// S0-015, S2-010: the limit can be set, for the whole workspace.
#[test]
fn tasks_run_in_turn_with_one_slot() {
    let sandbox = sandbox();
    let gate = gate(&sandbox);
    open_gate(&gate);
    let plan = sandbox.plan(&at_the_gate(4, &gate, ""));
    sandbox.pitcrew(&["run", &plan, "--yes", "--max-agents", "1"]).expect(0);
    assert_eq!(most_at_once(&events(&sandbox, "plan-1")), 1);
}

/// S0-001: a region has one worker at a time, even with free slots.
#[test]
fn overlapping_regions_never_run_together() {
    let sandbox = sandbox();
    let mut plan = "name = \"overlap\"\n".to_owned();
    for (number, region) in ["core", "core/deep", "core/deep/er", "core"].iter().enumerate() {
        writeln!(
            plan,
            "[[task]]\nid = \"t{number}\"\nregion = \"{region}\"\ncommand = \"mkdir -p {region} && echo {number} > {region}/{number}.txt\""
        )
        .expect("text takes text");
    }
    // A path with the same prefix is a different region.
    plan += "[[task]]\nid = \"free\"\nregion = \"core2\"\ncommand = \"mkdir core2 && echo 1 > core2/a.txt\"\n";
    sandbox.pitcrew(&["run", &sandbox.plan(&plan), "--yes"]).expect(0).says("5 of 5 completed");
    let overlapping: Vec<Entry> = events(&sandbox, "plan-1")
        .into_iter()
        .filter(|it| !matches!(it.event, Event::TaskMoved { task: TaskId(5), .. }))
        .collect();
    assert_eq!(most_at_once(&overlapping), 1);
}

/// A worker that waits for a person frees its slot, and later gets the next free one.
#[test]
fn waiting_worker_frees_its_slot() {
    let sandbox = sandbox();
    let plan = r#"
name = "slots"

[[task]]
id = "asks"
region = "core"
script = """
ask Which?
write core/a.txt <<END
a
END
complete it
"""

[[task]]
id = "other"
region = "ui"
command = "echo b > ui/b.txt"
"#;
    sandbox
        .pitcrew(&["run", &sandbox.plan(plan), "--yes", "--max-agents", "1", "--detach"])
        .expect(0);
    let request = await_request(&sandbox).id.to_string();
    await_task(&sandbox, "other", TaskStatus::Completed);
    let board = board(&sandbox);
    assert_eq!(board.slots_taken, 0);
    let worker = task_of(&board, "asks").worker.and_then(|it| board.worker(it));
    assert_eq!(worker.map(|it| it.status), Some(WorkerStatus::WaitingInput));
    sandbox.pitcrew(&["answer", &request, "this"]).expect(0);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0).says("2 of 2 completed");
}

/// S0-025, S2-073: thirty tasks have thirty outcomes, and none starts before its dependencies are
/// integrated.
#[test]
fn thirty_tasks_have_thirty_outcomes() {
    let sandbox = sandbox();
    let mut plan = "name = \"thirty\"\nmax_attempts = 1\n".to_owned();
    for number in 1..=30 {
        let after = match number {
            1..=3 => String::new(),
            _ => format!("\"t{}\"", number - 3),
        };
        // The work of the dependency is there, and one of the thirty tasks fails.
        let work = match number {
            27 => "false".to_owned(),
            1..=3 => format!("mkdir d{number} && echo {number} > d{number}/a.txt"),
            _ => format!("mkdir d{number} && cat d{}/a.txt > d{number}/a.txt", number - 3),
        };
        writeln!(plan, "[[task]]\nid = \"t{number}\"\nregion = \"d{number}\"\ndepends_on = [{after}]\ncommand = \"{work}\"").expect("text takes text");
    }
    sandbox.pitcrew(&["run", &sandbox.plan(&plan), "--yes"]).expect(4).says("28 of 30 completed");
    let board = board(&sandbox);
    let with = |status| board.tasks.iter().filter(|it| it.status == status).count();
    assert_eq!((with(TaskStatus::Completed), with(TaskStatus::Failed)), (28, 1));
    // S0-124: the dependent task is blocked, with the reason.
    let blocked = task_of(&board, "t30");
    assert_eq!(blocked.status, TaskStatus::Blocked);
    assert_eq!(blocked.reason.as_deref(), Some("task-27 t27 is failed"));
    let events = events(&sandbox, "plan-1");
    assert_eq!(integrations(&events).len(), 28);
    assert!(most_at_once(&events) <= 5);
    for task in &board.tasks {
        let place = |wanted: TaskStatus, of: TaskId| {
            events.iter().position(|it| matches!(&it.event, Event::TaskMoved { task, to, .. } if *task == of && *to == wanted))
        };
        for dependency in task.depends_on.iter().filter(|_| !task.attempts.is_empty()) {
            let integrated = place(TaskStatus::Completed, *dependency);
            assert!(integrated < place(TaskStatus::Starting, task.id), "{}", task.id);
        }
    }
}

/// S0-068, S0-122: a retry runs what is not completed, and the number of attempts has a limit.
#[test]
fn retry_grants_one_attempt_beyond_the_limit() {
    let sandbox = sandbox();
    let right = sandbox.root().join("right");
    let task = format!(
        "command = \"test -e '{}' && echo a > core/a.txt\"\nmax_attempts = 2",
        right.display()
    );
    failure_beside_a_sibling(&sandbox, &task);
    assert_eq!(task_of(&board(&sandbox), "faulty").attempts.len(), 2);
    sandbox.pitcrew(&["retry", "plan-1"]).expect(0);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(4);
    assert_eq!(task_of(&board(&sandbox), "faulty").attempts.len(), 3);
    fs::write(right, "").expect("a file");
    sandbox.pitcrew(&["retry", "faulty"]).expect(0);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0).says("2 of 2 completed");
    let board = board(&sandbox);
    assert_eq!(task_of(&board, "faulty").attempts.len(), 4);
    assert_eq!(task_of(&board, "sibling").attempts.len(), 1);
    sandbox.pitcrew(&["retry", "plan-1"]).expect(6);
}
