//! Connections without end, files that are gone, and no file left to open: a person's commands get
//! through.

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

/// What a command may take on a machine that runs other tests beside this one.
const PROMPTLY: Duration = Duration::from_secs(10);

/// Opens connections until it is refused: some say nothing, some a byte at a time, some ask again and
/// again. Then goes on with what it has until the test says so.
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
told = {
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

with open(os.path.join(root, "told.new"), "w") as file:
    fill()
    told["held"] = len(held)
    json.dump(told, file)
os.rename(os.path.join(root, "told.new"), os.path.join(root, "told"))
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

/// A plan that works until the gate is there, and is not asked about before.
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
fn promptly(sandbox: &Sandbox, arguments: &[&str]) {
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

/// From its box a worker reaches a socket of its own, on which no more than a few connections are open
/// whatever it does, and never the person's.
#[test]
fn a_worker_that_floods_its_socket_holds_up_nobody() {
    let sandbox = sandbox();
    sandbox.pitcrew(&["run", &flood(&sandbox), "--yes", "--detach"]).expect(0);
    let told = sandbox.root().join("told");
    let told = eventually("it floods", || fs::read_to_string(&told).ok());
    let told: serde_json::Value = serde_json::from_str(&told).expect("json");
    assert_eq!(told["person"], false, "the person's socket is out of reach: {told}");
    assert!(told["board"].to_string().contains("HTTP/1.1 404"), "{told}");
    assert!(told["tools"].to_string().contains("HTTP/1.1 200"), "{told}");
    let (_, orchestrator) = sandbox.orchestrator().expect("it answers");
    let files = files_count(orchestrator);
    assert!(files < 300, "{files} files are open");
    promptly(&sandbox, &["status"]);
    promptly(&sandbox, &["inbox"]);
    promptly(&sandbox, &["cancel", "task-1"]);
    promptly(&sandbox, &["stop"]);
}

/// Also from outside of any box, by the person's own socket and by the tools on the loopback.
#[test]
fn strangers_make_room_for_those_who_say_who_they_are() {
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
    promptly(&sandbox, &["status"]);
    promptly(&sandbox, &["inbox"]);
    let token = fs::read_to_string(sockets(&sandbox).join("mcp.token")).expect("a token");
    let answer = tools_over_http(&address, token.trim());
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    http.interrupt();
    http.wait().expect(130);
    promptly(&sandbox, &["stop"]);
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

/// Removes what commands find and prove themselves to the orchestrator with.
fn remove(sandbox: &Sandbox, what: &[&str]) {
    let (sockets, state) = (sockets(sandbox), sandbox.states().pop().expect("a workspace"));
    for file in what {
        let folder = if *file == "token" { &state } else { &sockets };
        fs::remove_file(folder.join(file)).expect("it is there");
    }
}

const SOCKET: &str = "door/serve.sock";

#[test]
fn stop_needs_neither_the_socket_nor_the_token() {
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
        // It was a clean end: nothing works on alone.
        sandbox.pitcrew(&["stop", "all"]).expect(0);
        sandbox.pitcrew(&["stop"]).expect(0);
    }
}

#[test]
fn stop_all_needs_neither_the_socket_nor_the_token() {
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

/// From here on the process can open no file more than it has.
fn allow_no_more_files(process: Process) {
    let folder = PathBuf::from(format!("/proc/{}/fd", process.pid));
    let free = (0..8_192_u64).find(|it| !folder.join(it.to_string()).exists()).expect("a number");
    let pid = Pid::from_raw(process.pid);
    let limit = Rlimit { current: Some(free), maximum: Some(free) };
    prlimit(pid, Resource::Nofile, limit).expect("it runs");
}

#[test]
fn an_orchestrator_that_can_open_no_more_files_answers_and_stops() {
    let sandbox = sandbox();
    sandbox.pitcrew(&["run", &gated(&sandbox), "--yes", "--detach"]).expect(0);
    runs(&sandbox);
    let (_, process) = sandbox.orchestrator().expect("it answers");
    allow_no_more_files(process);
    promptly(&sandbox, &["status"]);
    promptly(&sandbox, &["inbox"]);
    promptly(&sandbox, &["stop"]);
    assert!(process.await_end(Duration::ZERO), "it is gone");
}

/// Where the system allows few files, the sockets of workers are allowed fewer connections.
#[test]
fn an_orchestrator_with_few_files_works_and_stops() {
    let sandbox = sandbox();
    let few = format!("ulimit -n 128; exec '{BINARY}' serve");
    let serving = sandbox.start_program("sh", &["-c", &few]);
    serving.await_note("serves");
    sandbox.pitcrew(&["run", &flood(&sandbox), "--yes", "--detach"]).expect(0);
    let told = sandbox.root().join("told");
    eventually("it floods", || fs::read_to_string(&told).ok());
    promptly(&sandbox, &["status"]);
    promptly(&sandbox, &["inbox"]);
    promptly(&sandbox, &["cancel", "task-1"]);
    promptly(&sandbox, &["stop"]);
    assert!(serving.is_over());
}
