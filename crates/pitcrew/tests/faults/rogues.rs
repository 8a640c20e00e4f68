//! Agents that speak the protocol and misbehave during their turn, each with a different fault.

use crate::support::*;
use pitcrew_model::{Entry, Event, TaskId, TaskStatus};
use pitcrew_testkit::Sandbox;
use pitcrew_views::TaskView;
use std::fmt::Write;

/// Each fault with the expected result of its task.
const FAULTS: &[(&str, &str)] = &[
    ("exits", "the agent exited during its turn: exit code 0"),
    ("dies_in_the_middle_of_a_frame", "the agent exited during its turn: signal 9"),
    ("ignores_signals", "timed out"),
    ("says_what_is_no_text", "completed"),
    ("says_nothing_but_noise", "more than 100 lines are not protocol frames"),
    ("nests_deeply", "completed"),
    ("counts_too_far", "completed"),
    ("answers_what_nobody_asked", "completed"),
    ("answers_under_a_wrong_number", "timed out"),
    ("asks_twice_under_one_number", "completed"),
    ("answers_twice", "completed"),
    ("closes_its_input", "completed"),
    ("closes_its_output", "the agent exited during its turn: signal 15"),
    ("leaves_its_folder", "completed"),
    ("deletes_its_tree", "the checkout cannot be used"),
    ("deletes_its_git_folder", "completed"),
    ("leaves_its_git_locked", "completed"),
    ("leaves_a_daemon", "completed"),
    ("writes_more_than_it_may", "the agent exited during its turn: signal 25"),
];
const HONEST_COUNT: usize = 6;

fn plan() -> String {
    let mut plan = "name = \"rogues\"\nmax_attempts = 1\n".to_owned();
    for (number, (fault, expected)) in FAULTS.iter().enumerate() {
        let timeout = if *expected == "timed out" { "timeout = \"2s\"\n" } else { "" };
        plan += &rogue_task(fault, &format!("r{number}"), timeout);
    }
    for number in 1..=HONEST_COUNT {
        writeln!(
            plan,
            "[[task]]\nid = \"honest-{number}\"\nregion = \"h{number}\"\ncommand = \"mkdir h{number} && echo 1 > h{number}/a.txt\""
        )
        .expect("a string can be written to");
    }
    plan
}

/// The result of a task in one line.
fn result_of(task: &TaskView) -> String {
    match task.newest_attempt().and_then(|it| it.failure.as_ref()) {
        Some(failure) => failure.to_string(),
        None => task.status.to_string(),
    }
}

/// The statuses of a task, in order.
fn statuses(events: &[Entry], of: TaskId) -> Vec<TaskStatus> {
    let step = |it: &Entry| {
        let Event::TaskMoved { task, to, .. } = &it.event else { return None };
        (*task == of).then_some(*to)
    };
    events.iter().filter_map(step).collect()
}

/// S0-018, S0-126, S2-072, S2-073, S2-074: for each fault, the journal contains one outcome of the
/// task with the reason, other tasks are not affected, and no process of the agent is left.
#[test]
fn each_rogue_agent_fails_only_its_task() {
    let sandbox = sandbox();
    let held = rogue(&sandbox);
    let ended = sandbox.pitcrew(&["run", &sandbox.plan(&plan()), "--yes"]).expect(4);
    let completed = FAULTS.iter().filter(|it| it.1 == "completed").count() + HONEST_COUNT;
    let all = FAULTS.len() + HONEST_COUNT;
    let ended = ended.says(&format!("{completed} of {all} completed"));
    assert_nothing_is_left(&sandbox, &held);
    let board = board(&sandbox);
    let mut wrong = String::new();
    for (fault, expected) in FAULTS {
        let result = result_of(task_of(&board, fault));
        if !result.contains(expected) {
            writeln!(wrong, "{fault}: `{result}` instead of `{expected}`")
                .expect("a string can be written to");
        }
    }
    assert!(wrong.is_empty(), "{wrong}{ended}");
    let events = events(&sandbox, "plan-1");
    for task in &board.tasks {
        let statuses = statuses(&events, task.id);
        let ends = statuses.iter().filter(|it| it.has_ended()).count();
        assert_eq!((task.attempts.len(), ends), (1, 1), "{}: {statuses:?}", task.key);
        assert_eq!(statuses.last(), Some(&task.status), "{}", task.key);
        assert!(task.attempts[0].outcome.is_some(), "{}", task.key);
    }
    assert_eq!(integrations(&events).len(), completed);
    assert_next_plan_works(&sandbox);
}

/// Asserts that the orchestrator runs another plan normally.
fn assert_next_plan_works(sandbox: &Sandbox) {
    let next = sandbox.plan("name = \"next\"\n[[task]]\nid = \"a\"\nregion = \"next\"\ncommand = \"mkdir next && echo 1 > next/a.txt\"\n");
    sandbox.pitcrew(&["run", &next, "--yes"]).expect(0);
}
