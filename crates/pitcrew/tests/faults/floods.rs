//! Agents that produce too much: output, processes, files.

use crate::support::*;
use pitcrew_model::{Failure, RefusalKind, TaskStatus};
use pitcrew_testkit::{Finished, Process, Sandbox, eventually, skipped};
use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

/// How much an orchestrator or a shim may grow because of an agent.
const GROWTH_KIB_MAX: u64 = 64 * 1_024;

/// The peak memory in KiB of each of our processes, by process id, with its role.
type Peaks = BTreeMap<i32, (String, u64)>;

/// Runs the plan and measures our orchestrator and our shims.
fn run(sandbox: &Sandbox, plan: &str) -> (Finished, Peaks) {
    let root = sandbox.root().display().to_string();
    let mut peaks = Peaks::new();
    thread::scope(|scope| {
        let running = scope.spawn(|| sandbox.pitcrew(&["run", plan, "--yes"]));
        eventually("the plan has ended", || {
            for (process, name) in Process::naming(&root) {
                let mut words = name.split_whitespace();
                let role = words.nth(1).filter(|_| name.starts_with(BINARY)).unwrap_or_default();
                if let Some(peak) = peak_kib(process).filter(|_| ["serve", "shim"].contains(&role))
                {
                    peaks.insert(process.pid, (role.to_owned(), peak));
                }
            }
            running.is_finished().then_some(())
        });
        (running.join().expect("it does not panic"), peaks)
    })
}

fn peak_kib(process: Process) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", process.pid)).ok()?;
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

fn largest(peaks: &Peaks, role: &str) -> u64 {
    peaks.values().filter(|it| it.0 == role).map(|it| it.1).max().unwrap_or_default()
}

const HONEST: &str =
    "[[task]]\nid = \"sibling\"\nregion = \"ui\"\ncommand = \"date +%s%N > ui/done.txt\"\n";

/// Asserts that the sibling completes and our processes hardly grow. Returns why the agent failed,
/// if it did.
#[track_caller]
fn failure_with_little_memory(fault: &str) -> Option<Failure> {
    let sandbox = sandbox();
    let held = rogue(&sandbox);
    let (_, calm) = run(&sandbox, &sandbox.plan(&format!("name = \"calm\"\n{HONEST}")));
    sandbox.pitcrew(&["stop"]).expect(0);
    let task = rogue_task(fault, "core", "max_attempts = 1\n");
    let plan = sandbox.plan(&format!("name = \"flood\"\n{HONEST}{task}"));
    let (_, flooded) = run(&sandbox, &plan);
    for role in ["serve", "shim"] {
        let (calm, flooded) = (largest(&calm, role), largest(&flooded, role));
        assert!(calm > 0 && flooded > 0, "{role} was seen");
        let growth = flooded.saturating_sub(calm);
        assert!(growth < GROWTH_KIB_MAX, "{role} grew by {growth} KiB to {flooded} KiB");
    }
    assert_nothing_is_left(&sandbox, &held);
    let board = board(&sandbox);
    let siblings = board.tasks.iter().filter(|it| it.key == "sibling");
    assert!(siblings.clone().all(|it| it.status == TaskStatus::Completed), "{board:?}");
    task_of(&board, fault).newest_attempt().and_then(|it| it.failure.clone())
}

/// S0-018: reading the line is abandoned long before its end.
#[test]
fn gigabyte_line_takes_no_memory() {
    let failure = failure_with_little_memory("says_one_endless_line");
    assert!(matches!(failure, Some(Failure::Protocol { .. })), "{failure:?}");
}

/// S0-018
#[test]
fn longest_allowed_lines_take_little_memory() {
    assert_eq!(failure_with_little_memory("says_the_longest_lines"), None);
}

/// S0-018
#[test]
fn frame_flood_takes_no_memory() {
    assert_eq!(failure_with_little_memory("floods"), None);
}

/// S0-132: processes that keep replacing each other end with their agent.
#[test]
fn replacing_processes_end_with_their_agent() {
    let sandbox = sandbox();
    let held = rogue(&sandbox);
    let task = "agent = \"rogue\"\nprompt = \"fault:breeds core\"";
    assert_completes_beside_a_sibling(&sandbox, task);
    assert_nothing_is_left(&sandbox, &held);
}

/// Generous, because the machine is busy with the bomb.
const BOMB_END_MAX: Duration = Duration::from_secs(30);

