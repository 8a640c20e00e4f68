//! A home, a repository and local services for a plan whose programs are the probe.

use pitcrew_testkit::{Running, Sandbox, within};
use std::{
    fmt, fs,
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::PermissionsExt,
            net::{SocketAddr, UnixDatagram, UnixListener},
        },
    },
    path::{Path, PathBuf},
    time::Duration,
};

/// An unprivileged user who owns nothing else.
pub const NOBODY: u32 = 65_534;

/// Files with secrets at their usual places in the home.
const SECRETS: &[&str] =
    &[".ssh/id", ".aws/credentials", ".gnupg/key", ".netrc", ".docker/config.json", "notes/diary"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum User {
    Root,
    Ordinary,
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Root => "root",
            Self::Ordinary => "nobody",
        })
    }
}

impl User {
    pub fn current() -> Self {
        if rustix::process::geteuid().is_root() { Self::Root } else { Self::Ordinary }
    }

    /// Whether this process can run programs as the user. Only root can change to another user.
    pub fn is_possible(self) -> bool {
        self == Self::current() || Self::current() == Self::Root
    }
}

/// Everything outside the boxes.
pub struct Scene {
    // Dropped before the sandbox, which must leave nothing behind.
    bystander: Option<Running>,
    pub sandbox: Sandbox,
    tcp: TcpListener,
    udp: UdpSocket,
    abstract_name: String,
    _sockets: (UnixListener, UnixDatagram, UnixListener, UnixDatagram),
}

impl Scene {
    pub fn new(tier: &str, user: User) -> Self {
        let mut sandbox = Sandbox::new(env!("CARGO_BIN_EXE_pitcrew"));
        sandbox.unset("PITCREW_SANDBOX_WRITE");
        sandbox.set("PITCREW_SANDBOX", tier);
        let tools = sandbox.root().join("bin");
        fs::create_dir(&tools).expect("a folder");
        // The same on every machine, regardless of installed programs.
        sandbox.set("PATH", "/usr/local/bin:/usr/bin:/bin");
        sandbox.prepend_to_path(&tools);
        fs::copy(probe(), tools.join("survey_probe")).expect("a program");
        write_program(&tools.join("git"), &git_in_front(&tools));
        for path in SECRETS {
            let path = sandbox.home().join(path);
            fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
            fs::write(path, "secret").expect("a file");
        }
        sandbox.write(".gitignore", ".env\n/target\n");
        sandbox.write(".env", "PASSWORD=secret\n");
        sandbox.commit("ignores");
        let settings = sandbox.home().join(".config/pitcrew/config.toml");
        fs::create_dir_all(settings.parent().expect("a file has a folder")).expect("a folder");
        let program = tools.join("survey_probe").display().to_string();
        let backends = format!(
            "[backends.survey]\ncommand = [\"{program}\", \"agent\"]\n\n\
             [backends.nesting]\ncommand = [\"{program}\", \"nesting\"]\nown_sandbox = \"its own\"\n"
        );
        fs::write(settings, backends).expect("a file");
        let services = sandbox.root().join("services");
        fs::create_dir(&services).expect("a folder");
        let own = sandbox.root().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let abstract_name = format!("pitcrew-survey-{own}");
        let abstract_address = |kind: &str| {
            SocketAddr::from_abstract_name(format!("{abstract_name}-{kind}")).expect("a name")
        };
        let sockets = (
            UnixListener::bind(services.join("stream.sock")).expect("a socket"),
            UnixDatagram::bind(services.join("dgram.sock")).expect("a socket"),
            UnixListener::bind_addr(&abstract_address("stream")).expect("a socket"),
            UnixDatagram::bind_addr(&abstract_address("dgram")).expect("a socket"),
        );
        let scene = Self {
            bystander: None,
            sandbox,
            tcp: TcpListener::bind("127.0.0.1:0").expect("a port"),
            udp: answering(),
            abstract_name,
            _sockets: sockets,
        };
        scene.opened_for(user)
    }

    /// Returns the scene with everything owned by its user.
    fn opened_for(mut self, user: User) -> Self {
        for name in ["stream.sock", "dgram.sock"] {
            let path = self.sandbox.root().join("services").join(name);
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("a mode");
        }
        if user == User::Ordinary && User::current() == User::Root {
            let program = self.sandbox.root().join("pitcrew");
            self.sandbox.become_user(&program, NOBODY);
            // Too large to copy, so it stays owned by root.
            let built = Path::new(env!("CARGO_BIN_EXE_pitcrew"));
            if fs::hard_link(built, &program).is_err() {
                fs::copy(built, program).expect("a program");
            }
        }
        let probe = self.probe();
        self.bystander = Some(self.sandbox.start_program(&probe, &["wait"]));
        self
    }

