//! Helpers of these tests: plans with a fault, and their outcomes.

use pitcrew_model::{AttemptId, EffectResult, Entry, Event, Failure, TaskStatus};
use pitcrew_testkit::{Finished, Process, Sandbox, eventually, python, skipped};
use pitcrew_views::{BoardView, OpenRequest, TaskView};
use serde_json::Value;
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

pub const BINARY: &str = env!("CARGO_BIN_EXE_pitcrew");

pub fn sandbox() -> Sandbox {
    Sandbox::new(BINARY)
}

/// Adds a backend to the settings of the sandbox's user.
pub fn backend(sandbox: &Sandbox, name: &str, command: &[&str]) {
    add_to_settings(sandbox, &format!("[backends.{name}]\ncommand = {command:?}"));
}

/// The command of the built-in agent as an external program, with its steps in a file.
pub fn agent_with(sandbox: &Sandbox, script: &str) -> String {
    let file = sandbox.root().join("steps.txt");
    fs::write(&file, script).expect("a file");
    format!("'{BINARY}' agent --script '{}'", file.display())
}

/// Adds lines to the settings of the sandbox's user.
pub fn add_to_settings(sandbox: &Sandbox, lines: &str) {
    let folder = sandbox.home().join(".config/pitcrew");
    fs::create_dir_all(&folder).expect("a folder");
    let mut options = fs::OpenOptions::new();
    let mut file = options.create(true).append(true).open(folder.join("config.toml"));
    let file = file.as_mut().expect("the settings can be written");
    writeln!(file, "{lines}").expect("the settings take it");
}

/// A task named `faulty` that owns `core`, beside one that always succeeds.
pub fn beside_a_sibling(task: &str) -> String {
    format!(
        r#"
name = "faults"
max_attempts = 1

[[task]]
id = "sibling"
region = "ui"
command = "echo done > ui/done.txt"

[[task]]
id = "faulty"
region = "core"
{task}
"#
    )
}

/// Adds the backend `rogue`, whose agents do what their prompts name. Returns the file that their
/// daemons hold open.
pub fn rogue(sandbox: &Sandbox) -> PathBuf {
    let program = sandbox.root().join("rogue.py");
    fs::write(&program, include_str!("agents/rogue.py")).expect("a file");
    let held = sandbox.root().join("held");
    let path = |it: &Path| it.display().to_string();
    backend(sandbox, "rogue", &[&python(), &path(&program), &path(&held), "100000000"]);
    // Tier T1, so that it can break everything in its checkout.
    add_to_settings(sandbox, "own_sandbox = \"it has none, and says so\"");
    held
}

/// A task of the rogue agent, named after its fault.
pub fn rogue_task(fault: &str, region: &str, more: &str) -> String {
    format!(
        "[[task]]\nid = \"{fault}\"\nregion = \"{region}\"\nagent = \"rogue\"\nprompt = \"fault:{fault} {region}\"\n{more}"
    )
}

/// Asserts that no process of any agent is left, not even as a zombie.
#[track_caller]
pub fn assert_nothing_is_left(sandbox: &Sandbox, held: &Path) {
    let root = sandbox.root().display().to_string();
    eventually("nothing is left of the agents", || {
        let left = Process::naming(&root);
        let left = left.iter().filter(|it| !it.1.contains(" serve ")).count();
        let (_, orchestrator) = sandbox.orchestrator()?;
        let unreaped = children_of(orchestrator).len();
        (left == 0 && unreaped == 0 && holders(held).is_empty()).then_some(())
    });
}

/// The children of a process, including zombies.
fn children_of(process: Process) -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = entries.filter_map(|it| fs::read_to_string(it.path().join("stat")).ok());
    let parent =
        |line: &str| line.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse::<i32>().ok();
    lines.filter(|it| parent(it) == Some(process.pid)).collect()
}

/// The processes that have a file open.
pub fn holders(file: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let holds = |process: &PathBuf| {
        entries(&process.join("fd")).any(|it| fs::read_link(it.path()).is_ok_and(|it| it == file))
    };
    entries(Path::new("/proc")).map(|it| it.path()).filter(holds).collect()
}

/// The `script` of a task.
pub fn script(steps: &str) -> String {
    format!("script = '''\n{steps}\n'''")
}

/// Runs the plan of `beside_a_sibling`, whose other task completes, and returns why the faulty one
/// failed.
#[track_caller]
pub fn failure_beside_a_sibling(sandbox: &Sandbox, task: &str) -> Failure {
    let plan = sandbox.plan(&beside_a_sibling(task));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(4).says("1 of 2 completed");
    let board = board(sandbox);
    assert_eq!(task_of(&board, "sibling").status, TaskStatus::Completed);
    let faulty = task_of(&board, "faulty");
    assert_eq!(faulty.status, TaskStatus::Failed);
    let failure = faulty.newest_attempt().and_then(|it| it.failure.clone());
    failure.expect("a failed task says why")
}

/// Runs the plan of `beside_a_sibling` and asserts that it completes.
#[track_caller]
pub fn assert_completes_beside_a_sibling(sandbox: &Sandbox, task: &str) -> Finished {
    let plan = sandbox.plan(&beside_a_sibling(task));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("2 of 2 completed")
}

/// The files that landing the plan would change.
pub fn files_to_land(sandbox: &Sandbox, plan: &str) -> Vec<String> {
    let diff = sandbox.pitcrew(&["diff", plan, "--json"]).expect(0).json();
    let files = diff["diff"]["files"].as_array().cloned().unwrap_or_default();
    files.iter().map(|it| it["path"].as_str().unwrap_or_default().to_owned()).collect()
}

