//! The route from a box to the network, with real processes, a real box and real sockets.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

#[path = "common/program.rs"]
mod program;

use pitcrew_process::{
    Cancel, Egress, EgressLine, EgressSpec, Listen, Net, Policy, Run, ShimEvent, ShimSpec, Tier,
    Upstream, WayOut, lead_out, ledger_path, open_way, prepare, roots, run_confined, start_shim,
};
use pitcrew_testkit::{PATIENCE, eventually, is_offline, offline};
use program::shim_program;
use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::{
        fd::OwnedFd,
        unix::{
            fs::PermissionsExt,
            net::{UnixListener, UnixStream},
        },
    },
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::mpsc,
    time::Duration,
};
use tempfile::TempDir;

/// A running egress process.
struct Process {
    dir: TempDir,
    child: Child,
    /// The process runs until this is closed.
    lifeline: Option<UnixStream>,
    port: Option<u16>,
}

impl Process {
    fn start(change: impl FnOnce(&mut EgressSpec)) -> Self {
        let dir = TempDir::new().unwrap();
        let mut spec = EgressSpec {
            dir: dir.path().join("a".repeat(120)),
            listen: Listen::Socket("egress.sock".into()),
            allow: vec!["*.example".into()],
            private: Vec::new(),
            forward: Vec::new(),
            upstream: Upstream::default(),
        };
        change(&mut spec);
        fs::create_dir(&spec.dir).unwrap();
        let path = dir.path().join("egress.json");
        fs::write(&path, serde_json::to_vec(&spec).unwrap()).unwrap();
        let (listener, port): (OwnedFd, _) = match &spec.listen {
            Listen::Socket(name) => {
                let socket = short(&spec.dir.join(name));
                (UnixListener::bind(socket).unwrap().into(), None)
            }
            Listen::Port { .. } => {
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                let port = listener.local_addr().unwrap().port();
                (listener.into(), Some(port))
            }
        };
        let (lifeline, theirs) = UnixStream::pair().unwrap();
        let mut command = program("egress");
        command.arg(path).stdin(listener).stdout(OwnedFd::from(theirs));
        let child = command.spawn().unwrap();
        Self { dir, child, lifeline: Some(lifeline), port }
    }

