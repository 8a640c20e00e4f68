//! The orchestrator is killed and its agents are not: the next one reattaches to them in any
//! situation. Nothing is sent twice, and no attempt is lost.

use crate::support::*;
use pitcrew_model::{Failure, TaskStatus};
use pitcrew_process::{SpoolReader, SpoolRecord};
use pitcrew_testkit::{PATIENCE, Process, Sandbox, eventually};
use rustix::process::Signal;
use serde_json::Value;
use std::{fs, path::PathBuf};

fn gate(sandbox: &Sandbox) -> PathBuf {
    sandbox.root().join("gate")
}

/// A plan with one task and one attempt.
fn plan(task: &str) -> String {
    format!(
        "name = \"alone\"\nmax_attempts = 1\n\n[[task]]\nid = \"first\"\nregion = \"core\"\n{task}\n"
    )
}

fn run(sandbox: &Sandbox, task: &str) {
    let plan = sandbox.plan(&plan(task));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
}

/// The folder of an attempt.
fn folder(sandbox: &Sandbox, attempt: u32) -> PathBuf {
    let workspaces = sandbox.home().join(".local/state/pitcrew/workspaces");
    let mut workspaces = fs::read_dir(workspaces).expect("workspaces").flatten();
    let workspace = workspaces.next().expect("a workspace").path();
    workspace.join(format!("attempts/attempt-{attempt}"))
}

fn spool(sandbox: &Sandbox, attempt: u32) -> Vec<SpoolRecord> {
    let path = folder(sandbox, attempt).join("spool.ndjson");
    let mut spool = SpoolReader::open(&path).expect("a spool");
    std::iter::from_fn(|| spool.read().expect("records")).collect()
}

/// The frames that were sent to the agent.
fn sent(sandbox: &Sandbox) -> Vec<Value> {
    let frame = |it| match it {
        SpoolRecord::Input { line, .. } => Some(serde_json::from_str(&line).expect("a frame")),
        SpoolRecord::Output { .. } | SpoolRecord::Garbage { .. } => None,
    };
    spool(sandbox, 1).into_iter().filter_map(frame).collect()
}

fn sent_count(sandbox: &Sandbox, method: &str) -> u64 {
    sent(sandbox).iter().filter(|it| it["method"] == method).map(|_| 1).sum()
}

/// Waits until the agent has sent this text.
fn await_message(sandbox: &Sandbox, text: &str) {
    eventually(&format!("the agent says {text}"), || {
        let says = |it: &SpoolRecord| matches!(it, SpoolRecord::Output { line, .. } if line.contains(text));
        spool(sandbox, 1).iter().any(says).then_some(())
    });
}

/// The shim, the agent, and everything that the agent started.
fn agents(sandbox: &Sandbox) -> Vec<(Process, String)> {
    let all = Process::naming(&sandbox.root().display().to_string());
    // A shell that waits at a gate starts `sleep` again and again; each child looks like the shell
    // for a moment.
    let passes = |it: &str| it.starts_with("sleep ") || it.starts_with("touch ");
    let stays = |it: &(Process, String)| !it.1.contains(" serve ") && !passes(&it.1);
    let mut found: Vec<_> = all.into_iter().filter(stays).collect();
    found.dedup_by(|next, it| next.1 == it.1 && it.1.starts_with("sh "));
    found
}

/// Whether a process in the network namespace of this one has connected to the orchestrator. A box
/// has its own network, and an unaccepted connection is visible only in the caller's.
fn has_called(sandbox: &Sandbox, process: &Process) -> bool {
    let network = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let pid = process.pid.to_string();
    let sockets = fs::read_to_string(format!("/proc/{pid}/net/unix")).unwrap_or_default();
    let door = sandbox.root().display().to_string();
    // The socket is listed under the path at which it was bound; in that namespace it is listed as
    // well.
    let of_door = |it: &&str| it.contains(&door) && it.contains("/attempt-1/new");
    let own = usize::from(network(&pid) == network("self"));
    sockets.lines().filter(of_door).count() > own
}

/// Stops the orchestrator with SIGSTOP and returns its process.
fn freeze(sandbox: &Sandbox) -> Process {
    let (_, process) = sandbox.orchestrator().expect("an orchestrator runs");
    process.signal(Signal::STOP);
    process
}