#[track_caller]
pub fn board(sandbox: &Sandbox) -> BoardView {
    let board = sandbox.pitcrew(&["status", "--all", "--json"]).expect(0);
    serde_json::from_str(&board.stdout).unwrap_or_else(|error| panic!("{error} in {board}"))
}

#[track_caller]
pub fn task_of<'a>(board: &'a BoardView, key: &str) -> &'a TaskView {
    let task = board.tasks.iter().find(|it| it.key == key);
    task.unwrap_or_else(|| panic!("there is no task {key}"))
}

/// The checkout of the newest attempt, which `pitcrew path` never shows.
#[track_caller]
pub fn checkout(sandbox: &Sandbox, key: &str) -> PathBuf {
    let board = board(sandbox);
    let path = task_of(&board, key).newest_attempt().and_then(|it| it.path.clone());
    PathBuf::from(path.expect("a checkout"))
}

/// Waits until a task has a status.
pub fn await_task(sandbox: &Sandbox, key: &str, status: TaskStatus) -> TaskView {
    eventually(&format!("{key} is {status}"), || {
        let board = board(sandbox);
        board.tasks.into_iter().find(|it| it.key == key && it.status == status)
    })
}

/// Waits until a request is open.
pub fn await_request(sandbox: &Sandbox) -> OpenRequest {
    eventually("a request is open", || {
        let inbox = sandbox.pitcrew(&["inbox", "--json"]).expect(0).json();
        let first = inbox["open"].as_array().and_then(|it| it.first().cloned())?;
        Some(serde_json::from_value(first).expect("the inbox has requests"))
    })
}

/// All events of a plan.
pub fn events(sandbox: &Sandbox, plan: &str) -> Vec<Entry> {
    let entry = |line: Value| serde_json::from_value(line["entry"].clone()).expect("an entry");
    let lines = sandbox.pitcrew(&["logs", plan, "--json"]).expect(0).json_lines();
    lines.into_iter().map(entry).collect()
}

/// The attempts whose work was integrated, once per integration.
pub fn integrations(events: &[Entry]) -> Vec<AttemptId> {
    let attempt = |it: &Entry| {
        let Event::EffectEnded { result, .. } = &it.event else { return None };
        let EffectResult::Integrated { attempt, .. } = result else { return None };
        Some(*attempt)
    };
    events.iter().filter_map(attempt).collect()
}

/// A shell command that signals its arrival and waits for the gate to open.
pub fn wait_at(gate: &Path) -> String {
    let gate = gate.display();
    format!("touch '{gate}.reached'; until [ -e '{gate}' ]; do sleep 0.02; done")
}

pub fn await_reached(gate: &Path) {
    let mark = PathBuf::from(format!("{}.reached", gate.display()));
    eventually(&format!("{} is reached", gate.display()), || mark.exists().then_some(()));
}

pub fn open_gate(gate: &Path) {
    fs::write(gate, "").expect("a file");
}

/// Waits until a process holds the lock.
pub fn await_locked(lock: &Path) {
    eventually(&format!("{} is held", lock.display()), || is_locked(lock).then_some(()));
}

/// Whether a process holds a lock on the file. Process ids are not usable across boxes.
pub fn is_locked(lock: &Path) -> bool {
    let Ok(file) = fs::File::open(lock) else { return false };
    rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_err()
}

/// The user's state: each file of the working tree, the index and every ref.
pub fn snapshot_of_the_user(sandbox: &Sandbox) -> Vec<(String, Vec<u8>)> {
    let mut picture = Vec::new();
    let mut folders = vec![sandbox.repo()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.ends_with(".git") {
                continue;
            }
            if entry.file_type().is_ok_and(|it| it.is_dir()) {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).expect("a file");
                picture.push((path.display().to_string(), bytes));
            }
        }
    }
    picture.sort();
    let index = fs::read(sandbox.repo().join(".git/index")).expect("an index");
    picture.push(("index".into(), index));
    for what in [&["symbolic-ref", "--quiet", "HEAD"][..], &["rev-parse", "HEAD"]] {
        picture.push((what.join(" "), sandbox.git(what).into_bytes()));
    }
    picture
}

/// This test binary in a mount namespace in which `mount` has been run for `dir`.
#[expect(clippy::disallowed_methods, reason = "tests start what they test")]
fn in_a_namespace(mount: &str, dir: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
    command.arg(format!("{mount} && exec \"$@\"")).arg(dir);
    command
}

/// Runs `test` again in a namespace with the mount; skips it if that is not possible here.
pub fn run_mounted(test: &str, mount: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut probe = in_a_namespace(mount, folder.path());
    probe.arg("true").stdout(Stdio::null()).stderr(Stdio::null());
    if !probe.status().is_ok_and(|it| it.success()) {
        return skipped(test, "a file system cannot be mounted in a name space here");
    }
    let mut again = in_a_namespace(mount, folder.path());
    again.arg(std::env::current_exe().expect("we run")).args(["--exact", test, "--nocapture"]);
    let output = again.env(MOUNTED, folder.path()).output().expect("it can be started");
    let printed = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}{complaint}");
}

/// Names the mounted folder to the test in the namespace.
pub const MOUNTED: &str = "PITCREW_TEST_MOUNTED";
