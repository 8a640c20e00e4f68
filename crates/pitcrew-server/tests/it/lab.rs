//! A separate workspace with an orchestrator that can be started, stopped and killed.

use crate::http;
use hyper::Method;
use pitcrew_api::{Accepted, Problem, Refused, paths};
use pitcrew_config::{Settings, Sources, parse_plan};
use pitcrew_model::{
    Approval, AttemptId, Command, CreatePlan, Origin, PlanId, PlanStatus, TaskId, WorkerId,
};
use pitcrew_process::{Cancel, Detached, Finished, Run, run_trusted, spawn_detached};
use pitcrew_runtime::Tokens;
use pitcrew_views::{BoardView, TaskView};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde::de::DeserializeOwned;
use std::{
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
    time::Duration,
};
use tempfile::TempDir;
use tokio::time::{Instant, Interval, interval};

/// Longer than any step takes on a busy machine.
pub const LONG: Duration = Duration::from_mins(2);

/// The polling interval of condition waits.
pub fn looks() -> Interval {
    interval(Duration::from_millis(10))
}

pub struct Lab {
    dir: TempDir,
    orchestrator: Option<Detached>,
}

impl Lab {
    /// A repository with a few files, without an orchestrator.
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["home", "run", "repository/core", "repository/.claude"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        let lab = Self { dir, orchestrator: None };
        fs::write(lab.path("token"), "5a".repeat(32)).unwrap();
        fs::write(lab.path("repository/core/lib.txt"), "one\ntwo\n").unwrap();
        fs::write(lab.path("repository/.gitignore"), ".claude\n").unwrap();
        fs::write(lab.path("repository/.claude/settings.json"), "{}\n").unwrap();
        lab.git(&["init", "--quiet", "--initial-branch=main"]);
        lab.git(&["add", "."]);
        lab.git(&["commit", "--quiet", "--message=start"]);
        lab
    }

