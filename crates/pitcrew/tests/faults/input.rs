//! Invalid input, and commands at the wrong time. Each is refused with its exit code, and nothing
//! changes.

use crate::support::*;
use pitcrew_model::{PlanStatus, TaskStatus};
use pitcrew_testkit::{Finished, Sandbox, eventually};

/// Every error has its location.
#[test]
fn plan_errors_have_file_and_line() {
    let sandbox = sandbox();
    let task = "[[task]]\nid = \"a\"\ncommand = \"true\"\n";
    let cases = [
        (String::new(), 1, "name"),
        ("name = \"x\"\n".into(), 1, "no task"),
        ("name = \"x\n".into(), 1, "this is not TOML"),
        (format!("name = \"x\"\n{task}regoin = \"core\"\n"), 5, "did you mean `region`?"),
        (format!("name = \"x\"\n{task}depends_on = \"b\"\n"), 5, "`b`, which is not in the plan"),
        (format!("name = \"x\"\n{task}{task}"), 6, "`a`"),
        (format!("name = \"x\"\n{task}region = \"../out\"\n"), 5, "leaves the repository"),
        (format!("name = \"x\"\n{task}region = \"src/*.rs\"\n"), 5, "src/*.rs"),
        (format!("name = \"x\"\n{task}max_attempts = 0\n"), 5, "max_attempts"),
        (format!("name = \"x\"\n{task}timeout = \"soon\"\n"), 5, "soon"),
        (format!("name = \"x\"\n{task}script = \"complete it\"\n"), 5, "script"),
        ("name = \"x\"\n[[task]]\nid = \"a\"\nprompt = \"Do it.\"\n".into(), 2, "agent"),
        (
            "name = \"x\"\n[[task]]\nid = \"a\"\ncommand = \"true\"\ndepends_on = \"b\"\n[[task]]\nid = \"b\"\ncommand = \"true\"\ndepends_on = \"a\"\n".into(),
            5,
            "a -> b -> a",
        ),
    ];
    for (text, line, words) in cases {
        let plan = sandbox.plan(&text);
        let place = format!("{plan}:{line}:");
        for arguments in [&["plan", "check", &plan][..], &["run", &plan, "--yes"]] {
            let refused = sandbox.pitcrew(arguments).expect(2);
            let output = format!("{}{}", refused.stdout, refused.stderr);
            assert!(
                output.contains(&place) && output.contains(words),
                "`{place} {words}`: {refused}"
            );
        }
    }
    assert!(board(&sandbox).plans.is_empty());
}

#[test]
fn unreadable_plan_file_is_reported() {
    let sandbox = sandbox();
    sandbox.pitcrew(&["run", "no-such-plan.toml", "--yes"]).expect(2).notes("no-such-plan.toml");
    sandbox.pitcrew(&["run", ".", "--yes"]).expect(2);
    let binary = sandbox.root().join("binary.toml");
    std::fs::write(&binary, b"name = \"\xff\"\n").expect("a file");
    sandbox
        .pitcrew(&["run", &binary.display().to_string(), "--yes"])
        .expect(2)
        .notes("binary.toml");
}

/// Asserts that the commands are refused with `code` and change nothing.
#[track_caller]
fn refused(sandbox: &Sandbox, code: i32, commands: &[&[&str]]) {
    let before = board(sandbox);
    for command in commands {
        let finished: Finished = sandbox.pitcrew(command).expect(code);
        assert!(finished.stderr.contains("error: "), "{finished}");
        assert_eq!(finished.stdout, "", "{finished}");
    }
    let after = board(sandbox);
    assert_eq!((after.plans, after.tasks), (before.plans, before.tasks));
}

#[test]
fn unknown_ids_are_refused() {
    let sandbox = sandbox();
    let plan = sandbox.plan("name = \"x\"\n[[task]]\nid = \"a\"\ncommand = \"true\"\n");
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let commands: Vec<Vec<&str>> = [
        "status", "watch", "pause", "resume", "land", "cancel", "abandon", "retry", "logs", "diff",
    ]
    .iter()
    .flat_map(|it| [vec![*it, "plan-99"], vec![*it, "unknown"]])
    .chain(
        ["deploy", "accept", "path", "cancel", "retry", "logs", "diff", "abandon"]
            .iter()
            .map(|it| vec![*it, "task-99"]),
    )
    .chain(["approve", "deny"].iter().map(|it| vec![*it, "request-99"]))
    .chain([vec!["answer", "request-99", "yes"]])
    .collect();
    let commands: Vec<&[&str]> = commands.iter().map(Vec::as_slice).collect();
    refused(&sandbox, 2, &commands);
}

