//! The way from a box to the network, with real processes, a real box and real sockets.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use pitcrew_process::{BridgeSpec, EgressLine, EgressSpec, Listen, ledger_path};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};
use tempfile::TempDir;

/// A running egress process.
struct Egress {
    dir: TempDir,
    child: Child,
    first_line: String,
}

impl Egress {
    fn start(change: impl FnOnce(&mut EgressSpec)) -> Self {
        let dir = TempDir::new().unwrap();
        let mut spec = EgressSpec {
            dir: dir.path().join("a".repeat(120)),
            listen: Listen::Socket,
            allow: vec!["*.example".into()],
            private: Vec::new(),
            forward: Vec::new(),
        };
        change(&mut spec);
        fs::create_dir(&spec.dir).unwrap();
        let path = dir.path().join("egress.json");
        fs::write(&path, serde_json::to_vec(&spec).unwrap()).unwrap();
        let mut command = program("egress");
        command.arg(path).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut first_line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first_line).unwrap();
        Self { dir, child, first_line }
    }

    fn folder(&self) -> PathBuf {
        self.dir.path().join("a".repeat(120))
    }

    fn port(&self) -> u16 {
        let ready: serde_json::Value = serde_json::from_str(&self.first_line).unwrap();
        ready["listening"]["port"].as_u64().unwrap().try_into().unwrap()
    }

    /// Lets it end by itself, and returns what it wrote down.
    fn end(mut self) -> Vec<EgressLine> {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
        let text = fs::read_to_string(ledger_path(&self.folder())).unwrap();
        text.lines().map(|it| serde_json::from_str(it).unwrap()).collect()
    }
}

impl Drop for Egress {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Cargo builds the examples of a crate with its tests.
fn shim_program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.ancestors().nth(2).unwrap().join("examples/process_shim")
}

#[expect(clippy::disallowed_methods, reason = "tests start what they test")]
fn program(word: &str) -> Command {
    let mut command = Command::new(shim_program());
    command.arg(word);
    command
}

/// A server on the loopback that answers every connection with what it heard, twice.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut heard = String::new();
            stream.read_to_string(&mut heard).unwrap();
            write!(stream, "{heard}{heard}").unwrap();
        }
    });
    port
}

/// A box that has the whole disk and no network, with a bridge to `egress`.
#[expect(clippy::disallowed_methods, reason = "tests start what they test")]
fn boxed(egress: &Path, forward: &[u16], words: &[&str]) -> Option<String> {
    let spec = BridgeSpec { socket: egress.join("egress.sock"), forward: forward.to_vec() };
    let spec = serde_json::to_string(&spec).unwrap();
    let mut command = Command::new("bwrap");
    command.args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all"]);
    command.args(["--die-with-parent", "--"]).arg(shim_program()).args(["bridged", &spec]);
    let output = match command.args(words).stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) => {
            pitcrew_testkit::skipped("the way out of a box", &format!("bwrap: {error}"));
            return None;
        }
    };
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    if complaint.contains("bwrap: ") {
        pitcrew_testkit::skipped("the way out of a box", complaint.trim());
        return None;
    }
    Some(String::from_utf8_lossy(&output.stdout).into_owned() + &complaint)
}

#[test]
fn a_box_reaches_a_forwarded_port_and_no_other_of_the_loopback() {
    let (open, closed) = (server(), server());
    let egress = Egress::start(|spec| spec.forward = vec![open]);
    let own = shim_program();
    let own = own.to_str().unwrap();
    let say = |port: u16| boxed(&egress.folder(), &[open], &[own, "say", &port.to_string(), "hi"]);
    let Some(answer) = say(open) else { return };
    assert_eq!(answer, "hihi");
    assert!(say(closed).unwrap().starts_with("error: "), "the loopback of the box is its own");
    let lines = egress.end();
    assert_eq!(
        (lines[0].host.as_str(), lines[0].port, lines[0].allowed),
        ("127.0.0.1", open, true)
    );
    assert_eq!(
        lines.iter().map(|it| (it.bytes_up, it.bytes_down)).max(),
        Some((2, 4)),
        "{lines:?}"
    );
}