    fn probe(&self) -> String {
        self.sandbox.root().join("bin/survey_probe").display().to_string()
    }

    /// Starts the plan whose programs are the probe.
    pub fn start(&self) -> Running {
        let plan = self.sandbox.plan(
            r#"
name = "survey"
max_attempts = 1
setup = ["survey_probe setup"]

[[task]]
id = "command"
region = "core"
command = "survey_probe command"
checks = ["survey_probe check"]

[[task]]
id = "agent"
region = "ui"
agent = "survey"
prompt = "look around"
depends_on = ["command"]

[[task]]
id = "nesting"
region = "docs"
agent = "nesting"
prompt = "look around"
depends_on = ["command"]
"#,
        );
        let words = ["hold", &self.sandbox.binary().display().to_string(), "run", &plan, "--yes"];
        self.sandbox.start_program(&self.probe(), &words)
    }

    /// The orders for the probe: facts that are known only outside the box.
    pub fn orders(&self) -> String {
        let root = self.sandbox.root();
        let services = root.join("services");
        let name = &self.abstract_name;
        let mut lines = vec![
            format!("stream {}", services.join("stream.sock").display()),
            format!("dgram {}", services.join("dgram.sock").display()),
            format!("abstract-stream {name}-stream"),
            format!("abstract-dgram {name}-dgram"),
            format!("tcp {}", self.tcp.local_addr().expect("a port").port()),
            format!("udp {}", self.udp.local_addr().expect("a port").port()),
        ];
        if let Some(bystander) = &self.bystander {
            lines.push(format!("process {} bystander", bystander.pid()));
        }
        if let Some((_, process)) = self.sandbox.orchestrator() {
            lines.push(format!("process {} orchestrator", process.pid));
        }
        lines.extend(paths(root).into_iter().map(|it| format!("path {}", it.display())));
        lines.join("\n") + "\n"
    }

    /// The note folders of probes that wait for an answer.
    pub fn waiting(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.sandbox.root().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let (path, kind) = (entry.path(), entry.file_type());
                if entry.file_name() == "survey-notes" {
                    found.push(path);
                } else if kind.is_ok_and(|it| it.is_dir()) && entry.file_name() != "objects" {
                    folders.push(path);
                }
            }
        }
        found
    }
}

/// Paths that exist outside: all of the scene, and the top level of the machine.
fn paths(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![(root.to_owned(), 12)];
    for (top, depth) in [("/", 1), ("/etc", 1), ("/dev", 1), ("/run", 2), ("/var", 2), ("/sys", 3)]
    {
        folders.push((top.into(), depth));
    }
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if name == "objects" || name == "survey-notes" {
                continue;
            }
            if depth > 1 && entry.file_type().is_ok_and(|it| it.is_dir()) {
                folders.push((path.clone(), depth - 1));
            }
            found.push(path);
        }
    }
    found
}

/// The probe is an example of this crate and is built with its tests.
fn probe() -> PathBuf {
    let tests = std::env::current_exe().expect("the test itself");
    let program = tests.ancestors().nth(2).expect("Cargo's folders").join("examples/survey_probe");
    assert!(program.exists(), "build it first: cargo build --package pitcrew --examples");
    program
}

pub fn write_program(path: &Path, text: &str) {
    fs::write(path, text).expect("a program");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// A wrapper around git that runs the probe first if the product has confined it.
fn git_in_front(tools: &Path) -> String {
    let path = std::env::var_os("PATH").expect("a PATH");
    let git = std::env::split_paths(&path).map(|it| it.join("git")).find(|it| it.is_file());
    let (git, probe) = (git.expect("git is installed"), tools.join("survey_probe"));
    format!(
        "#!/bin/sh\n\
         case \" $* \" in\n\
         *' --git-dir '*' add --all '*) kind=git ;;\n\
         *' read-tree -u --reset '*) kind=git-fill ;;\n\
         *) kind= ;;\n\
         esac\n\
         if [ \"$kind\" ] && [ \"$GIT_OPTIONAL_LOCKS\" = 0 ]; then\n\
         \tgrep -q '^NoNewPrivs:.1' /proc/self/status && {} $kind\n\
         fi\n\
         exec {} \"$@\"\n",
        probe.display(),
        git.display()
    )
}

fn answering() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let own = socket.try_clone().expect("a socket");
    std::thread::spawn(move || {
        let mut buffer = [0; 16];
        while let Ok((_, from)) = own.recv_from(&mut buffer) {
            own.send_to(b"heard", from).ok();
        }
    });
    socket
}

/// Waits until a note exists.
pub fn note(folder: &Path, name: &str) -> Option<String> {
    within(Duration::from_mins(2), || fs::read_to_string(folder.join(name)).ok())
}