fn kill(process: Process) {
    process.signal(Signal::KILL);
    assert!(process.await_end(PATIENCE), "a killed process ends");
}

/// Asserts that the plan completes, with nothing in its history that shows the absence.
#[track_caller]
fn assert_completes_in_one_attempt(sandbox: &Sandbox, prompts_count: u64) {
    let summary = sandbox.pitcrew(&["watch", "plan-1"]).expect(0).says("1 of 1 completed");
    assert!(!summary.stdout.contains("2 attempts"), "{summary}");
    let board = board(sandbox);
    let attempts = &task_of(&board, "first").attempts;
    assert_eq!((attempts.len(), &attempts[0].failure), (1, &None));
    assert_eq!(attempts[0].turns_count, prompts_count);
    assert_eq!(sent_count(sandbox, "session/prompt"), prompts_count);
    assert_eq!(sent_count(sandbox, "initialize"), 1);
    assert_eq!(sent_count(sandbox, "session/new"), 1);
    assert_eq!(integrations(&events(sandbox, "plan-1")).len(), 1);
    let logs = sandbox.pitcrew(&["logs", "plan-1"]).expect(0).stdout;
    let notes = logs.lines().filter(|it| it.starts_with("[worker-1]") && it.contains(": run "));
    assert!(notes.count() <= 1, "its activity is recorded once: {logs}");
    for word in ["lost", "interrupted", "exited by itself"] {
        assert!(!logs.contains(word), "{logs}");
    }
}

/// In the middle of a turn.
#[test]
fn agent_is_reattached_after_a_kill() {
    let sandbox = sandbox();
    let gate = gate(&sandbox);
    let steps = format!("run {}\nwrite core/a.txt <<END\na\nEND\ncomplete it", wait_at(&gate));
    run(&sandbox, &script(&steps));
    await_reached(&gate);
    let before = agents(&sandbox);
    assert!(before.len() >= 2, "a shim and its agent: {before:?}");
    for _ in 0..3 {
        sandbox.kill_orchestrator();
        sandbox.pitcrew(&["status"]).expect(0).says("running");
        assert_eq!(task_of(&board(&sandbox), "first").status, TaskStatus::Running);
    }
    assert_eq!(agents(&sandbox), before, "the same processes");
    open_gate(&gate);
    assert_completes_in_one_attempt(&sandbox, 1);
}

/// A session over the network may have another runtime folder than the desktop, or none.
#[test]
fn agent_is_reattached_from_another_session() {
    let mut sandbox = sandbox();
    let gate = gate(&sandbox);
    let steps = format!("run {}\nwrite core/a.txt <<END\na\nEND\ncomplete it", wait_at(&gate));
    run(&sandbox, &script(&steps));
    await_reached(&gate);
    let (before, (health, _)) = (agents(&sandbox), sandbox.orchestrator().expect("one runs"));
    let other = sandbox.root().join("other").display().to_string();
    sandbox.set("XDG_RUNTIME_DIR", &other);
    sandbox.pitcrew(&["status"]).expect(0).says("running");
    assert_eq!(sandbox.orchestrator().expect("one runs").0.pid, health.pid);
    sandbox.kill_orchestrator();
    sandbox.pitcrew(&["status"]).expect(0).says("running");
    assert_eq!(agents(&sandbox), before, "the same processes");
    open_gate(&gate);
    assert_completes_in_one_attempt(&sandbox, 1);
}

/// The orchestrator was away for longer than the time limit, and the agents kept working.
#[test]
fn time_without_an_orchestrator_does_not_count() {
    let sandbox = sandbox();
    let gates = ["core", "ui"].map(|it| sandbox.root().join(it));
    let task = |gate: &PathBuf| {
        let region = gate.file_name().expect("a name").display().to_string();
        let steps = format!("run {}\nrun echo a > {region}/a.txt\ncomplete it", wait_at(gate));
        let head = format!("id = \"{region}\"\nregion = \"{region}\"\ntimeout = \"10m\"");
        format!("[[task]]\n{head}\n{}\n", script(&steps))
    };
    let tasks = gates.each_ref().map(task).concat();
    let plan = sandbox.plan(&format!("name = \"alone\"\nmax_attempts = 1\n\n{tasks}"));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    for gate in &gates {
        await_reached(gate);
    }
    sandbox.kill_orchestrator();
    // As if everything had happened an hour earlier.
    let journal = folder(&sandbox, 1).join("../../journal.db");
    let journal = rusqlite::Connection::open(journal).expect("a journal");
    journal.execute("UPDATE events SET at = at - 3600000", []).expect("room");
    drop(journal);
    sandbox.pitcrew(&["status"]).expect(0).says("running  task-1").says("running  task-2");
    for gate in &gates {
        open_gate(gate);
    }
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0).says("2 of 2 completed, 2 attempts");
}