#[test]
fn what_a_box_asks_for_is_decided_outside() {
    let closed = server();
    let egress = Egress::start(|_| {});
    // The proxy is asked for what it was not told to give, in several spellings.
    let script = format!(
        "for place in evil.test:443 127.0.0.1:{closed} localhost:{closed} 169.254.169.254:80 2130706433:{closed}; do \
            {own} say \"${{HTTPS_PROXY##*:}}\" \"CONNECT $place HTTP/1.1\r\n\r\n\" | head -n 1; done",
        own = shim_program().display()
    );
    let Some(answer) = boxed(&egress.folder(), &[], &["sh", "-c", &script]) else { return };
    let statuses: Vec<&str> = answer.lines().filter_map(|it| it.split(' ').nth(1)).collect();
    assert_eq!(statuses, ["403", "403", "403", "403", "400"], "{answer}");
    let hosts: Vec<String> = egress.end().into_iter().map(|it| it.host).collect();
    assert_eq!(hosts, ["evil.test", "127.0.0.1", "localhost", "169.254.169.254", "(unreadable)"]);
}

#[test]
fn the_bridge_is_no_child_of_the_program_and_ends_with_the_box() {
    let egress = Egress::start(|_| {});
    let marker = format!("bridge-{}", std::process::id());
    // `$PPID` of the bridge is the first process of the box; the program has no child.
    let script = format!("cat /proc/$$/task/$$/children; echo {marker} >/dev/null");
    let Some(children) = boxed(&egress.folder(), &[], &["sh", "-c", &script]) else { return };
    assert!(children.split_whitespace().count() <= 1, "only `cat` itself: {children}");
    let socket = egress.folder().join("egress.sock");
    let bridges = || {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let lines = entries.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
        let socket = socket.to_str().unwrap().as_bytes().to_vec();
        lines.filter(|it| it.windows(socket.len()).any(|part| part == socket)).count()
    };
    pitcrew_testkit::eventually("the bridge is gone", || (bridges() == 0).then_some(()));
}

#[test]
fn the_socket_is_for_nobody_else() {
    let egress = Egress::start(|_| {});
    let socket = egress.folder().join("egress.sock");
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let ledger = ledger_path(&egress.folder());
    assert_eq!(fs::metadata(ledger).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn on_a_port_the_secret_of_the_run_is_asked_for() {
    let open = server();
    let egress = Egress::start(|spec| {
        spec.listen = Listen::Port { token: "abc".into() };
        spec.forward = vec![open];
    });
    let ask = |header: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", egress.port())).unwrap();
        write!(stream, "CONNECT 127.0.0.1:{open} HTTP/1.1\r\n{header}\r\nhi").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(ask("").starts_with("HTTP/1.1 407 "));
    // `pitcrew:abc`
    let answer = ask("Proxy-Authorization: Basic cGl0Y3JldzphYmM=\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("hihi"), "{answer}");
}

#[test]
fn it_ends_with_whoever_holds_its_input_and_not_when_it_is_asked_to() {
    let mut egress = Egress::start(|_| {});
    let pid = rustix::process::Pid::from_child(&egress.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let socket = egress.folder().join("egress.sock");
    // Still there: it answers.
    let mut stream = std::os::unix::net::UnixStream::connect(short(&socket)).unwrap();
    stream.write_all(b"CONNECT evil.test:443 HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    drop(egress.child.stdin.take());
    assert!(egress.child.wait().unwrap().success());
    assert!(!socket.exists());
}

/// The same file by a path that a socket can have.
fn short(socket: &Path) -> PathBuf {
    let short = socket.parent().unwrap().parent().unwrap().join("s");
    std::os::unix::fs::symlink(socket, &short).unwrap();
    short
}