    /// Passes a port to the process, as a box does. Returns a function that sends text to the port
    /// and returns the response.
    fn handed(&self) -> impl Fn(&str) -> String + use<> {
        let way = WayOut { socket: self.folder().join("egress.sock"), forward: Vec::new() };
        let port = lead_out(&way).unwrap();
        move |head: &str| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            write!(stream, "{head}\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        }
    }

    fn folder(&self) -> PathBuf {
        self.dir.path().join("a".repeat(120))
    }

    fn port(&self) -> u16 {
        self.port.unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[expect(clippy::disallowed_methods, reason = "tests start what they test")]
fn program(word: &str) -> Command {
    let mut command = Command::new(shim_program());
    command.arg(word);
    command
}

/// The proxy can use any port, except for those that must have the same number in the box.
#[test]
fn the_proxy_leaves_the_forwarded_ports_alone() {
    offline("the_proxy_leaves_the_forwarded_ports_alone", || {
        // The ports of this machine may be in use. `offline` has reported that this test proves
        // nothing then.
        if !is_offline() {
            return;
        }
        let (first, last) = (40_000, 40_001);
        let range = format!("{first} {last}");
        fs::write("/proc/sys/net/ipv4/ip_local_port_range", range).unwrap();
        for (forwarded, left) in [(first, last), (last, first)] {
            let process = Process::start(|spec| spec.forward = vec![forwarded]);
            let socket = process.folder().join("egress.sock");
            let port = lead_out(&WayOut { socket, forward: vec![forwarded] }).unwrap();
            assert_eq!(port, left, "beside {forwarded}");
        }
    });
}

/// Starts a server on the loopback that answers every connection by sending back what it received,
/// twice.
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

/// A folder for an attempt, and a policy whose network is a proxy.
struct Box {
    dir: TempDir,
    policy: Policy,
}

impl Box {
    fn new(tier: Tier, forward: &[u16]) -> Self {
        let dir = TempDir::new().unwrap();
        fs::create_dir(dir.path().join("checkout")).unwrap();
        let roots = roots(&std::env::vars().collect());
        let egress = Egress {
            allow: vec!["*.example".into()],
            private: Vec::new(),
            forward: forward.to_vec(),
            dir: dir.path().join("attempt"),
            upstream: Upstream::default(),
            at: None,
        };
        let policy = Policy {
            tier,
            read: roots.read,
            deny: roots.deny,
            net: Net::Proxy(egress),
            launcher: Some(shim_program()),
            ..Policy::unconfined()
        };
        Self { policy: policy.writing(dir.path().join("checkout")), dir }
    }

    /// Returns the output of a script in the box, or nothing if this machine cannot create such
    /// boxes.
    fn sh(&self, script: &str) -> Option<String> {
        let run = Run::shell(script, self.dir.path().join("checkout"));
        let finished = run_confined(&self.policy, run, &Cancel::default()).unwrap();
        let said = String::from_utf8_lossy(&finished.stdout).into_owned();
        if said.contains("bwrap: ") || said.contains("pitcrew confine: cannot apply Landlock") {
            pitcrew_testkit::skipped("the way out of a box", said.trim());
            return None;
        }
        Some(said)
    }

    fn say(&self, port: u16, text: &str) -> Option<String> {
        self.sh(&format!("{} say {port} {text}", shim_program().display()))
    }

    fn lines(&self) -> Vec<EgressLine> {
        let text = fs::read_to_string(ledger_path(&self.dir.path().join("attempt"))).unwrap();
        text.lines().map(|it| serde_json::from_str(it).unwrap()).collect()
    }

    /// Counts the processes with the attempt's folder in their command line.
    fn processes(&self) -> usize {
        let dir = self.dir.path().to_str().unwrap().as_bytes();
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let lines = entries.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
        lines.filter(|it| it.windows(dir.len()).any(|part| part == dir)).count()
    }
}

#[test]
fn box_reaches_only_the_forwarded_port_of_the_loopback() {
    let (open, closed) = (server(), server());
    let inside = Box::new(Tier::T3, &[open]);
    let Some(answer) = inside.say(open, "hi") else { return };
    assert_eq!(answer, "hihi");
    let refused = inside.say(closed, "hi").unwrap();
    assert!(refused.starts_with("error: "), "the loopback of the box is its own: {refused}");
    let lines = inside.lines();
    assert_eq!(
        (lines[0].host.as_str(), lines[0].port, lines[0].allowed),
        ("127.0.0.1", open, true)
    );
    let bytes = lines.iter().map(|it| (it.bytes_up, it.bytes_down)).max();
    assert_eq!(bytes, Some((2, 4)), "{lines:?}");
    assert_eq!(inside.processes(), 0, "the way out ends with the program");
}

#[test]
fn requests_from_a_box_are_decided_outside() {
    let closed = server();
    let inside = Box::new(Tier::T3, &[]);
    // Requests hosts that are not allowed, in several notations.
    let script = format!(
        "for place in evil.test:443 127.0.0.1:{closed} localhost:{closed} 169.254.169.254:80 2130706433:{closed}; do \
            {own} say \"${{HTTPS_PROXY##*:}}\" \"CONNECT $place HTTP/1.1\r\n\r\n\" | head -n 1; done",
        own = shim_program().display()
    );
    let Some(answer) = inside.sh(&script) else { return };
    let statuses: Vec<&str> = answer.lines().filter_map(|it| it.split(' ').nth(1)).collect();
    assert_eq!(statuses, ["403", "403", "403", "403", "400"], "{answer}");
    let hosts: Vec<String> = inside.lines().into_iter().map(|it| it.host).collect();
    assert_eq!(hosts, ["evil.test", "127.0.0.1", "localhost", "169.254.169.254", "(unreadable)"]);
}

/// None of our processes runs in the box, because a program may wait for all its children.
#[test]
fn egress_needs_no_process_in_the_box() {
    let inside = Box::new(Tier::T3, &[]);
    let Some(running) = inside.sh("echo /proc/[0-9]*") else { return };
    assert_eq!(
        running.split_whitespace().count(),
        2,
        "what holds the box, and the shell: {running}"
    );
}

/// Without a network namespace, the proxy is a port, and Landlock refuses all others.
#[test]
fn without_a_box_only_the_proxy_port_is_open_and_needs_the_secret() {
    let (open, closed) = (server(), server());
    let held = Box::new(Tier::T2, &[open]);
    let Some(answer) = held.say(open, "hi") else { return };
    assert_eq!(answer, "hihi");
    assert!(held.say(closed, "hi").unwrap().starts_with("error: "));
    let script = format!(
        "port=${{HTTPS_PROXY##*:}}; test \"$NO_PROXY\" = localhost,127.0.0.1,::1 || echo no NO_PROXY; \
            {own} say \"$port\" \"CONNECT evil.test:443 HTTP/1.1\r\n\r\n\" | head -n 1",
        own = shim_program().display()
    );
    let answer = held.sh(&script).unwrap();
    assert!(answer.starts_with("HTTP/1.1 407 "), "{answer}");
    assert_eq!(held.processes(), 0);
}

/// As for the checks of a verification: the first box is created while the tree is still being
/// written.
#[test]
fn successive_programs_share_an_egress_process_and_start_when_released() {
    for tier in [Tier::T3, Tier::T2] {
        let open = server();
        let inside = Box::new(tier, &[open]);
        if inside.sh("true").is_none() {
            continue;
        }
        let way = open_way(&inside.policy).unwrap();
        let alone = 1;
        eventually("the egress process", || (inside.processes() == alone).then_some(()));
        let checkout = inside.dir.path().join("checkout");
        let script = format!("test -e made && {} say {open} hi", shim_program().display());
        let first = prepare(&way.policy, Run::shell(&*script, &checkout)).unwrap();
        if tier == Tier::T3 {
            // bubblewrap, the first process of the box, and the launcher.
            eventually("its box", || (inside.processes() >= alone + 3).then_some(()));
        }
        fs::write(checkout.join("made"), "").unwrap();
        for prepared in [Ok(first), prepare(&way.policy, Run::shell(&*script, &checkout))] {
            let finished = prepared.unwrap().go(PATIENCE, &Cancel::default()).unwrap();
            let said = String::from_utf8_lossy(&finished.stdout).into_owned();
            assert_eq!((finished.code, said.as_str()), (Some(0), "hihi"), "{tier}");
        }
        assert_eq!(inside.processes(), alone, "the way stays");
        drop(way);
        assert_eq!(inside.processes(), 0);
        // Without a box, the port is the machine's own, so the proxy is not used.
        let recorded = if tier == Tier::T3 { 2 } else { 0 };
        let count: u32 = inside.lines().iter().map(|it| it.count).sum();
        assert_eq!(count, recorded, "{tier}: both are recorded");
    }
}

#[test]
fn program_that_is_not_released_never_runs() {
    let inside = Box::new(Tier::T3, &[]);
    if inside.sh("true").is_none() {
        return;
    }
    let checkout = inside.dir.path().join("checkout");
    let touch = || prepare(&inside.policy, Run::shell("touch ran", &checkout)).unwrap();
    drop(touch());
    let cancel = Cancel::default();
    let prepared = touch();
    cancel.cancel();
    assert!(prepared.go(PATIENCE, &cancel).unwrap().cancelled);
    assert_eq!(inside.processes(), 0);
    assert!(!checkout.join("ran").exists());
    let finished = touch().go(PATIENCE, &Cancel::default()).unwrap();
    assert!(finished.success() && checkout.join("ran").exists());
}

#[test]
fn proxy_policy_without_our_executable_fails_with_the_reason() {
    let mut inside = Box::new(Tier::T3, &[]);
    inside.policy.launcher = None;
    let run = Run::shell("true", inside.dir.path());
    let error = run_confined(&inside.policy, run, &Cancel::default()).unwrap_err();
    assert!(error.kind.to_string().contains("our own executable"), "{}", error.kind);
}

/// The shim starts the egress process, so it outlives the orchestrator and ends with the agent.
#[tokio::test]
async fn egress_of_an_agent_ends_with_the_agent() {
    let open = server();
    let inside = Box::new(Tier::T3, &[open]);
    let say = format!("{} say {open} hi; echo; cat", shim_program().display());
    let spec = ShimSpec {
        dir: inside.dir.path().join("attempt"),
        socket: inside.dir.path().join("s"),
        argv: ["sh", "-c", &say].map(str::to_owned).into(),
        cwd: inside.dir.path().join("checkout"),
        env: vec![("PATH".into(), std::env::var("PATH").unwrap())],
        lease_ms: 0,
        policy: inside.policy.clone(),
    };
    let (handle, mut events) = start_shim(&shim_program(), &spec).await.unwrap();
    match events.next().await {
        Some(ShimEvent::Frame { line, .. }) => assert_eq!(line, "hihi"),
        Some(ShimEvent::Exited(exit)) if exit.stderr.contains("bwrap: ") => {
            return pitcrew_testkit::skipped("the way out of an agent", exit.stderr.trim());
        }
        other => panic!("{other:?}"),
    }
    handle.stop(Duration::from_millis(100)).await.unwrap();
    while let Some(event) = events.next().await {
        drop(event);
    }
    eventually("all is gone", || (inside.processes() == 0).then_some(()));
    assert_eq!(inside.lines()[0].port, open);
}

/// Only the box and we can open the socket, and a program gains nothing by passing its own ports.
#[test]
fn program_cannot_open_its_own_egress() {
    let closed = server();
    let inside = Box::new(Tier::T3, &[]);
    let attempt = inside.dir.path().join("attempt");
    let (own, dir) = (shim_program().display().to_string(), attempt.display().to_string());
    let script = format!("stat -c %a {dir}/*.sock; {own} lead {dir} {closed}");
    let Some(said) = inside.sh(&script) else { return };
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "600");
    assert!(lines[1].starts_with("error: ") || lines[1] == "nothing", "{said}");
    assert!(!inside.lines().iter().any(|it| it.allowed), "{:?}", inside.lines());
    let ledger = fs::metadata(ledger_path(&attempt)).unwrap();
    assert_eq!(ledger.permissions().mode() & 0o777, 0o600);
}

#[test]
fn shared_port_requires_the_secret_of_the_run() {
    let open = server();
    let egress = Process::start(|spec| {
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

/// Starts a company's proxy: it answers every request itself and records it.
fn company_proxy() -> (u16, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, requests) = mpsc::channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap();
            let answer: &[u8] = match head.split(' ').next() {
                // The server behind the proxy sends first.
                Some("CONNECT") => b"HTTP/1.1 200 OK\r\nVia: me\r\n\r\nwelcome",
                Some(_) | None => b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain",
            };
            stream.write_all(answer).unwrap();
            tell.send(head).ok();
        }
    });
    (port, requests)
}

/// Allowed requests are passed to this machine's proxy by name, because only it can resolve public
/// names.
#[test]
fn proxy_of_the_machine_is_used_for_allowed_requests_only() {
    let (proxy, asked) = company_proxy();
    let url = format!("http://me:s%3Acret@127.0.0.1:{proxy}");
    let environment = [("HTTPS_PROXY", &url), ("HTTP_PROXY", &url)];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.clone()));
    let egress = Process::start(|spec| {
        spec.upstream = Upstream::of_environment(&environment.into_iter().collect());
    });
    let ask = egress.handed();
    let tunnel = ask("CONNECT unresolvable.example:443 HTTP/1.1");
    assert!(tunnel.starts_with("HTTP/1.1 200 ") && tunnel.ends_with("\r\n\r\nwelcome"), "{tunnel}");
    let head = asked.recv().unwrap();
    assert!(head.starts_with("CONNECT unresolvable.example:443 HTTP/1.1\r\n"), "{head}");
    // `me:s:cret`
    assert!(head.contains("Proxy-Authorization: Basic bWU6czpjcmV0\r\n"), "{head}");
    let plain = ask("GET http://unresolvable.example/a?b HTTP/1.1");
    assert!(plain.ends_with("plain"), "{plain}");
    let head = asked.recv().unwrap();
    assert!(head.starts_with("GET http://unresolvable.example:80/a?b HTTP/1.1\r\n"), "{head}");
    assert!(ask("CONNECT evil.test:443 HTTP/1.1").starts_with("HTTP/1.1 403 "));
    assert!(asked.try_recv().is_err(), "what is refused is not asked of it");
}

#[test]
fn egress_ends_with_its_parent_and_not_on_sigterm() {
    let mut egress = Process::start(|_| {});
    let ask = egress.handed();
    let pid = rustix::process::Pid::from_child(&egress.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let socket = egress.folder().join("egress.sock");
    // The process is still running, because it answers.
    let answer = ask("CONNECT evil.test:443 HTTP/1.1");
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    drop(egress.lifeline.take());
    assert!(egress.child.wait().unwrap().success());
    assert!(!socket.exists());
}

/// Returns a path to the same socket that is short enough to connect to.
fn short(socket: &Path) -> PathBuf {
    let short = socket.parent().unwrap().parent().unwrap().join("s");
    std::os::unix::fs::symlink(socket.parent().unwrap(), &short).unwrap();
    short.join(socket.file_name().unwrap())
}
