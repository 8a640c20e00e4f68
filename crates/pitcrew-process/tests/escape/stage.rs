//! A model of a machine in a folder: a user's home with secrets, a vault, a checkout, and services.

use crate::program::shim_program;
use pitcrew_process::{
    Cancel, Egress, Limits, Net, Policy, Run, Streams, Tier, Upstream, ledger_path, roots,
    run_confined, run_trusted,
};
use rustix::fs::{Gid, Uid, chown, llistxattr};
use std::{
    collections::BTreeMap,
    fmt, fs,
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::{MetadataExt, PermissionsExt},
            net::{SocketAddr, UnixDatagram, UnixListener},
            process::CommandExt,
        },
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};
use tempfile::TempDir;

const LONG: Duration = Duration::from_mins(1);

/// A user that is not root and owns nothing else.
const NOBODY: u32 = 65_534;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// Root, if the tests run as root.
    Current,
    Ordinary,
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "root" } else { "nobody" })
    }
}

impl User {
    pub fn is_root(self) -> bool {
        self == Self::Current && rustix::process::geteuid().is_root()
    }
}

/// Whether the environment selects something else.
pub fn is_left_out(what: &str, name: &str) -> bool {
    std::env::var(format!("PITCREW_ESCAPE_{what}")).is_ok_and(|it| it != name)
}

/// The exit code and the output of a program.
pub struct Ended {
    pub code: Option<i32>,
    pub text: String,
}

/// A path, its mode, its time, its attributes and its content.
type Entry = (PathBuf, u32, i64, Vec<u8>, Option<Vec<u8>>);

pub struct Stage {
    root: TempDir,
    pub user: User,
    launcher: PathBuf,
    pub bystander: Child,
    pub tcp: TcpListener,
    /// The port of a server that answers each datagram.
    pub udp: u16,
    pub abstract_name: String,
    _sockets: [UnixListener; 2],
    /// Receives all datagrams.
    _datagrams: UnixDatagram,
}

impl Stage {
    pub fn new(user: User) -> Self {
        let root = TempDir::new().unwrap();
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let launcher = root.path().join("launcher");
        fs::copy(shim_program(), &launcher).unwrap();
        let abstract_name = format!("pitcrew-escape-{}", root.path().display()).replace('/', "-");
        let named = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        fs::create_dir(root.path().join("services")).unwrap();
        let path = root.path().join("services/docker.sock");
        let stage = Self {
            user,
            launcher,
            bystander: bystander(user),
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: answering(),
            abstract_name,
            _datagrams: UnixDatagram::bind(root.path().join("services/log.sock")).unwrap(),
            _sockets: [UnixListener::bind(path).unwrap(), UnixListener::bind_addr(&named).unwrap()],
            root,
        };
        stage.fill();
        stage.reset();
        fs::create_dir(stage.path("tools")).unwrap();
        fs::copy("/usr/bin/id", stage.path("tools/id")).unwrap();
        fs::set_permissions(stage.path("tools/id"), fs::Permissions::from_mode(0o4755)).unwrap();
        give(&stage.path("services"), user);
        stage
    }

