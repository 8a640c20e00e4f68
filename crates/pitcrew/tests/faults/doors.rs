//! Connection floods, missing socket and token files, and exhausted file descriptors: the user's
//! commands still work.

use crate::support::*;
use pitcrew_model::{PlanStatus, TaskStatus};
use pitcrew_testkit::{Process, Sandbox, eventually, python};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    path::PathBuf,
    time::{Duration, Instant},
};

/// The time limit of a command on a machine that runs other tests at the same time.
const PROMPTLY: Duration = Duration::from_secs(10);

/// Opens connections until they are refused: some silent, some with a byte at a time, some with
/// request after request. Then keeps them until the test ends it.
const FLOOD: &str = r#"
import json, os, resource, socket, sys, time

path, token, root = os.environ["PITCREW_SOCKET"], os.environ["PITCREW_TOKEN"], sys.argv[1]
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))

def connect():
    host, colon, port = path.rpartition(":")
    by_port = colon and port.isdigit()
    stream = socket.socket(socket.AF_INET if by_port else socket.AF_UNIX)
    stream.settimeout(0.2)
    stream.connect((host, int(port)) if by_port else path)
    return stream

def request(what):
    return f"GET {what} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n".encode()

def ask(what):
    try:
        stream = connect()
        stream.settimeout(30)
        stream.sendall(request(what))
        return stream.recv(100).decode()
    except OSError as error:
        return repr(error)

def reaches(place):
    try:
        socket.socket(socket.AF_UNIX).connect(place)
        return True
    except OSError:
        return False

folder = os.path.dirname(os.path.dirname(path))
report = {
    "person": reaches(os.path.join(folder, "door/serve.sock")),
    "board": ask("/v1/board"),
    "tools": ask("/v1/tools"),
}
held = []

def say(number, stream):
    try:
        if number % 3 == 1:
            stream.send(b"G")
        elif number % 3 == 2:
            stream.send(request("/v1/tools"))
    except OSError:
        pass

def fill():
    try:
        while len(held) < 6000:
            stream = connect()
            stream.setblocking(False)
            held.append(stream)
            say(len(held), stream)
    except OSError:
        pass

with open(os.path.join(root, "report.new"), "w") as file:
    fill()
    report["held"] = len(held)
    json.dump(report, file)
os.rename(os.path.join(root, "report.new"), os.path.join(root, "report"))
while not os.path.exists(os.path.join(root, "gate")):
    for number, stream in enumerate(held):
        say(number + 1, stream)
    fill()
    time.sleep(0.02)
"#;

/// A plan whose agent runs the flood.
fn flood(sandbox: &Sandbox) -> String {
    let program = sandbox.root().join("flood.py");
    fs::write(&program, FLOOD).expect("a program");
    let words = [python(), program.display().to_string(), sandbox.root().display().to_string()];
    let script = format!("run '{}'\ncomplete flooded", words.join("' '"));
    let task = "[[task]]\nid = \"floods\"\nregion = \"core\"\nmax_attempts = 1\n";
    sandbox.plan(&format!("name = \"flood\"\n{task}script = \"\"\"\n{script}\n\"\"\"\n"))
}

/// A plan that works until the gate file exists.
fn gated(sandbox: &Sandbox) -> String {
    let gate = sandbox.root().join("gate");
    let script =
        format!("run until [ -e '{}' ]; do sleep 0.05; done\ncomplete done", gate.display());
    let task = "[[task]]\nid = \"waits\"\nregion = \"core\"\nmax_attempts = 1\n";
    sandbox.plan(&format!("name = \"waits\"\n{task}script = \"\"\"\n{script}\n\"\"\"\n"))
}

fn runs(sandbox: &Sandbox) {
    eventually("the agent works", || {
        let task = board(sandbox).tasks.first().map(|it| it.status);
        (task == Some(TaskStatus::Running)).then_some(())
    });
}

#[track_caller]
fn assert_prompt(sandbox: &Sandbox, arguments: &[&str]) {
    let began = Instant::now();
    sandbox.pitcrew(arguments).expect(0);
    let took = began.elapsed();
    assert!(took < PROMPTLY, "`pitcrew {}` took {took:?}", arguments.join(" "));
}

/// The folder of the sockets.
fn sockets(sandbox: &Sandbox) -> PathBuf {
    let state = sandbox.states().pop().expect("a workspace");
    fs::read_link(state.join("sockets")).expect("a link")
}

fn files_count(process: Process) -> usize {
    fs::read_dir(format!("/proc/{}/fd", process.pid)).expect("it runs").count()
}

/// A worker in a box reaches only its own socket, which accepts few connections, and never the
/// user's.
#[test]
fn flooded_worker_socket_delays_no_one() {
    let sandbox = sandbox();
    sandbox.pitcrew(&["run", &flood(&sandbox), "--yes", "--detach"]).expect(0);
    let report = sandbox.root().join("report");
    let report = eventually("it floods", || fs::read_to_string(&report).ok());
    let report: serde_json::Value = serde_json::from_str(&report).expect("json");
    assert_eq!(report["person"], false, "the person's socket is out of reach: {report}");
    assert!(report["board"].to_string().contains("HTTP/1.1 404"), "{report}");
    assert!(report["tools"].to_string().contains("HTTP/1.1 200"), "{report}");
    let (_, orchestrator) = sandbox.orchestrator().expect("it answers");
    let files = files_count(orchestrator);
    assert!(files < 300, "{files} files are open");
    assert_prompt(&sandbox, &["status"]);
    assert_prompt(&sandbox, &["inbox"]);
    assert_prompt(&sandbox, &["cancel", "task-1"]);
    assert_prompt(&sandbox, &["stop"]);
}

