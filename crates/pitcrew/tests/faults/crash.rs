//! The orchestrator is killed in every kind of situation. Nothing is lost and nothing is done
//! twice.

use crate::support::*;
use pitcrew_model::{Event, Failure, PlanStatus, TaskStatus};
use pitcrew_testkit::{PATIENCE, Process, Sandbox, eventually};
use std::{fmt::Write, path::PathBuf, time::SystemTime};

fn gate(sandbox: &Sandbox) -> PathBuf {
    sandbox.root().join("gate")
}

/// A task that waits at the gate, in its turn or in its check.
fn waiting(task: &str) -> String {
    format!(
        r#"
name = "crash"
max_attempts = 1

[[task]]
id = "first"
region = "core"
{task}

[[task]]
id = "second"
region = "ui"
depends_on = "first"
command = "cat core/a.txt > ui/b.txt"
"#
    )
}

/// Asserts that the plan completes and each task's work is integrated once.
#[track_caller]
fn assert_completes_once(sandbox: &Sandbox) {
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0).says("2 of 2 completed");
    assert_eq!(integrations(&events(sandbox, "plan-1")).len(), 2);
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert_eq!(sandbox.git(&["rev-list", "--count", "--first-parent", "HEAD"]), "2");
    assert_eq!(sandbox.read("ui/b.txt"), sandbox.read("core/a.txt"));
}

/// The processes of this sandbox except its orchestrator.
fn others(sandbox: &Sandbox) -> Vec<(Process, String)> {
    let all = Process::naming(&sandbox.root().display().to_string());
    all.into_iter().filter(|it| !it.1.contains(" serve ")).collect()
}

#[track_caller]
fn all_gone(left: &[(Process, String)]) {
    for (process, name) in left {
        assert!(process.await_end(PATIENCE), "{name} survived");
    }
}

/// Time without an orchestrator does not count against the agent's time limit.
#[test]
fn deadline_passed_without_an_orchestrator_costs_no_attempt() {
    let sandbox = sandbox();
    let gate = gate(&sandbox);
    let steps = format!("run {}\nwrite core/a.txt <<END\na\nEND\ncomplete it", wait_at(&gate));
    let plan = sandbox.plan(&waiting(&format!("{}\ntimeout = \"6s\"", script(&steps))));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_reached(&gate);
    let since = task_of(&board(&sandbox), "first").since.0;
    sandbox.kill_orchestrator();
    open_gate(&gate);
    eventually("the deadline has passed", || {
        let now = SystemTime::UNIX_EPOCH.elapsed().expect("a clock").as_millis();
        (now > u128::from(since) + 6_100).then_some(())
    });
    assert_completes_once(&sandbox);
    let board = board(&sandbox);
    let attempts = &task_of(&board, "first").attempts;
    assert_eq!((attempts.len(), &attempts[0].failure), (1, &None));
}

/// Checks are run again; those of the previous run are ended.
#[test]
fn kill_during_checks_leaves_no_check() {
    let sandbox = sandbox();
    let gate = gate(&sandbox);
    // The check passes immediately on the base.
    let check = format!("test ! -e core/a.txt || {{ {}; }}", wait_at(&gate));
    let task = format!("command = \"echo a > core/a.txt\"\nchecks = \"\"\"{check}\"\"\"");
    let plan = sandbox.plan(&waiting(&task));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_reached(&gate);
    let before = others(&sandbox);
    assert!(!before.is_empty(), "a check runs");
    sandbox.kill_orchestrator();
    let status = task_of(&board(&sandbox), "first").status;
    assert_eq!(status, TaskStatus::Verifying);
    all_gone(&before);
    open_gate(&gate);
    assert_completes_once(&sandbox);
    assert_eq!(task_of(&board(&sandbox), "first").attempts.len(), 1);
}

/// The box of an agent is prepared before its checkout, and it ends with the orchestrator.
#[test]
fn kill_during_agent_preparation_leaves_nothing() {
    let sandbox = sandbox();
    let gate = gate(&sandbox);
    let plan = format!(
        "name = \"crash\"\nmax_attempts = 1\nsetup = \"\"\"{}\"\"\"\n\n[[task]]\nid = \"first\"\ncommand = \"echo a > core/a.txt\"\n",
        wait_at(&gate)
    );
    sandbox.pitcrew(&["run", &sandbox.plan(&plan), "--yes", "--detach"]).expect(0);
    await_reached(&gate);
    let is_ready = |it: &(Process, String)| it.1.contains("agent --orders");
    let before = eventually("an agent is made ready while setup runs", || {
        let others = others(&sandbox);
        others.iter().any(is_ready).then_some(others)
    });
    sandbox.kill_orchestrator();
    all_gone(&before);
    open_gate(&gate);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0).says("1 of 1 completed");
    assert_eq!(task_of(&board(&sandbox), "first").attempts.len(), 1);
}