/// Every state of a plan refuses the commands that it does not allow.
#[test]
fn commands_are_refused_in_the_wrong_state() {
    let sandbox = sandbox();
    let gate = sandbox.root().join("gate");
    let task = script(&format!(
        "run {}\nask Which?\nwrite core/a.txt <<END\na\nEND\ncomplete it",
        wait_at(&gate)
    ));
    let plan =
        sandbox.plan(&format!("name = \"x\"\n[[task]]\nid = \"a\"\nregion = \"core\"\n{task}\n"));
    sandbox.pitcrew(&["run", &plan]).expect(3);

    let at_a_person: &[&[&str]] = &[
        &["pause", "plan-1"],
        &["resume", "plan-1"],
        &["land", "plan-1", "--yes"],
        &["deploy", "task-1"],
        &["retry", "task-1"],
        &["accept", "task-1"],
        &["abandon", "task-1"],
        &["answer", "request-1", "yes"],
    ];
    refused(&sandbox, 6, at_a_person);
    sandbox.pitcrew(&["approve", "request-1"]).expect(0);
    await_reached(&gate);

    let running: &[&[&str]] = &[
        &["resume", "plan-1"],
        &["land", "plan-1", "--yes"],
        &["deploy", "task-1"],
        &["retry", "task-1"],
        &["retry", "plan-1"],
        &["accept", "task-1"],
        &["abandon", "task-1"],
        &["approve", "request-1"],
        &["deny", "request-1"],
        &["approve", "plan-1"],
    ];
    refused(&sandbox, 6, running);
    open_gate(&gate);

    let question = await_request(&sandbox).id.to_string();
    refused(&sandbox, 6, &[&["approve", &question], &["deny", &question], &["retry", "a"]]);
    sandbox.pitcrew(&["pause", "plan-1"]).expect(0);
    refused(&sandbox, 6, &[&["pause", "plan-1"], &["land", "plan-1", "--yes"], &["deploy", "a"]]);
    sandbox.pitcrew(&["answer", &question, "this"]).expect(0);
    refused(&sandbox, 6, &[&["answer", &question, "that"]]);
    sandbox.pitcrew(&["resume", "plan-1"]).expect(0);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0);

    let completed: &[&[&str]] = &[
        &["pause", "plan-1"],
        &["resume", "plan-1"],
        &["cancel", "plan-1"],
        &["cancel", "task-1"],
        &["retry", "task-1"],
        &["retry", "plan-1"],
        &["accept", "task-1"],
        &["abandon", "task-1"],
        &["deploy", "task-1"],
    ];
    refused(&sandbox, 6, completed);
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    eventually("it is cleaned up", || {
        (board(&sandbox).plans[0].landing.status.to_string() == "cleaned").then_some(())
    });
    refused(&sandbox, 6, &[&["land", "plan-1", "--yes"], &["cancel", "plan-1"]]);
}

#[test]
fn cancelled_plan_refuses_commands() {
    let sandbox = sandbox();
    let plan = sandbox.plan("name = \"x\"\n[[task]]\nid = \"a\"\ncommand = \"true\"\n");
    sandbox.pitcrew(&["run", &plan]).expect(3);
    sandbox.pitcrew(&["cancel", "plan-1"]).expect(0);
    let board = board(&sandbox);
    assert_eq!(board.plans[0].status, PlanStatus::Cancelled);
    assert_eq!(board.tasks[0].status, TaskStatus::Cancelled);
    let cancelled: &[&[&str]] = &[
        &["pause", "plan-1"],
        &["resume", "plan-1"],
        &["cancel", "plan-1"],
        &["land", "plan-1", "--yes"],
        &["retry", "task-1"],
        &["retry", "plan-1"],
        &["approve", "request-1"],
        &["accept", "task-1"],
        &["deploy", "task-1"],
    ];
    refused(&sandbox, 6, cancelled);
}

#[test]
fn settings_errors_have_file_and_line() {
    let sandbox = sandbox();
    let folder = sandbox.home().join(".config/pitcrew");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("config.toml"), "max_agents = 2\nmax_agents_live = 3\n")
        .expect("a file");
    let refused = sandbox.pitcrew(&["status"]).expect(7);
    assert!(refused.stderr.contains("config.toml:2:1"), "{refused}");
    let plan = sandbox.plan("name = \"x\"\n[[task]]\nid = \"a\"\ncommand = \"true\"\n");
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(2).notes("config.toml:2:1");
}