/// A command is reattached like any agent.
#[test]
fn command_is_reattached_after_a_kill() {
    let sandbox = sandbox();
    let gate = gate(&sandbox);
    let command = format!("echo once >> core/a.txt; {}", wait_at(&gate));
    run(
        &sandbox,
        &format!("command = \"\"\"{command}\"\"\"\nchecks = \"test $(wc -l < core/a.txt) = 1\""),
    );
    await_reached(&gate);
    sandbox.kill_orchestrator();
    open_gate(&gate);
    assert_completes_in_one_attempt(&sandbox, 1);
}

/// The person is asked once, and the agent is answered once.
#[test]
fn permission_request_survives_a_kill() {
    let sandbox = sandbox();
    run(&sandbox, &script("permit Paint it\nwrite core/a.txt <<END\na\nEND\ncomplete it"));
    let request = await_request(&sandbox).id;
    for _ in 0..2 {
        sandbox.kill_orchestrator();
        assert_eq!(await_request(&sandbox).id, request);
    }
    sandbox.pitcrew(&["approve", &request.to_string()]).expect(0);
    assert_completes_in_one_attempt(&sandbox, 1);
    let answers = sent(&sandbox);
    let answers = answers.iter().filter(|it| !it["result"]["outcome"].is_null());
    assert_eq!(answers.count(), 1);
    let inbox = sandbox.pitcrew(&["inbox", "--all", "--json"]);
    assert!(!inbox.stdout.contains("request-2"), "{inbox}");
}

/// The turn has ended, and the question is waiting for its answer.
#[test]
fn question_survives_a_kill() {
    let sandbox = sandbox();
    let steps =
        "ask Which letter?\nwhen \"the letter a\" write core/a.txt <<END\na\nEND\ncomplete it";
    run(&sandbox, &format!("{}\nexpected_files = \"core/a.txt\"", script(steps)));
    let request = await_request(&sandbox).id;
    sandbox.kill_orchestrator();
    assert_eq!(await_request(&sandbox).id, request);
    sandbox.pitcrew(&["answer", &request.to_string(), "the letter a"]).expect(0);
    assert_completes_in_one_attempt(&sandbox, 2);
}

