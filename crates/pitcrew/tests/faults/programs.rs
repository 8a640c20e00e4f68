//! Agent programs that do not work. Each costs its own task its outcome, and nobody else anything.

use crate::support::*;
use pitcrew_model::{Failure, TaskStatus};
use pitcrew_testkit::{Process, eventually};
use std::{fs::Permissions, os::unix::fs::PermissionsExt};

/// S0-018, S0-026, S2-072: the sibling completes, and the fault is a failed result with a reason.
#[test]
fn a_program_that_cannot_be_started_fails_its_task_only() {
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
    // Nothing gets better by trying again.
    assert_eq!(task_of(&board(&sandbox), "faulty").attempts.len(), 1);
}

#[test]
fn a_program_that_is_not_there_is_refused_before_anything_runs() {
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
fn a_backend_that_nobody_configured_is_refused_by_name() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&beside_a_sibling("agent = \"nobody\"\nprompt = \"Do it.\""));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(2).notes("[backends.nobody]");
}

/// S1-060: an agent that ends is a failed worker, with what it said last.
#[test]
fn a_program_that_exits_at_once_fails_its_task_only() {
    let sandbox = sandbox();
    backend(&sandbox, "brief", &["sh", "-c", "echo no licence >&2; exit 7"]);
    let failure = failure_beside_a_sibling(&sandbox, "agent = \"brief\"\nprompt = \"Do it.\"");
    let Failure::AgentExited { exit, output } = &failure else { panic!("{failure:?}") };
    assert_eq!(exit, "exit code 7");
    assert!(output.contains("no licence"), "{output}");
}

/// S1-060, S0-018
#[test]
fn an_agent_that_exits_in_the_middle_of_its_turn_fails_its_task_only() {
    let sandbox = sandbox();
    let steps = "write core/half.txt <<END\nhalf\nEND\nexit 3";
    let failure = failure_beside_a_sibling(&sandbox, &script(steps));
    let Failure::AgentExited { exit, .. } = &failure else { panic!("{failure:?}") };
    assert_eq!(exit, "exit code 3");
    assert_eq!(files_to_land(&sandbox, "plan-1"), ["ui/done.txt"]);
    // What it had done is saved all the same.
    let diff = sandbox.pitcrew(&["diff", "faulty"]).expect(0);
    assert!(diff.stdout.contains("core/half.txt"), "{diff}");
}

#[test]
fn an_agent_that_is_killed_in_the_middle_of_its_turn_is_tried_again() {
    let sandbox = sandbox();
    let steps =
        "unless \"signal 9\" run kill -9 $PPID\nwrite core/a.txt <<END\na\nEND\ncomplete it";
    completes_beside_a_sibling(&sandbox, &format!("{}\nmax_attempts = 2", script(steps)));
    let board = board(&sandbox);
    let faulty = task_of(&board, "faulty");
    assert_eq!(faulty.attempts.len(), 2);
    let failure = faulty.attempts[0].failure.as_ref().expect("the first attempt failed");
    assert!(failure.to_string().contains("signal 9"), "{failure}");
}

/// The protocol gives it a minute; nobody has to wait for that.
#[test]
fn a_program_that_never_answers_is_gone_after_a_cancel() {
    let sandbox = sandbox();
    let lock = sandbox.root().join("lock");
    let mute = format!("exec 9>'{}'; flock 9; exec sleep 600", lock.display());
    backend(&sandbox, "mute", &["sh", "-c", &mute]);
    let plan = sandbox.plan(&beside_a_sibling("agent = \"mute\"\nprompt = \"Do it.\""));
    let running = sandbox.start(&["run", &plan, "--yes"]);
    await_held(&lock);
    assert_eq!(task_of(&board(&sandbox), "faulty").status, TaskStatus::Starting);
    sandbox.pitcrew(&["cancel", "faulty"]).expect(0);
    running.wait().expect(4);
    eventually("it is gone", || (!is_held(&lock)).then_some(()));
}

/// S2-053, S2-054, S2-072: an agent that hangs in its turn gets an outcome too.
#[test]
fn an_agent_that_hangs_is_ended_at_the_time_out() {
    let sandbox = sandbox();
    let lock = sandbox.root().join("lock");
    let steps = format!("run exec 9>'{}'; flock 9; exec sleep 600", lock.display());
    let task = format!("{}\ntimeout = \"1s\"", script(&steps));
    let failure = failure_beside_a_sibling(&sandbox, &task);
    assert_eq!(failure, Failure::Timeout { after_ms: 1_000 });
    assert!(lock.exists(), "it ran");
    eventually("it is gone", || (!is_held(&lock)).then_some(()));
}

/// S0-132: whatever an agent does to stay, it is gone after a cancel.
#[test]
fn an_agent_that_ignores_signals_and_forks_a_daemon_is_gone_after_a_cancel() {
    let sandbox = sandbox();
    let gate = sandbox.root().join("gate");
    let agent = agent_with(&sandbox, &format!("run {}\ncomplete it", wait_at(&gate)));
    let lock = sandbox.root().join("lock");
    // A session of its own, no mark in its environment, no parent, deaf to signals.
    let daemon = format!(
        "trap '' TERM HUP INT; (env -i PATH=\"$PATH\" setsid sh -c 'trap \"\" TERM HUP INT; exec 9>\"{}\"; flock 9; while :; do sleep 1; done' >/dev/null 2>&1 </dev/null &); exec {agent}",
        lock.display()
    );
    backend(&sandbox, "deaf", &["sh", "-c", &daemon]);
    let plan = sandbox.plan(&beside_a_sibling("agent = \"deaf\"\nprompt = \"Do it.\""));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_reached(&gate);
    await_held(&lock);
    sandbox.pitcrew(&["cancel", "faulty"]).expect(0);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(4);
    eventually("it is gone", || (!is_held(&lock)).then_some(()));
    eventually("its shim is gone too", || {
        let left = Process::naming(&sandbox.root().display().to_string());
        left.iter().all(|it| it.1.contains("serve")).then_some(())
    });
    assert_eq!(task_of(&board(&sandbox), "faulty").status, TaskStatus::Cancelled);
}
