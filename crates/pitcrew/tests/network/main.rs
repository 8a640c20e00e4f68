//! Realistic work in a box: builds that fetch packages, git, a port of this machine, and refusals.
//!
//! The registries are the ones that the product finds. Without one, or without a network, a test is
//! skipped.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod plans;

use pitcrew_config::{Settings, user_environment};
use pitcrew_model::Place;
use pitcrew_process::{
    Cancel, EgressLine, Finished, Policy, Run, Tier, ledger_path, roots, run_confined,
};
use pitcrew_runtime::{Caches, Needs, Network};
use pitcrew_testkit::skipped;
use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream, ToSocketAddrs},
    path::{Path, PathBuf},
    time::Duration,
};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_mins(4);

/// A workspace's box: its checkout, a private home, its caches, and the record of its network.
struct BoxedWorkspace {
    dir: TempDir,
    network: Network,
    policy: Policy,
}

impl BoxedWorkspace {
    /// `None` if this machine has no boxes.
    fn new(test: &str, settings: &Settings) -> Option<Self> {
        let dir = TempDir::new().unwrap();
        for folder in ["checkout", "home", "caches"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        let network = Network::find(settings, &dir.path().join("caches"));
        let roots = roots(&user_environment());
        let home = dir.path().join("home");
        let policy = Policy {
            tier: Tier::T3,
            env: vec![("HOME".into(), home.display().to_string())],
            read: roots.read,
            deny: roots.deny,
            home: Some(home),
            launcher: Some(env!("CARGO_BIN_EXE_pitcrew").into()),
            ..Policy::unconfined()
        };
        let policy = policy.writing(dir.path().join("checkout"));
        let policy =
            network.applied(&policy, Needs::default(), Caches::Agents, &dir.path().join("attempt"));
        let workspace = Self { dir, network, policy };
        let tried = workspace.sh("true");
        if tried.success() {
            return Some(workspace);
        }
        skipped(test, &format!("no box can be made here: {}", text(&tried).trim()));
        None
    }

    /// The same, if packages of `tool` can be fetched from here.
    fn with_packages(test: &str, tool: &str) -> Option<Self> {
        let workspace = Self::new(test, &Settings::default())?;
        let places = workspace.network.registries.iter().find(|it| it.tool == tool);
        let Some(place) = places.and_then(|it| it.places.first()) else {
            skipped(test, &format!("{tool} is not there, or has no registry"));
            return None;
        };
        if let Err(reason) = reach(place) {
            skipped(test, &format!("the registry of {tool} is not reached: {reason}"));
            return None;
        }
        Some(workspace)
    }

    fn checkout(&self) -> PathBuf {
        self.dir.path().join("checkout")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.checkout().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn sh(&self, script: &str) -> Finished {
        let run = Run::shell(script, self.checkout()).timeout(PATIENCE);
        run_confined(&self.policy, run, &Cancel::default()).unwrap()
    }

    #[track_caller]
    fn succeeds(&self, script: &str) -> String {
        let finished = self.sh(script);
        assert!(finished.success(), "{script}\n{}\n{:?}", text(&finished), self.decisions());
        text(&finished)
    }

    fn decisions(&self) -> Vec<EgressLine> {
        let record = ledger_path(&self.dir.path().join("attempt"));
        let record = fs::read_to_string(record).unwrap_or_default();
        record.lines().map(|it| serde_json::from_str(it).unwrap()).collect()
    }

    /// Asserts that there were requests and that all were allowed.
    #[track_caller]
    fn all_allowed(&self) {
        let decisions = self.decisions();
        assert!(decisions.iter().any(|it| it.count > 0), "nothing went through the proxy");
        let refused: Vec<_> = decisions.iter().filter(|it| !it.allowed).collect();
        assert!(refused.is_empty(), "{refused:?}");
    }
}

fn text(finished: &Finished) -> String {
    String::from_utf8_lossy(&finished.stdout).into_owned()
}

fn reach(place: &Place) -> std::io::Result<()> {
    let addresses = place.to_string().to_socket_addrs()?;
    let mut last = std::io::ErrorKind::NotFound.into();
    for address in addresses {
        match TcpStream::connect_timeout(&address, Duration::from_secs(10)) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[test]
fn cargo_builds_with_a_dependency() {
    let Some(workspace) = BoxedWorkspace::with_packages("cargo in a box", "cargo") else { return };
    workspace.write(
        "Cargo.toml",
        "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\nitoa = \"1\"\n\n[workspace]\n",
    );
    workspace.write(
        "src/main.rs",
        "fn main() {\n    println!(\"{}\", itoa::Buffer::new().format(42));\n}\n",
    );
    assert!(workspace.succeeds("cargo run 2>&1").contains("42"));
    workspace.all_allowed();
    // The download is cached for the workspace: the next worker needs no network.
    let cache = workspace.dir.path().join("caches/agents/cargo/registry/cache");
    assert!(cache.is_dir(), "{}", cache.display());
    let before = workspace.decisions().len();
    workspace.succeeds("rm -rf target && cargo build --offline 2>&1");
    assert_eq!(workspace.decisions().len(), before);
}

#[test]
fn npm_installs_from_a_lock_file() {
    let Some(workspace) = BoxedWorkspace::with_packages("npm in a box", "npm") else { return };
    workspace.write(
        "package.json",
        r#"{"name":"small","version":"1.0.0","dependencies":{"isarray":"2.0.5"}}"#,
    );
    workspace.write(
        "package-lock.json",
        r#"{"name":"small","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{
            "":{"name":"small","version":"1.0.0","dependencies":{"isarray":"2.0.5"}},
            "node_modules/isarray":{"version":"2.0.5"}}}"#,
    );
    workspace.succeeds("npm ci --no-audit --no-fund 2>&1");
    assert_eq!(workspace.succeeds("node -p 'require(\"isarray\")([])'").trim(), "true");
    workspace.all_allowed();
}

#[test]
fn pip_installs_into_a_virtual_environment() {
    let Some(workspace) = BoxedWorkspace::with_packages("pip in a box", "pip") else { return };
    workspace.succeeds(
        "python3 -m venv .venv 2>&1 && .venv/bin/pip install --disable-pip-version-check six 2>&1",
    );
    assert_eq!(
        workspace.succeeds(".venv/bin/python -c 'import six; print(six.PY3)'").trim(),
        "True"
    );
    workspace.all_allowed();
}

#[test]
fn git_commits_in_the_checkout() {
    let Some(workspace) = BoxedWorkspace::new("git in a box", &Settings::default()) else { return };
    let script = "git init -q . && echo 1 > a && git add a && \
        git -c user.name=me -c user.email=me@example.org commit -qm first && git log --format=%s";
    assert_eq!(workspace.succeeds(script).trim(), "first");
    assert_eq!(workspace.decisions(), Vec::new());
}

/// A minimal web server.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4_096];
            let Ok(1..) = stream.read(&mut request) else { continue };
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").ok();
        }
    });
    port
}