    /// A workspace with its orchestrator.
    pub async fn started() -> Self {
        let mut lab = Self::new();
        lab.start().await;
        lab
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    /// Runs git in the user's repository, hermetically.
    pub fn git(&self, arguments: &[&str]) -> String {
        let identity = ["user.name=Ada", "user.email=ada@example.org", "core.hooksPath=/dev/null"];
        let run = Run::new("git", self.path("repository"))
            .args(identity.iter().flat_map(|it| ["-c", it]))
            .args(arguments)
            .env("HOME", self.path("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1");
        let finished = run_trusted(run, &Cancel::default()).unwrap();
        assert!(finished.success(), "git {arguments:?}: {finished:?}");
        String::from_utf8(finished.stdout).unwrap()
    }

    pub async fn start(&mut self) {
        self.start_with("no").await;
    }

    /// Starts the orchestrator and waits until it answers. It exits when idle for this long.
    pub async fn start_with(&mut self, idle_ms: &str) {
        assert!(self.orchestrator.is_none(), "one at a time");
        let log = File::options().append(true).create(true).open(self.path("log")).unwrap();
        let argv: Vec<OsString> = vec![
            "env".into(),
            format!("HOME={}", self.path("home").display()).into(),
            "GIT_CONFIG_NOSYSTEM=1".into(),
            cast().into(),
            "serve".into(),
            self.dir.path().into(),
            idle_ms.into(),
        ];
        fs::remove_file(self.path("socket")).ok();
        self.orchestrator = Some(spawn_detached(&argv, log).unwrap());
        let (until, mut look) = (Instant::now() + LONG, looks());
        while self.try_call(Method::GET, paths::HEALTH).await.is_none() {
            assert!(!self.has_ended(), "it exited: {}", self.log());
            assert!(Instant::now() < until, "it does not answer: {}", self.log());
            look.tick().await;
        }
    }

    /// Runs another orchestrator on the same workspace until it exits.
    pub fn second(&self) -> Finished {
        let run = Run::new(cast(), self.dir.path())
            .args(["serve".as_ref(), self.dir.path().as_os_str(), "no".as_ref()])
            .env("HOME", self.path("home"))
            .timeout(LONG);
        run_trusted(run, &Cancel::default()).unwrap()
    }

    async fn try_call(&self, method: Method, path: &str) -> Option<u16> {
        let (socket, person) = (self.socket(), self.person());
        let called = http::call(&socket, method, path, Some(&person), Vec::new()).await;
        called.ok().map(|it| it.0)
    }

    pub fn pid(&self) -> Pid {
        let pid = self.orchestrator.as_ref().expect("it was started").pid();
        Pid::from_raw(i32::try_from(pid).unwrap()).unwrap()
    }

    pub fn has_ended(&mut self) -> bool {
        let orchestrator = self.orchestrator.as_mut().expect("it was started");
        orchestrator.ended().unwrap().is_some()
    }

    /// Sends a signal to the orchestrator.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits until the orchestrator's process is gone; returns how long that took.
    pub async fn wait_for_end(&mut self) -> Duration {
        let (began, mut look) = (Instant::now(), looks());
        while !self.has_ended() {
            assert!(began.elapsed() < LONG, "it does not end: {}", self.log());
            look.tick().await;
        }
        self.orchestrator = None;
        began.elapsed()
    }

    /// Kills the orchestrator as a power failure would.
    pub async fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.wait_for_end().await;
    }

    pub fn socket(&self) -> PathBuf {
        fs::read_to_string(self.path("socket")).unwrap_or_default().into()
    }

    /// The orchestrator's stderr and the newest log file.
    pub fn log(&self) -> String {
        let said = fs::read_to_string(self.path("log")).unwrap_or_default();
        let newest = self.log_files().pop().and_then(|it| fs::read_to_string(it).ok());
        format!("{said}\n{}", newest.unwrap_or_default())
    }

    /// The log files of the workspace, oldest first.
    pub fn log_files(&self) -> Vec<PathBuf> {
        let inside = |it: PathBuf| fs::read_dir(it).into_iter().flatten().flatten();
        let workspaces = inside(self.path("state/pitcrew/workspaces"));
        let mut files: Vec<PathBuf> =
            workspaces.flat_map(|it| inside(it.path().join("logs"))).map(|it| it.path()).collect();
        files.sort();
        files
    }

    fn tokens(&self) -> Tokens {
        Tokens::new(fs::read_to_string(self.path("token")).unwrap())
    }

    pub fn person(&self) -> String {
        format!("Bearer {}", fs::read_to_string(self.path("token")).unwrap())
    }

    pub fn worker(&self, attempt: u64) -> String {
        format!("Bearer {}", self.tokens().worker(AttemptId(attempt)))
    }

    /// The socket of a worker.
    pub fn worker_socket(&self, attempt: u64) -> PathBuf {
        let runtime = self.socket().parent().and_then(Path::parent).expect("a folder").to_owned();
        runtime.join(format!("attempt-{attempt}/sock"))
    }

    /// The token of the user's own agents.
    pub fn client(&self) -> String {
        format!("Bearer {}", self.tokens().client())
    }

    pub async fn call_as(
        &self,
        who: Option<&str>,
        method: Method,
        path: &str,
        body: impl Into<Vec<u8>>,
    ) -> (u16, Vec<u8>) {
        self.call_at(&self.socket(), who, method, path, body).await
    }

    pub async fn call_at(
        &self,
        socket: &Path,
        who: Option<&str>,
        method: Method,
        path: &str,
        body: impl Into<Vec<u8>>,
    ) -> (u16, Vec<u8>) {
        let called = http::call(socket, method.clone(), path, who, body.into()).await;
        called.unwrap_or_else(|error| panic!("{method} {path}: {error}: {}", self.log()))
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> T {
        let (status, body) = self.call_as(Some(&self.person()), Method::GET, path, "").await;
        let text = String::from_utf8_lossy(&body);
        assert_eq!(status, 200, "{path}: {text}");
        serde_json::from_slice(&body).unwrap_or_else(|error| panic!("{path}: {error}: {text}"))
    }

    /// The problem in the answer to a request.
    pub async fn problem(
        &self,
        who: Option<&str>,
        method: Method,
        path: &str,
        body: impl Into<Vec<u8>>,
    ) -> (u16, Problem) {
        let (status, body) = self.call_as(who, method, path, body).await;
        let text = String::from_utf8_lossy(&body).into_owned();
        let problem: Problem = serde_json::from_slice(&body)
            .unwrap_or_else(|error| panic!("{path}: {status}: {error}: {text}"));
        assert_eq!(problem.code.http_status(), status, "{problem:?}");
        (status, problem)
    }

    pub async fn try_command(&self, command: &Command) -> Result<Accepted, Refused> {
        let body = serde_json::to_vec(command).unwrap();
        let person = self.person();
        let (status, body) = self.call_as(Some(&person), Method::POST, paths::COMMANDS, body).await;
        match status {
            200 => Ok(serde_json::from_slice(&body).unwrap()),
            409 => Err(serde_json::from_slice(&body).unwrap()),
            _ => panic!("{status}: {}", String::from_utf8_lossy(&body)),
        }
    }

    pub async fn command(&self, command: &Command) -> Accepted {
        self.try_command(command).await.unwrap_or_else(|refused| panic!("{}", refused.message))
    }

    /// Creates an approved plan from the text of a plan file.
    pub async fn plan(&self, text: &str) -> PlanId {
        let (settings, _) = Settings::load(&Sources::default()).unwrap();
        let parsed = parse_plan("plan.toml", text, &settings.plan_defaults());
        let spec = parsed.unwrap_or_else(|errors| panic!("{errors}")).spec;
        let (origin, clean_base, approval) = (Origin::File, false, Approval::Given);
        let command = Command::CreatePlan(CreatePlan {
            spec,
            origin,
            clean_base,
            approval,
            default_agent: None,
        });
        self.command(&command).await.created.plan.expect("a plan was created")
    }

    pub async fn board(&self) -> BoardView {
        self.get("/v1/board?all=true").await
    }

    /// Waits until the board satisfies a condition.
    pub async fn until(&self, what: &str, holds: impl Fn(&BoardView) -> bool) -> BoardView {
        let (until, mut look) = (Instant::now() + LONG, looks());
        loop {
            let board = self.board().await;
            if holds(&board) {
                return board;
            }
            assert!(Instant::now() < until, "{what} does not come: {board:#?}\n{}", self.log());
            look.tick().await;
        }
    }

    pub async fn until_plan(&self, plan: PlanId, status: PlanStatus) -> BoardView {
        self.until(&format!("{plan} {status}"), |board| {
            let found = board.plans.iter().find(|it| it.id == plan).map(|it| it.status);
            assert!(
                found == Some(status) || !found.is_some_and(PlanStatus::has_ended),
                "{plan} is {found:?}, not {status}: {board:#?}"
            );
            found == Some(status)
        })
        .await
    }

    /// Waits for a file of the lab.
    pub async fn until_file(&self, path: &str) -> String {
        let path = self.path(path);
        let (until, mut look) = (Instant::now() + LONG, looks());
        while fs::metadata(&path).map_or(0, |it| it.len()) == 0 {
            assert!(Instant::now() < until, "{} does not come: {}", path.display(), self.log());
            look.tick().await;
        }
        fs::read_to_string(path).unwrap()
    }

    /// Waits until the process with the id in a file of the lab is gone.
    pub async fn until_gone(&self, pid_file: &str) -> Duration {
        let pid = self.until_file(pid_file).await;
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        let (began, mut look) = (Instant::now(), looks());
        while test_kill_process(pid).is_ok() {
            assert!(began.elapsed() < LONG, "{pid:?} lives on");
            look.tick().await;
        }
        began.elapsed()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let ended = self.orchestrator.as_mut().map(Detached::ended);
            eprintln!("the orchestrator: {ended:?}, its log: {}", self.log());
        }
        if let Some(orchestrator) = &mut self.orchestrator
            && orchestrator.ended().is_ok_and(|it| it.is_none())
        {
            let pid = i32::try_from(orchestrator.pid()).ok().and_then(Pid::from_raw);
            let pid = pid.expect("a process number");
            // A killed orchestrator would leave its agents running.
            kill_process(pid, Signal::TERM).ok();
            let process = pitcrew_testkit::Process::of(orchestrator.pid());
            if process.is_some_and(|it| !it.await_end(LONG)) {
                kill_process(pid, Signal::KILL).ok();
            }
        }
    }
}

pub fn task(board: &BoardView, number: u64) -> &TaskView {
    board.tasks.iter().find(|it| it.id == TaskId(number)).expect("the task is there")
}

pub fn worker_status(board: &BoardView, number: u64) -> Option<pitcrew_model::WorkerStatus> {
    board.workers.iter().find(|it| it.id == WorkerId(number)).map(|it| it.status)
}

/// The program that cargo built beside the tests.
fn cast() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.parent().and_then(Path::parent).expect("target/debug/deps");
    let cast = target.join("examples/server_cast");
    assert!(
        cast.exists(),
        "run `cargo test -p pitcrew-server` without --test: it builds {}",
        cast.display()
    );
    cast
}
