//! A home, a repository in it, and the binary.

use crate::{Editor, Finished, Process, Running, Terminal, http};
use pitcrew_api::Health;
use pitcrew_config::Dirs;
use rustix::process::Signal;
use std::{
    collections::BTreeMap,
    fs,
    os::unix::{fs::lchown, process::CommandExt},
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// How long a stopped orchestrator and its agents may take to exit.
const END_TIME_MAX: Duration = Duration::from_mins(1);

/// The complete environment of a test.
pub struct Sandbox {
    root: TempDir,
    binary: PathBuf,
    environment: Vec<(String, String)>,
    /// Who runs everything, where that is not the user of the test.
    user: Option<u32>,
}

impl Sandbox {
    /// A home with a repository that has one commit. `binary` is the program under test.
    pub fn new(binary: &str) -> Self {
        let sandbox = Self::without_repository(binary);
        fs::create_dir(sandbox.repo()).expect("a folder");
        sandbox.git(&["init", "--quiet", "--initial-branch=main"]);
        sandbox.git(&["config", "user.name", "Test Person"]);
        sandbox.git(&["config", "user.email", "person@example.org"]);
        sandbox.write("core/one.txt", "one\n");
        sandbox.write("ui/two.txt", "two\n");
        sandbox.commit("first");
        sandbox
    }

    /// A home only; commands run in the folder where the repository would be.
    pub fn without_repository(binary: &str) -> Self {
        let root = tempfile::tempdir().expect("a folder");
        for folder in ["home", "run"] {
            fs::create_dir(root.path().join(folder)).expect("a folder");
        }
        let place = |name: &str| root.path().join(name).display().to_string();
        let environment = vec![
            ("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()),
            ("HOME".to_owned(), place("home")),
            ("XDG_RUNTIME_DIR".to_owned(), place("run")),
            ("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()),
            ("LC_ALL".to_owned(), "C.UTF-8".to_owned()),
            // Agents and the test communicate through files beside the repository.
            ("PITCREW_SANDBOX_WRITE".to_owned(), root.path().display().to_string()),
        ];
        Self { root, binary: binary.into(), environment, user: None }
    }

    /// Sets a variable for everything that is started from here on.
    pub fn set(&mut self, name: &str, value: &str) {
        self.environment.retain(|it| it.0 != name);
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// Removes a variable for everything that is started from here on.
    pub fn unset(&mut self, name: &str) {
        self.environment.retain(|it| it.0 != name);
    }

    /// The variables of everything that is started.
    pub fn environment(&self) -> BTreeMap<String, String> {
        self.environment.iter().cloned().collect()
    }

    /// Appends this folder to the path.
    pub fn add_to_path(&mut self, folder: &Path) {
        let path = self.environment.iter().find(|it| it.0 == "PATH");
        let path = path.map_or("", |it| it.1.as_str());
        self.set("PATH", &format!("{path}:{}", folder.display()));
    }

    /// Prepends this folder to the path.
    pub fn prepend_to_path(&mut self, folder: &Path) {
        let path = self.environment.iter().find(|it| it.0 == "PATH");
        let path = path.map_or("", |it| it.1.as_str());
        self.set("PATH", &format!("{}:{path}", folder.display()));
    }

    /// Gives everything to this user, who is not root, and runs all that follows as it. The tested
    /// binary must be one that this user can execute.
    pub fn become_user(&mut self, binary: &Path, id: u32) {
        give(self.root(), id);
        self.binary = binary.into();
        self.user = Some(id);
    }

    /// The tested binary.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// Keeps the folder for inspection.
    pub fn keep(&mut self) {
        self.root.disable_cleanup(true);
    }

    /// The top folder.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    pub fn repo(&self) -> PathBuf {
        self.root().join("repo")
    }

    /// The state folders of the workspaces of this home.
    pub fn states(&self) -> Vec<PathBuf> {
        // Without a home nothing can have been started.
        let user = rustix::process::getuid().as_raw();
        let workspaces =
            Dirs::from_env(&self.environment(), user).map(|it| it.state.join("workspaces"));
        let entries = workspaces.ok().and_then(|it| fs::read_dir(it).ok()).into_iter().flatten();
        entries.flatten().map(|it| it.path()).collect()
    }

    /// Writes a file of the repository, and creates its folders.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.repo().join(path);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    /// Writes a plan beside the repository; returns its path.
    pub fn plan(&self, text: &str) -> String {
        let path = self.root().join("plan.toml");
        fs::write(&path, text).expect("a file");
        path.display().to_string()
    }

    pub fn read(&self, path: &str) -> String {
        let path = self.repo().join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    /// Runs git in the repository; returns its output.
    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        let output = self.command(Path::new("git"), arguments).output().expect("git can be run");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {}: {complaint}", arguments.join(" "));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Runs the binary until it exits.
    #[track_caller]
    pub fn pitcrew(&self, arguments: &[&str]) -> Finished {
        self.start(arguments).wait()
    }

    /// Starts the binary.
    pub fn start(&self, arguments: &[&str]) -> Running {
        Running::start(self.command(&self.binary, arguments), arguments)
    }

    /// Starts another program, in the repository and with the same environment.
    pub fn start_program(&self, program: &str, arguments: &[&str]) -> Running {
        Running::start(self.command(Path::new(program), arguments), arguments)
    }

    /// Starts the binary at a terminal.
    pub fn at_terminal(&self, arguments: &[&str]) -> Terminal {
        self.at_terminal_of(120, arguments)
    }

    /// Starts the binary at a terminal of this width.
    pub fn at_terminal_of(&self, columns: u16, arguments: &[&str]) -> Terminal {
        Terminal::start(self.command(&self.binary, arguments), columns)
    }

    /// Starts the binary as the agent of an editor.
    pub fn in_editor(&self, arguments: &[&str]) -> Editor {
        Editor::start(self.command(&self.binary, arguments))
    }

    /// The orchestrator that answers now.
    pub fn orchestrator(&self) -> Option<(Health, Process)> {
        self.doors().into_iter().find_map(|it| it.health())
    }

    /// The orchestrator's answer for this path, requested directly.
    pub fn look(&self, path: &str) -> Option<String> {
        self.doors().iter().find_map(|it| http::ask(&it.socket, &it.token, "GET", path))
    }

    /// Sends the orchestrator a command directly.
    #[track_caller]
    pub fn order(&self, command: &serde_json::Value) {
        let (path, body) = (pitcrew_api::paths::COMMANDS, command.to_string());
        let send = |it: &Door| http::send(&it.socket, &it.token, "POST", path, &body);
        let taken = self.doors().iter().find_map(send);
        assert!(taken.is_some(), "the orchestrator rejected {command}");
    }

    /// Kills the orchestrator as a power cut would.
    #[track_caller]
    pub fn kill_orchestrator(&self) {
        let (_, process) = self.orchestrator().expect("an orchestrator runs");
        process.signal(Signal::KILL);
        assert!(process.await_end(END_TIME_MAX), "a killed process ends");
    }

    #[expect(clippy::disallowed_methods, reason = "tests start what they test")]
    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let folder = Some(self.repo()).filter(|it| it.is_dir());
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder.unwrap_or_else(|| self.root().to_owned()));
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(id) = self.user {
            command.uid(id).gid(id);
        }
        command
    }

    /// The sockets of the orchestrators of this home.
    fn doors(&self) -> Vec<Door> {
        let door = |state: &Path| {
            let token = fs::read_to_string(state.join("token")).ok()?;
            let socket = fs::read_link(state.join("sockets")).ok()?.join("door/serve.sock");
            Some(Door { socket, token: token.trim().to_owned() })
        };
        self.states().iter().filter_map(|it| door(it)).collect()
    }

    /// Stops everything; kills and names what does not stop.
    fn close(&self) -> Vec<String> {
        for door in self.doors() {
            let Some((_, process)) = door.health() else { continue };
            http::ask(&door.socket, &door.token, "POST", pitcrew_api::paths::SHUTDOWN);
            if !process.await_end(END_TIME_MAX) {
                break;
            }
        }
        let root = self.root().display().to_string();
        let deadline = Instant::now() + END_TIME_MAX;
        loop {
            let left = Process::naming(&root);
            if left.is_empty() || Instant::now() >= deadline {
                for (process, _) in &left {
                    process.signal(Signal::KILL);
                }
                return left.into_iter().map(|it| it.1).collect();
            }
            left[0].0.await_end(Duration::from_secs(1));
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let left = self.close();
        // A failed test reports enough already.
        assert!(left.is_empty() || thread::panicking(), "processes are left:\n{}", left.join("\n"));
    }
}

/// Gives a folder with all that is in it to another user.
fn give(path: &Path, id: u32) {
    lchown(path, Some(id), Some(id)).expect("the owner is changed");
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).expect("a folder").flatten() {
            give(&entry.path(), id);
        }
    }
}

struct Door {
    socket: PathBuf,
    token: String,
}

impl Door {
    fn health(&self) -> Option<(Health, Process)> {
        let body = http::ask(&self.socket, &self.token, "GET", pitcrew_api::paths::HEALTH)?;
        let health: Health = serde_json::from_str(&body).ok()?;
        let process = Process::of(health.pid)?;
        Some((health, process))
    }
}