/// S0-018: as many processes as the system allows, which keep starting more. The sibling keeps
/// working, commands are answered, and stopping the agent ends all processes. There is no box,
/// because a box would end them together with its first process.
#[test]
fn fork_bomb_fails_only_its_task() {
    let mut sandbox = sandbox();
    sandbox.set("PITCREW_SANDBOX", "T1");
    let held = rogue(&sandbox);
    fs::write(sandbox.root().join("bombs.py"), pitcrew_testkit::BOMBS).expect("a file");
    let report = sandbox.root().join("held.bomb/report");
    let sibling = format!(
        "until [ -s '{}' ]; do sleep 0.05; done; echo done > ui/done.txt",
        report.display()
    );
    let bomb = rogue_task("forks_without_end", "core", "max_attempts = 1\n");
    let plan = sandbox.plan(&format!(
        "name = \"bomb\"\n{bomb}[[task]]\nid = \"sibling\"\nregion = \"ui\"\ncommand = \"{sibling}\"\n"
    ));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_task(&sandbox, "sibling", TaskStatus::Completed);
    let report = fs::read_to_string(report).expect("the bomb says what happened");
    if report.trim() != "limited" {
        return skipped("floods::fork_bomb_fails_only_its_task", report.trim());
    }
    // The processes come and go faster than they can be counted.
    let lifeline = sandbox.root().join("held.bomb/lifeline");
    eventually("the bomb goes on", || (holders(&lifeline).len() > 10).then_some(()));
    let began = Instant::now();
    sandbox.pitcrew(&["cancel", "forks_without_end"]).expect(0);
    await_task(&sandbox, "forks_without_end", TaskStatus::Cancelled);
    assert_nothing_is_left(&sandbox, &held);
    assert_eq!(holders(&lifeline), Vec::<PathBuf>::new());
    let took = began.elapsed();
    eprintln!("the bomb was gone {took:?} after the order");
    assert!(took < BOMB_END_MAX, "{took:?}");
}

/// S0-018, S0-132: the process limit of the settings holds, for root as well as for users whom the
/// kernel limits. It fails its own task only.
#[test]
fn process_limit_holds() {
    let sandbox = sandbox();
    let held = rogue(&sandbox);
    add_to_settings(&sandbox, "[sandbox]\nprocesses = 64");
    let task = "agent = \"rogue\"\nprompt = \"fault:starts_more_than_it_may core\"";
    let failure = failure_beside_a_sibling(&sandbox, task);
    let Failure::AgentExited { exit, output } = &failure else { panic!("{failure:?}") };
    let (how, why) = if rustix::process::geteuid().is_root() {
        ("signal 9", "more than 64 processes")
    } else {
        ("exit code 7", "refused: EAGAIN")
    };
    assert!(exit.contains(how) && output.contains(why), "{failure:?}");
    assert_nothing_is_left(&sandbox, &held);
}

#[test]
fn work_with_too_many_files_is_refused_without_delay() {
    let sandbox = sandbox();
    rogue(&sandbox);
    let task = "agent = \"rogue\"\nprompt = \"fault:writes_many_files core\"";
    let failure = failure_beside_a_sibling(&sandbox, task);
    let Failure::Gate { refusals, .. } = &failure else { panic!("{failure:?}") };
    assert_eq!(refusals[0].kind, RefusalKind::TooMany, "{failure}");
}

/// One agent fills the disk of the checkouts. Its work is integrated anyway, the next agent gets an
/// error that names the cause, and with free space everything works again.
#[test]
fn full_checkout_disk_has_no_lasting_effect() {
    let Some(folder) = std::env::var_os(MOUNTED).map(PathBuf::from) else {
        return run_mounted(
            "floods::full_checkout_disk_has_no_lasting_effect",
            "mount -t tmpfs -o size=300m none \"$0\"",
        );
    };
    let mut sandbox = sandbox();
    sandbox.set("PITCREW_WORKTREES", &folder.display().to_string());
    // Otherwise a dependent task would need as much space again.
    sandbox.write(".gitignore", "ballast\n");
    sandbox.git(&["add", ".gitignore"]);
    sandbox.git(&["commit", "--quiet", "--message=ignore ballast"]);
    let held = rogue(&sandbox);
    let filler = rogue_task("fills_the_disk", "core", "");
    let after =
        HONEST.replace("region", "max_attempts = 1\ndepends_on = \"fills_the_disk\"\nregion");
    let plan = sandbox.plan(&format!("name = \"full\"\n{filler}{after}"));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(4).says("1 of 2 completed");
    assert_nothing_is_left(&sandbox, &held);
    let board = board(&sandbox);
    assert_eq!(task_of(&board, "fills_the_disk").status, TaskStatus::Completed);
    let failure = task_of(&board, "sibling").newest_attempt().and_then(|it| it.failure.clone());
    assert!(matches!(failure, Some(Failure::DiskLow { .. })), "{failure:?}");
    let ballast = checkout(&sandbox, "fills_the_disk").join("core/ballast");
    fs::remove_dir_all(ballast).expect("it is there");
    sandbox.pitcrew(&["retry", "sibling"]).expect(0);
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0).says("2 of 2 completed");
}