/// Between two tasks nothing is running, and the state is kept.
#[test]
fn kill_between_two_tasks_repeats_neither() {
    let sandbox = sandbox();
    let plan = waiting("command = \"echo a > core/a.txt\"");
    let plan = sandbox.plan(&plan.replace("max_attempts", "deploy = \"manual\"\nmax_attempts"));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    sandbox.pitcrew(&["deploy", "first"]).expect(0);
    let first = await_task(&sandbox, "first", TaskStatus::Completed);
    sandbox.kill_orchestrator();
    assert_eq!(*task_of(&board(&sandbox), "first"), first);
    sandbox.pitcrew(&["deploy", "second"]).expect(0);
    assert_completes_once(&sandbox);
}

/// An interrupted landing is finished, once.
#[test]
fn kill_during_landing_lands_once() {
    let sandbox = sandbox();
    let gate = gate(&sandbox);
    // Only the landing sees both the work and the user's new commits.
    let check = format!("test ! -e core/a.txt || test ! -e mine.txt || {{ {}; }}", wait_at(&gate));
    let task = format!("command = \"echo a > core/a.txt\"\nchecks = \"\"\"{check}\"\"\"");
    let plan = sandbox.plan(&waiting(&task));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    sandbox.write("mine.txt", "mine\n");
    sandbox.commit("mine");
    let landing = sandbox.start(&["land", "plan-1", "--yes"]);
    await_reached(&gate);
    let before = others(&sandbox);
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.kill_orchestrator();
    let board = board(&sandbox);
    assert_eq!(board.plans[0].landing.status.to_string(), "merging");
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), tip);
    let checks: Vec<_> = before.into_iter().filter(|it| !it.1.contains(" land ")).collect();
    all_gone(&checks);
    open_gate(&gate);
    landing.wait().expect(0).says("plan-1 landed on main");
    assert_eq!(sandbox.git(&["rev-parse", "HEAD^1"]), tip);
    assert_eq!(sandbox.read("mine.txt") + &sandbox.read("core/a.txt"), "mine\na\n");
}

/// After a kill at any time, every task completes and is integrated once.
#[test]
fn plan_survives_a_kill_every_few_events() {
    let sandbox = sandbox();
    let mut plan = "name = \"storm\"\nmax_attempts = 1\n".to_owned();
    for (number, after) in [(1, ""), (2, "\"t1\""), (3, "\"t1\""), (4, "\"t2\", \"t3\"")] {
        let file = format!("d{number}/a.txt");
        writeln!(
            plan,
            "[[task]]\nid = \"t{number}\"\nregion = \"d{number}\"\ndepends_on = [{after}]\ncommand = \"mkdir -p d{number} && echo {number} > {file}\"\nchecks = \"test -e {file}\"\n"
        ).expect("text takes text");
    }
    sandbox.pitcrew(&["run", &sandbox.plan(&plan), "--yes", "--detach"]).expect(0);
    for step in 1..=12 {
        // Each round gets a little further than the one before.
        let until = step * 9;
        let ended = eventually("it goes on", || {
            let board = board(&sandbox);
            let ended = board.plans[0].status.has_ended();
            (ended || board.seq.0 > until).then_some(ended)
        });
        if ended {
            break;
        }
        sandbox.kill_orchestrator();
    }
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0).says("4 of 4 completed");
    let events = events(&sandbox, "plan-1");
    assert_eq!(integrations(&events).len(), 4);
    let completed = |it: &&pitcrew_model::Entry| {
        matches!(it.event, Event::TaskMoved { to: TaskStatus::Completed, .. })
    };
    assert_eq!(events.iter().filter(completed).count(), 4);
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert_eq!(sandbox.git(&["rev-list", "--count", "--first-parent", "HEAD"]), "2");
}

