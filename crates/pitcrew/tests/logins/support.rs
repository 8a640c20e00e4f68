//! A user with a login, and agents that use it.

use crate::server::TokenServer;
use pitcrew_testkit::{Sandbox, eventually};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

/// A user of the agent `fake`.
pub struct User {
    pub sandbox: Sandbox,
    pub server: TokenServer,
}

impl User {
    /// Logs in with tokens that expire at this time.
    pub fn logged_in(expires_at_ms: u64) -> Self {
        let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_pitcrew"));
        let server = TokenServer::start();
        let program = sandbox.root().join("agent.py");
        fs::write(&program, include_str!("agent.py")).expect("a file");
        let command = [python(), program.display().to_string(), server.address.clone()];
        let settings = format!(
            r#"
[backends.fake]
command = {command:?}
login_env = ["FAKE_KEY"]
login_files = [".fake/login.json"]
login_expires = ["oauth.expiresAt"]
login_account = ["account"]
login_first = "variable"
state_env = {{ FAKE_HOME = ".fake", XDG_CONFIG_HOME = ".config" }}
state_files = [".fake/settings.json", ".fake/hooks"]
"#
        );
        let user = Self { sandbox, server };
        user.write(".config/pitcrew/config.toml", &settings);
        user.write(".fake/settings.json", "{\"model\": \"the best\"}\n");
        user.write(".fake/hooks/stop.sh", "echo stopped\n");
        user.log_in(expires_at_ms);
        user
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.sandbox.home().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    /// Removes the account from the login.
    pub fn forget_account(&self) {
        let path = self.sandbox.home().join(".config/pitcrew/config.toml");
        let settings = fs::read_to_string(&path).expect("settings");
        fs::write(path, settings.replace("login_account = [\"account\"]", "")).expect("a file");
    }

    pub fn log_in(&self, expires_at_ms: u64) {
        let login = self.server.log_in(expires_at_ms);
        let new = self.folder().join("new");
        fs::write(&new, login).expect("a file");
        fs::set_permissions(&new, fs::Permissions::from_mode(0o640)).expect("a mode");
        fs::rename(new, self.login()).expect("a file");
    }

    pub fn folder(&self) -> PathBuf {
        self.sandbox.home().join(".fake")
    }

    pub fn login(&self) -> PathBuf {
        self.folder().join("login.json")
    }

    /// Waits until the currently valid refresh token is in this file.
    pub fn await_valid(&self, login: &Path) {
        eventually(&format!("{} is valid", login.display()), || {
            let valid = format!("refresh-secret-{}\"", self.server.state().number);
            fs::read_to_string(login).ok()?.contains(&valid).then_some(())
        });
    }

    /// Starts a plan with a task for each of these steps, without waiting for it.
    pub fn start_plan(&self, steps: &[String]) {
        let task = |(index, steps): (usize, &String)| {
            format!(
                "[[task]]\nid = \"t{index}\"\nagent = \"fake\"\nregion = \"r{index}\"\nprompt = '''\n{steps}\n@complete\n'''\n"
            )
        };
        let tasks: String = steps.iter().enumerate().map(task).collect();
        let plan = self.sandbox.plan(&format!("name = \"logins\"\nmax_attempts = 1\n\n{tasks}"));
        self.sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    }

    /// Waits until the plan completes, and asserts that the agents' homes are removed.
    #[track_caller]
    pub fn assert_completes(&self, tasks_count: usize) {
        let words = format!("{tasks_count} of {tasks_count} completed");
        self.sandbox.pitcrew(&["watch", "plan-1"]).expect(0).says(&words);
        assert_eq!(self.server.state().reuses_count, 0, "a token was used twice");
        eventually("the homes are removed", || {
            (self.homes().is_empty() && self.records().is_empty()).then_some(())
        });
    }

    fn workspace(&self) -> PathBuf {
        self.sandbox.states().into_iter().next().expect("a workspace")
    }

    pub fn home(&self, attempt: u32) -> PathBuf {
        self.workspace().join(format!("attempts/attempt-{attempt}/home"))
    }

    fn homes(&self) -> Vec<PathBuf> {
        let attempts = entries(&self.workspace().join("attempts"));
        attempts.into_iter().map(|it| it.join("home")).filter(|it| it.exists()).collect()
    }

    fn records(&self) -> Vec<PathBuf> {
        entries(&self.workspace().join("logins"))
    }

    /// Waits until the orchestrator's log of logins contains the text.
    pub fn await_log(&self, words: &str) {
        let is_said = |it: &PathBuf| fs::read_to_string(it).is_ok_and(|it| it.contains(words));
        eventually(&format!("it is said: {words}"), || {
            entries(&self.workspace().join("logs")).iter().any(is_said).then_some(())
        });
    }

    pub fn gate(&self, name: &str) -> PathBuf {
        self.sandbox.root().join(name)
    }

    pub fn await_reached(&self, gate: &str) {
        let mark = self.gate(&format!("{gate}.reached"));
        eventually(&format!("{gate} is reached"), || mark.exists().then_some(()));
    }

    pub fn open_gate(&self, gate: &str) {
        fs::write(self.gate(gate), "").expect("a file");
    }

    /// Sets the clock of the agents.
    pub fn set_clock(&self, ahead_ms: u64) {
        let new = self.sandbox.root().join("ahead-new");
        fs::write(&new, ahead_ms.to_string()).expect("a file");
        fs::rename(new, self.sandbox.root().join("ahead")).expect("a file");
    }

    /// All of the user's files of the agent, with content and mode.
    pub fn snapshot(&self) -> Vec<(PathBuf, Vec<u8>, u32)> {
        snapshot(&self.folder())
    }
}

pub fn snapshot(folder: &Path) -> Vec<(PathBuf, Vec<u8>, u32)> {
    let mut snapshot = Vec::new();
    for path in entries(folder) {
        let mode = path.metadata().expect("a file").permissions().mode();
        if path.is_dir() {
            snapshot.extend(self::snapshot(&path));
            snapshot.push((path, Vec::new(), mode));
        } else if path.is_file() {
            let bytes = fs::read(&path).expect("a file");
            snapshot.push((path, bytes, mode));
        }
    }
    snapshot.sort();
    snapshot
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path()).collect()
}

/// The interpreter itself: the first one on the path may be a wrapper that needs a home.
#[expect(clippy::disallowed_methods, reason = "tests start what they test")]
fn python() -> String {
    let mut python = Command::new("python3");
    let output = python.args(["-c", "import sys; print(sys.executable)"]).output();
    let output = output.expect("python3 is there");
    String::from_utf8(output.stdout).expect("a path").trim().to_owned()
}
