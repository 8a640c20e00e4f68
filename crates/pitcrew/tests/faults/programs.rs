//! Agent programs that do not work. Each fails its own task and nothing else.

use crate::support::*;
use pitcrew_model::{Failure, TaskStatus};
use pitcrew_testkit::{Process, eventually};
use std::{fs::Permissions, os::unix::fs::PermissionsExt};

/// S0-018, S0-026, S2-072: the sibling completes, and the fault is a failed result with a reason.
#[test]
fn unstartable_program_fails_only_its_task() {
    let sandbox = sandbox();
    let file = sandbox.root().join("without-interpreter");
    std::fs::write(&file, "#!/no/such/interpreter\n").expect("a file");
    std::fs::set_permissions(&file, Permissions::from_mode(0o755)).expect("a program");
    backend(&sandbox, "broken", &[&file.display().to_string(), "--acp"]);
    let failure = failure_beside_a_sibling(
        &sandbox,
        "agent = \"broken\"\nprompt = \"Do it.\"\nmax_attempts = 3",
    );
    let Failure::AgentMissing { program, message } = &failure else { panic!("{failure:?}") };
    assert!(program.contains("without-interpreter"), "{program}: {message}");
    // A retry would not help.
    assert_eq!(task_of(&board(&sandbox), "faulty").attempts.len(), 1);
}

#[test]
fn missing_program_is_refused_before_the_start() {
    let sandbox = sandbox();
    let file = sandbox.root().join("not-executable");
    std::fs::write(&file, "#!/bin/sh\n").expect("a file");
    backend(&sandbox, "missing", &["/no/such/agent", "--acp"]);
    backend(&sandbox, "locked", &[&file.display().to_string()]);
    for (name, program) in [("missing", "/no/such/agent"), ("locked", "not-executable")] {
        let task = format!("agent = \"{name}\"\nprompt = \"Do it.\"");
        let plan = sandbox.plan(&beside_a_sibling(&task));
        let refused = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(2);
        refused.notes(&format!("needs `{name}`, which is not installed")).notes(program);
    }
}

#[test]
fn unconfigured_backend_is_refused_by_name() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&beside_a_sibling("agent = \"unknown\"\nprompt = \"Do it.\""));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(2).notes("[backends.unknown]");
}

/// S1-060: an agent that exits is a failed worker, with its last output.
#[test]
fn program_that_exits_immediately_fails_only_its_task() {
    let sandbox = sandbox();
    backend(&sandbox, "brief", &["sh", "-c", "echo no licence >&2; exit 7"]);
    let failure = failure_beside_a_sibling(&sandbox, "agent = \"brief\"\nprompt = \"Do it.\"");
    let Failure::AgentExited { exit, output } = &failure else { panic!("{failure:?}") };
    assert_eq!(exit, "exit code 7");
    assert!(output.contains("no licence"), "{output}");
}

/// S1-060, S0-018
#[test]
fn agent_that_exits_in_its_turn_fails_only_its_task() {
    let sandbox = sandbox();
    let steps = "write core/half.txt <<END\nhalf\nEND\nexit 3";
    let failure = failure_beside_a_sibling(&sandbox, &script(steps));
    let Failure::AgentExited { exit, .. } = &failure else { panic!("{failure:?}") };
    assert_eq!(exit, "exit code 3");
    assert_eq!(files_to_land(&sandbox, "plan-1"), ["ui/done.txt"]);
    // Its work was saved.
    let diff = sandbox.pitcrew(&["diff", "faulty"]).expect(0);
    assert!(diff.stdout.contains("core/half.txt"), "{diff}");
}

#[test]
fn killed_agent_is_retried() {
    let sandbox = sandbox();
    let steps =
        "unless \"signal 9\" run kill -9 $PPID\nwrite core/a.txt <<END\na\nEND\ncomplete it";
    assert_completes_beside_a_sibling(&sandbox, &format!("{}\nmax_attempts = 2", script(steps)));
    let board = board(&sandbox);
    let faulty = task_of(&board, "faulty");
    assert_eq!(faulty.attempts.len(), 2);
    let failure = faulty.attempts[0].failure.as_ref().expect("the first attempt failed");
    assert!(failure.to_string().contains("signal 9"), "{failure}");
}

/// The protocol allows one minute; a cancel does not wait for that.
#[test]
fn cancel_ends_a_program_that_never_answers() {
    let sandbox = sandbox();
    let lock = sandbox.root().join("lock");
    let mute = format!("exec 9>'{}'; flock 9; exec sleep 600", lock.display());
    backend(&sandbox, "mute", &["sh", "-c", &mute]);
    let plan = sandbox.plan(&beside_a_sibling("agent = \"mute\"\nprompt = \"Do it.\""));
    let running = sandbox.start(&["run", &plan, "--yes"]);
    await_locked(&lock);
    assert_eq!(task_of(&board(&sandbox), "faulty").status, TaskStatus::Starting);
    sandbox.pitcrew(&["cancel", "faulty"]).expect(0);
    running.wait().expect(4);
    eventually("it is gone", || (!is_locked(&lock)).then_some(()));
}

/// S2-053, S2-054, S2-072: an agent that hangs in its turn gets an outcome.
#[test]
fn hanging_agent_is_ended_at_the_timeout() {
    let sandbox = sandbox();
    let lock = sandbox.root().join("lock");
    let steps = format!("run exec 9>'{}'; flock 9; exec sleep 600", lock.display());
    let task = format!("{}\ntimeout = \"1s\"", script(&steps));
    let failure = failure_beside_a_sibling(&sandbox, &task);
    assert_eq!(failure, Failure::Timeout { after_ms: 1_000 });
    assert!(lock.exists(), "it ran");
    eventually("it is gone", || (!is_locked(&lock)).then_some(()));
}

/// S0-132: no trick of an agent survives a cancel.
#[test]
fn cancel_ends_daemons_that_ignore_signals() {
    let sandbox = sandbox();
    let gate = sandbox.root().join("gate");
    let agent = agent_with(&sandbox, &format!("run {}\ncomplete it", wait_at(&gate)));
    let lock = sandbox.root().join("lock");
    // Its own session, no mark in its environment, no parent, and all signals ignored.
    let daemon = format!(
        "trap '' TERM HUP INT; (env -i PATH=\"$PATH\" setsid sh -c 'trap \"\" TERM HUP INT; exec 9>\"{}\"; flock 9; while :; do sleep 1; done' >/dev/null 2>&1 </dev/null &); exec {agent}",
        lock.display()
    );
    backend(&sandbox, "deaf", &["sh", "-c", &daemon]);
    let plan = sandbox.plan(&beside_a_sibling("agent = \"deaf\"\nprompt = \"Do it.\""));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_reached(&gate);
    await_locked(&lock);
    sandbox.pitcrew(&["cancel", "faulty"]).expect(0);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(4);
    eventually("it is gone", || (!is_locked(&lock)).then_some(()));
    eventually("its shim is gone too", || {
        let left = Process::naming(&sandbox.root().display().to_string());
        left.iter().all(|it| it.1.contains("serve")).then_some(())
    });
    assert_eq!(task_of(&board(&sandbox), "faulty").status, TaskStatus::Cancelled);
}