/// A plan that was paused before the crash is paused after it.
#[test]
fn paused_plan_stays_paused_after_a_kill() {
    let sandbox = sandbox();
    let gate = gate(&sandbox);
    let steps = format!("run {}\nwrite core/a.txt <<END\na\nEND\ncomplete it", wait_at(&gate));
    let plan = sandbox.plan(&waiting(&script(&steps)));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_reached(&gate);
    sandbox.pitcrew(&["pause", "plan-1"]).expect(0);
    sandbox.kill_orchestrator();
    open_gate(&gate);
    assert_eq!(board(&sandbox).plans[0].status, PlanStatus::Paused);
    sandbox.pitcrew(&["resume", "plan-1"]).expect(0);
    assert_completes_once(&sandbox);
}

/// S0-132: the next orchestrator carries out an acknowledged cancel.
#[test]
fn cancel_survives_a_kill() {
    let sandbox = sandbox();
    let gate = gate(&sandbox);
    let steps = format!("run {}\ncomplete it", wait_at(&gate));
    let plan = sandbox.plan(&waiting(&script(&steps)));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_reached(&gate);
    let before = others(&sandbox);
    sandbox.pitcrew(&["cancel", "plan-1"]).expect(0);
    sandbox.kill_orchestrator();
    let board = board(&sandbox);
    assert_eq!(board.plans[0].status, PlanStatus::Cancelled);
    assert!(board.tasks.iter().all(|it| it.status == TaskStatus::Cancelled));
    all_gone(&before);
}

/// A stop in the middle of an attempt loses nothing and uses up no attempt.
#[test]
fn stop_costs_no_attempt() {
    let sandbox = sandbox();
    let gate = gate(&sandbox);
    let steps = format!("run {}\nwrite core/a.txt <<END\na\nEND\ncomplete it", wait_at(&gate));
    let plan = sandbox.plan(&waiting(&script(&steps)));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_reached(&gate);
    let before = others(&sandbox);
    sandbox.pitcrew(&["stop"]).expect(0);
    all_gone(&before);
    open_gate(&gate);
    assert_completes_once(&sandbox);
    let board = board(&sandbox);
    assert_eq!(task_of(&board, "first").attempts[0].failure, Some(Failure::Interrupted));
}

/// The shim may die as well; the agent ends with it.
#[test]
fn killed_shim_fails_the_attempt_and_leaves_no_agent() {
    let sandbox = sandbox();
    let gate = gate(&sandbox);
    let steps = format!(
        "unless \"previous attempt\" run {}\nwrite core/a.txt <<END\na\nEND\ncomplete it",
        wait_at(&gate)
    );
    let task = format!("{}\nmax_attempts = 2", script(&steps));
    let plan = sandbox.plan(&waiting(&task).replace("max_attempts = 1\n", ""));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_reached(&gate);
    let before = others(&sandbox);
    let shim = before.iter().find(|it| it.1.contains(" shim ")).expect("there is a shim");
    shim.0.signal(rustix::process::Signal::KILL);
    all_gone(&before);
    open_gate(&gate);
    assert_completes_once(&sandbox);
    assert_eq!(task_of(&board(&sandbox), "first").attempts.len(), 2);
}

/// Only the build of the crash tests has failpoints.
#[test]
fn ordinary_build_has_no_failpoints() {
    let mut sandbox = sandbox();
    for points in ["journal-before-append=return;effect-before=return", "nonsense"] {
        sandbox.set("FAILPOINTS", points);
        let plan = sandbox.plan(&waiting("command = \"echo a > core/a.txt\""));
        sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("2 of 2 completed");
        sandbox.pitcrew(&["stop"]).expect(0);
    }
}

/// S0-132: the checks of a cancelled task end.
#[test]
fn cancel_ends_running_checks() {
    let sandbox = sandbox();
    let gate = gate(&sandbox);
    let check = format!("test ! -e core/a.txt || {{ {}; }}", wait_at(&gate));
    let task = format!("command = \"echo a > core/a.txt\"\nchecks = \"\"\"{check}\"\"\"");
    let plan = sandbox.plan(&waiting(&task));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_reached(&gate);
    let before = others(&sandbox);
    sandbox.pitcrew(&["cancel", "first"]).expect(0);
    all_gone(&before);
    sandbox.pitcrew(&["cancel", "plan-1"]).expect(0);
    let status = board(&sandbox).tasks.iter().map(|it| it.status).collect::<Vec<_>>();
    assert_eq!(status, [TaskStatus::Cancelled; 2]);
}