/// The agent has made a call that the orchestrator has not read; the next one handles it.
#[test]
fn tool_call_in_flight_reaches_the_next_orchestrator_once() {
    let sandbox = sandbox();
    let gate = gate(&sandbox);
    let steps = format!(
        "run {}\nask Which letter?\nwrite core/a.txt <<END\na\nEND\ncomplete it",
        wait_at(&gate)
    );
    run(&sandbox, &script(&steps));
    await_reached(&gate);
    let frozen = freeze(&sandbox);
    open_gate(&gate);
    // The step after the gate is the call, which cannot return before it is answered.
    await_message(&sandbox, r#""status":"completed""#);
    eventually("the bridge has called", || {
        let all = Process::naming(&sandbox.root().display().to_string());
        all.iter().any(|it| has_called(&sandbox, &it.0)).then_some(())
    });
    kill(frozen);
    let request = await_request(&sandbox).id;
    assert_eq!(request.to_string(), "request-1");
    sandbox.pitcrew(&["answer", "request-1", "a"]).expect(0);
    assert_completes_in_one_attempt(&sandbox, 2);
    let events = events(&sandbox, "plan-1");
    let asked =
        events.iter().filter(|it| matches!(it.event, pitcrew_model::Event::RequestOpened { .. }));
    assert_eq!(asked.count(), 1, "the person is asked once");
}

/// The turn ends while the orchestrator is stopped, and then it is killed.
#[test]
fn unread_turn_end_counts() {
    let sandbox = sandbox();
    let gate = gate(&sandbox);
    let complete = r#"pitcrew tool orchestrator_complete_task --json '{"summary":"it"}'"#;
    let steps =
        format!("write core/a.txt <<END\na\nEND\nrun <<END\n{complete}\n{}\nEND", wait_at(&gate));
    run(&sandbox, &format!("script = \"\"\"\n{}\n\"\"\"", steps.replace('\\', "\\\\")));
    await_reached(&gate);
    let frozen = freeze(&sandbox);
    open_gate(&gate);
    await_message(&sandbox, "stopReason");
    kill(frozen);
    assert_completes_in_one_attempt(&sandbox, 1);
}

/// No orchestrator is running when the start of the agent finishes.
#[test]
fn starting_agent_is_not_started_twice() {
    let sandbox = sandbox();
    let gate = gate(&sandbox);
    let agent = agent_with(&sandbox, "write core/a.txt <<END\na\nEND\ncomplete it");
    let late = format!("{}; exec {agent}", wait_at(&gate));
    backend(&sandbox, "late", &["sh", "-c", &late]);
    run(&sandbox, "agent = \"late\"\nprompt = \"Do it.\"");
    await_reached(&gate);
    let initialized = || {
        let spool = fs::read_to_string(folder(&sandbox, 1).join("spool.ndjson")).ok()?;
        spool.contains("initialize").then_some(())
    };
    eventually("the agent is initialized", initialized);
    sandbox.kill_orchestrator();
    assert_eq!(task_of(&board(&sandbox), "first").status, TaskStatus::Starting);
    sandbox.kill_orchestrator();
    open_gate(&gate);
    assert_completes_in_one_attempt(&sandbox, 1);
    assert!(!folder(&sandbox, 1).join("spool-1.ndjson").exists(), "one agent was started");
}

/// An agent that exits while no orchestrator is running is treated as usual.
#[test]
fn agent_that_exits_without_an_orchestrator_has_failed() {
    let sandbox = sandbox();
    let gate = gate(&sandbox);
    run(&sandbox, &script(&format!("run {}\nexit 3", wait_at(&gate))));
    await_reached(&gate);
    sandbox.kill_orchestrator();
    open_gate(&gate);
    let record = folder(&sandbox, 1).join("exit.json");
    eventually("it has ended", || record.exists().then_some(()));
    sandbox.pitcrew(&["watch", "plan-1"]).expect(5);
    let board = board(&sandbox);
    let attempts = &task_of(&board, "first").attempts;
    let Some(Failure::AgentExited { exit, .. }) = &attempts[0].failure else {
        panic!("{attempts:#?}")
    };
    assert_eq!((attempts.len(), exit.as_str()), (1, "exit code 3"));
}

/// No orchestrator comes back within the lease: the agent is ended, its attempt does not count, and
/// the next one does the work.
#[test]
fn agent_is_ended_after_the_lease() {
    let mut sandbox = sandbox();
    sandbox.set("PITCREW_LEASE", "1s");
    let gate = gate(&sandbox);
    let steps = format!("run {}\nwrite core/a.txt <<END\na\nEND\ncomplete it", wait_at(&gate));
    run(&sandbox, &script(&steps));
    await_reached(&gate);
    let before = agents(&sandbox);
    sandbox.kill_orchestrator();
    for (process, name) in &before {
        assert!(process.await_end(PATIENCE), "{name} survived");
    }
    let record = fs::read_to_string(folder(&sandbox, 1).join("exit.json")).expect("a record");
    assert!(record.contains("no client reconnected within the lease"), "{record}");
    open_gate(&gate);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0).says("1 of 1 completed");
    let board = board(&sandbox);
    let attempts = &task_of(&board, "first").attempts;
    assert_eq!((attempts.len(), &attempts[0].failure), (2, &Some(Failure::Interrupted)));
    let logs = sandbox.pitcrew(&["logs", "plan-1"]).expect(0);
    assert!(logs.stdout.contains("its agent was lost"), "{logs}");
    assert!(!logs.stdout.contains("exited by itself"), "{logs}");
}