    /// Creates the initial files of each attempt.
    fn fill(&self) {
        for (path, text) in [
            ("outside/secret", "the secret\n"),
            ("user/.ssh/id", "the key\n"),
            ("user/.local/state/pitcrew/workspaces/1/token", "our token\n"),
            ("user/.config/pitcrew/config.toml", "key = 'the model key'\n"),
            ("user/.gitconfig", "[user]\n"),
            ("attempt/home/.profile", ""),
            ("checkout/ui/file", "mine\n"),
            ("checkout/core/file", "theirs\n"),
            ("checkout/p/sub/kept", "kept\n"),
        ] {
            let path = self.path("template").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let script = "
            set -e; git init -q --bare vault; cd checkout; git init -q .; git config user.name a
            git config user.email a@b; git add .; git commit -qm start
            git push -q ../vault HEAD:refs/heads/main";
        ours(Run::shell(script, self.path("template")).env("HOME", self.path("template/user")));
        give(&self.path("template"), self.user);
    }

    /// Restores everything that an attempt may have changed.
    pub fn reset(&self) {
        let script = "rm -rf checkout outside user vault attempt && cp -a template/. .";
        ours(Run::shell(script, self.root.path()));
    }

    pub fn path(&self, within: &str) -> PathBuf {
        self.root.path().join(within)
    }

    pub fn shown(&self, within: &str) -> String {
        self.path(within).display().to_string()
    }

    /// Returns the state of all files outside, including everything that an attempt could change.
    pub fn outside(&self) -> Vec<Entry> {
        let mut found = Vec::new();
        let mut folders = ["outside", "user", "vault", "services"].map(|it| self.path(it)).to_vec();
        while let Some(path) = folders.pop() {
            let at = path.symlink_metadata().unwrap();
            let content = at.is_file().then(|| fs::read(&path).unwrap());
            if at.is_dir() {
                folders.extend(fs::read_dir(&path).unwrap().map(|it| it.unwrap().path()));
            }
            let mut attributes = vec![0; 4_096];
            let length = llistxattr(&path, &mut attributes).unwrap_or(0);
            attributes.truncate(length);
            found.push((path, at.mode(), at.mtime_nsec(), attributes, content));
        }
        found.sort();
        found
    }

    fn policy(&self, tier: Tier) -> Policy {
        let home = ("HOME".to_owned(), self.shown("user"));
        let path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".to_owned();
        let roots = roots(&BTreeMap::from([home.clone(), ("PATH".to_owned(), path.clone())]));
        let read = roots.read.into_iter().chain([self.path("vault"), self.path("tools")]);
        let deny = roots.deny.into_iter().chain([self.path("checkout/p/sub")]);
        Policy {
            tier,
            env: vec![home, ("PATH".to_owned(), path)],
            read: read.collect(),
            write: vec![self.path("checkout")],
            deny: deny.collect(),
            home: Some(self.path("attempt/home")),
            net: Net::None,
            limits: Limits {
                memory_bytes: Some(256 << 20),
                processes: Some(40),
                file_bytes: Some(4 << 20),
                open_files: Some(256),
            },
            inner: Some(vec![self.path("checkout/ui/")]),
            launcher: Some(self.launcher.clone()),
            ..Policy::unconfined()
        }
    }

    /// A network with a proxy that allows one host.
    pub fn proxy(&self) -> Net {
        Net::Proxy(Egress {
            allow: vec!["allowed.example".to_owned()],
            private: Vec::new(),
            forward: Vec::new(),
            dir: self.path("attempt"),
            upstream: Upstream::default(),
            at: None,
        })
    }

    /// The decisions that the proxy has recorded.
    pub fn decisions(&self) -> String {
        fs::read_to_string(ledger_path(&self.path("attempt"))).unwrap_or_default()
    }

    /// Runs a script without confinement.
    pub fn free(&self, script: &str) -> Ended {
        self.run(&["sh".into(), "-c".into(), format!("echo trying\n{script}")])
    }

    /// Runs a script like a program for an agent; `net` is its network.
    pub fn held(&self, tier: Tier, net: Net, script: &str) -> Ended {
        let policy = serde_json::to_string(&Policy { net, ..self.policy(tier) }).unwrap();
        let words = [self.launcher.display().to_string(), "run".into(), policy];
        self.run(
            &[&words[..], &[self.shown("checkout"), format!("echo trying\n{script}")]].concat(),
        )
    }

    fn run(&self, words: &[String]) -> Ended {
        let mut run = Run::new("env", self.path("checkout")).timeout(LONG);
        run.streams = Streams::Together;
        run = run.arg(format!("HOME={}", self.shown("user"))).arg("GITHUB_TOKEN=the token");
        if self.user == User::Ordinary {
            run = run.arg("setpriv").arg(format!("--reuid={NOBODY}"));
            run = run.arg(format!("--regid={NOBODY}"));
            run = run.args(["--clear-groups", "--inh-caps=-all", "--"]);
        }
        let finished = run_trusted(run.args(words), &Cancel::default()).unwrap();
        let text = String::from_utf8_lossy(&finished.stdout).into_owned();
        Ended { code: finished.code, text }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.bystander.kill().unwrap();
        self.bystander.wait().unwrap();
    }
}

fn answering() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut buffer = [0; 16];
        while let Ok((_, from)) = socket.recv_from(&mut buffer) {
            socket.send_to(b"heard", from).ok();
        }
    });
    port
}

fn ours(run: Run) {
    let finished = run_confined(&Policy::unconfined(), run, &Cancel::default()).unwrap();
    assert!(finished.success(), "{}", String::from_utf8_lossy(&finished.stdout));
}

fn give(path: &Path, user: User) {
    if user == User::Current {
        return;
    }
    chown(path, Some(Uid::from_raw(NOBODY)), Some(Gid::from_raw(NOBODY))).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_symlink() {
                give(&path, user);
            }
        }
    }
}

/// Starts a program of the same user that has a secret.
#[expect(clippy::disallowed_methods, reason = "it must be outside of what is tested")]
fn bystander(user: User) -> Child {
    let mut command = Command::new("sleep");
    command.arg("3600").env("PASSWORD", "in the environment").current_dir("/");
    command.stdin(Stdio::null());
    if user == User::Ordinary {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.spawn().unwrap()
}