/// Outside any box, on the user's own socket and on the tools' loopback port.
#[test]
fn authenticated_clients_get_through_a_flood() {
    let sandbox = sandbox();
    sandbox.pitcrew(&["run", &gated(&sandbox), "--yes", "--detach"]).expect(0);
    runs(&sandbox);
    let http = sandbox.start(&["mcp", "--http"]);
    http.await_result("/mcp");
    http.await_note("bearer token");
    let url = http.results();
    let address = url.trim().trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    let connect = |_: usize| TcpStream::connect(&address).ok();
    let by_port: Vec<TcpStream> = (0..600).filter_map(connect).collect();
    let socket = sockets(&sandbox).join("door/serve.sock");
    let connect = |_: usize| UnixStream::connect(&socket).ok();
    let by_path: Vec<UnixStream> = (0..600).filter_map(connect).collect();
    assert_eq!((by_port.len(), by_path.len()), (600, 600));
    let (_, orchestrator) = sandbox.orchestrator().expect("it answers");
    let files = files_count(orchestrator);
    assert!(files < 700, "{files} files are open");
    assert_prompt(&sandbox, &["status"]);
    assert_prompt(&sandbox, &["inbox"]);
    let token = fs::read_to_string(sockets(&sandbox).join("mcp.token")).expect("a token");
    let answer = tools_over_http(&address, token.trim());
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    http.interrupt();
    http.wait().expect(130);
    assert_prompt(&sandbox, &["stop"]);
}

fn tools_over_http(address: &str, token: &str) -> String {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(PROMPTLY)).expect("a time");
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("it is read");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

/// Removes files that commands need to reach the orchestrator and to authenticate.
fn remove(sandbox: &Sandbox, what: &[&str]) {
    let (sockets, state) = (sockets(sandbox), sandbox.states().pop().expect("a workspace"));
    for file in what {
        let folder = if *file == "token" { &state } else { &sockets };
        fs::remove_file(folder.join(file)).expect("it is there");
    }
}

const SOCKET: &str = "door/serve.sock";

#[test]
fn stop_works_without_socket_and_token() {
    for gone in [&[SOCKET][..], &["token"], &[SOCKET, "token"]] {
        let sandbox = sandbox();
        sandbox.pitcrew(&["run", &gated(&sandbox), "--yes", "--detach"]).expect(0);
        runs(&sandbox);
        let (health, process) = sandbox.orchestrator().expect("it answers");
        remove(&sandbox, gone);
        let stopped = sandbox.pitcrew(&["stop"]).expect(0);
        stopped.says(&format!("orchestrator {} has stopped", health.pid));
        assert!(process.await_end(Duration::ZERO), "it is gone");
        sandbox.pitcrew(&["stop"]).expect(0).says("no orchestrator is running");
        // The stop was clean, so no agent is left.
        sandbox.pitcrew(&["stop", "all"]).expect(0);
        sandbox.pitcrew(&["stop"]).expect(0);
    }
}

#[test]
fn stop_all_works_without_socket_and_token() {
    for gone in [&[SOCKET][..], &["token"], &[SOCKET, "token"]] {
        let sandbox = sandbox();
        sandbox.pitcrew(&["run", &gated(&sandbox), "--yes", "--detach"]).expect(0);
        runs(&sandbox);
        let (_, process) = sandbox.orchestrator().expect("it answers");
        remove(&sandbox, gone);
        sandbox.pitcrew(&["stop", "all"]).expect(0);
        assert!(process.await_end(Duration::ZERO), "it is gone");
        let board = board(&sandbox);
        assert_ne!(board.plans[0].status, PlanStatus::Active, "{board:?}");
        assert_ne!(task_of(&board, "waits").status, TaskStatus::Running, "{board:?}");
        sandbox.pitcrew(&["stop"]).expect(0);
    }
}

/// Lowers the file limit of the process so that it cannot open another one.
fn allow_no_more_files(process: Process) {
    let folder = PathBuf::from(format!("/proc/{}/fd", process.pid));
    let free = (0..8_192_u64).find(|it| !folder.join(it.to_string()).exists()).expect("a number");
    let pid = Pid::from_raw(process.pid);
    let limit = Rlimit { current: Some(free), maximum: Some(free) };
    prlimit(pid, Resource::Nofile, limit).expect("it runs");
}

#[test]
fn orchestrator_out_of_files_answers_and_stops() {
    let sandbox = sandbox();
    sandbox.pitcrew(&["run", &gated(&sandbox), "--yes", "--detach"]).expect(0);
    runs(&sandbox);
    let (_, process) = sandbox.orchestrator().expect("it answers");
    allow_no_more_files(process);
    assert_prompt(&sandbox, &["status"]);
    assert_prompt(&sandbox, &["inbox"]);
    assert_prompt(&sandbox, &["stop"]);
    assert!(process.await_end(Duration::ZERO), "it is gone");
}

/// If the system allows few files, workers' sockets accept fewer connections.
#[test]
fn orchestrator_with_few_files_works_and_stops() {
    let sandbox = sandbox();
    let few = format!("ulimit -n 128; exec '{BINARY}' serve");
    let serving = sandbox.start_program("sh", &["-c", &few]);
    serving.await_note("serving ");
    sandbox.pitcrew(&["run", &flood(&sandbox), "--yes", "--detach"]).expect(0);
    let report = sandbox.root().join("report");
    eventually("it floods", || fs::read_to_string(&report).ok());
    assert_prompt(&sandbox, &["status"]);
    assert_prompt(&sandbox, &["inbox"]);
    assert_prompt(&sandbox, &["cancel", "task-1"]);
    assert_prompt(&sandbox, &["stop"]);
    assert!(serving.is_over());
}
