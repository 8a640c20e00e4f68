//! The orchestrator is killed, at every kind of moment. Nothing is lost and nothing is done twice.

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

/// After a crash everything goes on to the end, and each task's work comes in once.
#[track_caller]
fn completes_once(sandbox: &Sandbox) {
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0).says("2 of 2 completed");
    assert_eq!(integrations(&events(sandbox, "plan-1")).len(), 2);
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert_eq!(sandbox.git(&["rev-list", "--count", "--first-parent", "HEAD"]), "2");
    assert_eq!(sandbox.read("ui/b.txt"), sandbox.read("core/a.txt"));
}

/// Whoever runs for this sandbox now, without its orchestrator.
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

/// The time that passes while nobody is there is not the agent's.
#[test]
fn a_deadline_that_passes_while_nobody_is_there_costs_no_attempt() {
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
    completes_once(&sandbox);
    let board = board(&sandbox);
    let attempts = &task_of(&board, "first").attempts;
    assert_eq!((attempts.len(), &attempts[0].failure), (1, &None));
}

/// Checks are run again; those of the old run are not left behind.
#[test]
fn a_kill_while_checks_run_leaves_no_check_behind() {
    let sandbox = sandbox();
    let gate = gate(&sandbox);
    // On the base there is nothing to wait for.
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
    completes_once(&sandbox);
    assert_eq!(task_of(&board(&sandbox), "first").attempts.len(), 1);
}

/// The box of an agent is there before its checkout is. Whoever made it is gone: so is the box.
#[test]
fn a_kill_while_an_agent_is_made_ready_leaves_nothing_of_it_behind() {
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

/// Between two tasks nothing runs at all, and what was reached is still there.
#[test]
fn a_kill_between_two_tasks_repeats_neither() {
    let sandbox = sandbox();
    let plan = waiting("command = \"echo a > core/a.txt\"");
    let plan = sandbox.plan(&plan.replace("max_attempts", "deploy = \"manual\"\nmax_attempts"));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    sandbox.pitcrew(&["deploy", "first"]).expect(0);
    let first = await_task(&sandbox, "first", TaskStatus::Completed);
    sandbox.kill_orchestrator();
    assert_eq!(*task_of(&board(&sandbox), "first"), first);
    sandbox.pitcrew(&["deploy", "second"]).expect(0);
    completes_once(&sandbox);
}

/// A landing that was under way is brought to its end, once.
#[test]
fn a_kill_during_the_landing_lands_once() {
    let sandbox = sandbox();
    let gate = gate(&sandbox);
    // Only the landing sees both the work and what the user did meanwhile.
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

/// Whenever it is killed: in the end every task is completed, and was integrated once.
#[test]
fn a_plan_survives_a_kill_every_few_events() {
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
fn a_plan_that_is_paused_stays_paused_after_a_kill() {
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
    completes_once(&sandbox);
}

/// S0-132: a cancel that was acknowledged is carried out by whoever comes next.
#[test]
fn a_cancel_is_kept_over_a_kill() {
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

/// Stopped in the middle is as good as never stopped: nothing is lost and no attempt is spent.
#[test]
fn a_stop_in_the_middle_costs_no_attempt() {
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
    completes_once(&sandbox);
    let board = board(&sandbox);
    assert_eq!(task_of(&board, "first").attempts[0].failure, Some(Failure::Interrupted));
}

/// Also the process between us and the agent may die; the agent does not outlive it.
#[test]
fn a_kill_of_the_shim_is_a_failed_attempt_and_leaves_no_agent() {
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
    completes_once(&sandbox);
    assert_eq!(task_of(&board(&sandbox), "first").attempts.len(), 2);
}

/// The points at which the crash harness kills are in its own build only.
#[test]
fn an_ordinary_build_has_no_point_to_be_killed_at() {
    let mut sandbox = sandbox();
    for points in ["journal-before-append=return;effect-before=return", "nonsense"] {
        sandbox.set("FAILPOINTS", points);
        let plan = sandbox.plan(&waiting("command = \"echo a > core/a.txt\""));
        sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("2 of 2 completed");
        sandbox.pitcrew(&["stop"]).expect(0);
    }
}

/// S0-132: what is being verified ends with its task.
#[test]
fn a_cancel_ends_the_checks_that_run() {
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