#[test]
fn only_forwarded_ports_are_reachable() {
    let (open, closed) = (server(), server());
    let settings = Settings {
        forward: vec![open],
        egress_allow: vec!["localhost".parse().unwrap(), "169.254.169.254".parse().unwrap()],
        ..Settings::default()
    };
    let Some(workspace) = BoxedWorkspace::new("a port in a box", &settings) else { return };
    if !workspace.sh("command -v curl").success() {
        return skipped("a port in a box", "curl is not there");
    }
    assert_eq!(workspace.succeeds(&format!("curl -sS http://127.0.0.1:{open}/")), "hello");
    assert_eq!(workspace.succeeds(&format!("curl -sS http://localhost:{open}/")), "hello");
    // Nothing is reachable around the proxy. Through it, only listed and non-internal hosts are.
    let status = |url: &str| {
        let script = format!(
            "curl -sS -o /dev/null -w '%{{http_code}}' --noproxy '' {url} 2>&1 | tail -c 3"
        );
        text(&workspace.sh(&script))
    };
    assert!(!workspace.sh(&format!("curl -sS http://127.0.0.1:{closed}/")).success());
    assert_eq!(status(&format!("http://127.0.0.1:{closed}/")), "403");
    assert_eq!(status("http://localhost/"), "403");
    assert_eq!(status("http://169.254.169.254/latest/meta-data/"), "403");
    assert_eq!(status("http://evil.test/"), "403");
    let refused: Vec<(String, String)> = workspace
        .decisions()
        .into_iter()
        .filter(|it| !it.allowed)
        .map(|it| (it.host, it.reason))
        .collect();
    let reason = |host: &str| refused.iter().find(|it| it.0 == host).map(|it| it.1.as_str());
    assert_eq!(reason("evil.test"), Some("it is not on the allow-list"));
    assert!(reason("localhost").unwrap().contains("loopback"), "{refused:?}");
    assert!(reason("169.254.169.254").unwrap().contains("metadata"), "{refused:?}");
}

/// Each client uses the proxy without configuration.
#[test]
fn common_clients_use_the_proxy() {
    let Some(workspace) = BoxedWorkspace::new("clients in a box", &Settings::default()) else {
        return;
    };
    let clients = [
        ("git", "git ls-remote https://git.test/x"),
        ("curl", "curl https://curl.test/"),
        ("cargo", "cargo install --index sparse+https://cargo.test/ x"),
        ("npm", "npm view --registry https://npm.test/ x --fetch-retries 0"),
        ("python3", "python3 -m pip download --retries 0 --index-url https://python3.test/ x"),
    ];
    for (program, script) in clients {
        if !workspace.sh(&format!("command -v {program}")).success() {
            skipped("a client in a box", &format!("{program} is not there"));
            continue;
        }
        let finished = workspace.sh(&format!("{script} 2>&1"));
        let asked = workspace.decisions().iter().any(|it| it.host == format!("{program}.test"));
        assert!(asked && !finished.success(), "{program}: {}", text(&finished));
    }
}

/// The folder exists on every machine, and it is empty in the box.
#[test]
fn user_files_are_not_in_the_box() {
    let Some(workspace) = BoxedWorkspace::new("secrets of a box", &Settings::default()) else {
        return;
    };
    let home = user_environment().get("HOME").cloned().unwrap_or_default();
    for name in [".npmrc", ".cargo/credentials.toml", ".netrc"] {
        let path = Path::new(&home).join(name);
        let seen = workspace.sh(&format!("cat '{}'", path.display()));
        assert!(!seen.success(), "{}", path.display());
    }
}
