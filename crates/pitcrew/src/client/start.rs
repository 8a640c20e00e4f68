//! Starts the orchestrator if none answers: only once, even if many commands need it.

use super::{
    call::{CallError, call},
    read, token,
};
use crate::{exit::Exit, output::Output, report::Report, workspace::Workspace};
use hyper::Method;
use pitcrew_api::{Health, Token, paths};
use pitcrew_config::WorkspaceDirs;
use pitcrew_process::{Detached, spawn_detached};
use pitcrew_runtime::settings_environment;
use rustix::fs::FlockOperation;
use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Once,
    time::{Duration, Instant},
};
use tokio::time::sleep;

/// Even a large journal is replayed long before this.
const START_TIME_MAX: Duration = Duration::from_mins(2);
/// How long to wait for an orchestrator that is exiting.
const ENDING_TIME_MAX: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Makes sure that an orchestrator answers, and returns its token.
pub async fn ensure(workspace: &Workspace) -> Result<Token, Report> {
    workspace.make_dirs()?;
    let token = token::read_or_create(&workspace.dirs)?;
    if let Some(health) = health(&workspace.dirs, &token).await? {
        note_ignored(&health);
        return Ok(token);
    }
    let _lock = lock(&workspace.dirs.runtime.join("start.lock")).await?;
    let deadline = Instant::now() + ENDING_TIME_MAX;
    while health(&workspace.dirs, &token).await?.is_none() {
        match start(workspace, &token).await? {
            StartOutcome::Answers => break,
            StartOutcome::Busy(_) if Instant::now() < deadline => sleep(LOOK_EVERY * 10).await,
            StartOutcome::Busy(report) => return Err(report),
        }
    }
    Ok(token)
}

/// Says once which variables have no effect because the orchestrator runs already.
fn note_ignored(health: &Health) {
    static SAID: Once = Once::new();
    let Some(theirs) = &health.environment else { return };
    let ours = settings_environment();
    let ignored = ours.iter().filter(|it| theirs.get(it.0) != Some(it.1));
    let names: Vec<&str> = ignored.map(|it| it.0.as_str()).collect();
    if names.is_empty() {
        return;
    }
    let (names, value) =
        (names.join(", "), if names.len() > 1 { "other values" } else { "another value" });
    SAID.call_once(|| {
        Output::of_process().note(&format!(
            "note: {names} has no effect: the orchestrator was started with {value}; run `pitcrew stop` first"
        ));
    });
}

/// The health of the orchestrator at the socket; `None` if there is none.
pub async fn health(dirs: &WorkspaceDirs, token: &Token) -> Result<Option<Health>, Report> {
    let health: Health =
        match call(&dirs.socket(), token, Method::GET, paths::HEALTH, Vec::new()).await {
            Ok(answer) if answer.status == 503 => return Ok(None),
            Ok(answer) if answer.status == 401 => return Err(other_token()),
            Ok(answer) => read(&answer)?,
            Err(CallError::NotSent(_) | CallError::Broken(_)) => return Ok(None),
        };
    match health.check_version() {
        Ok(()) => Ok(Some(health)),
        Err(mismatch) => Err(Report::from_error(Exit::Unreachable, &mismatch)),
    }
}

fn other_token() -> Report {
    Report::new(Exit::Unreachable, "the orchestrator rejected the workspace's token")
        .because("the token file was removed or replaced while it was running")
        .help("run `pitcrew stop`; the next command starts an orchestrator with the current token")
}

enum StartOutcome {
    Answers,
    /// Another process still holds the journal.
    Busy(Report),
}

async fn start(workspace: &Workspace, token: &Token) -> Result<StartOutcome, Report> {
    let log = workspace.dirs.runtime.join("serve.log");
    let mut child = spawn(workspace, &log).map_err(|error| {
        Report::new(Exit::Unreachable, "failed to start the orchestrator")
            .because(error.to_string())
    })?;
    let deadline = Instant::now() + START_TIME_MAX;
    while Instant::now() < deadline {
        if let Ok(Some(code)) = child.ended() {
            let report = last_words(workspace, &log, code);
            let busy = code == Some(i32::from(Exit::Refused.code()));
            return if busy { Ok(StartOutcome::Busy(report)) } else { Err(report) };
        }
        if health(&workspace.dirs, token).await?.is_some() {
            return Ok(StartOutcome::Answers);
        }
        sleep(LOOK_EVERY).await;
    }
    let message = format!("the orchestrator (process {}) does not answer", child.pid());
    Err(Report::new(Exit::Unreachable, message).help(format!("see `{}`", log.display())))
}

fn spawn(workspace: &Workspace, log: &Path) -> io::Result<Detached> {
    let mut options = OpenOptions::new();
    let log = options.write(true).create(true).truncate(true).mode(0o600).open(log)?;
    let argv = [
        std::env::current_exe()?.into_os_string(),
        "serve".into(),
        "--on-demand".into(),
        "--workspace".into(),
        workspace.root().as_os_str().to_owned(),
    ];
    spawn_detached(&argv, log)
}

/// Turns the output of a failed orchestrator into a report.
fn last_words(workspace: &Workspace, log: &Path, code: Option<i32>) -> Report {
    let root = workspace.root().display();
    let report =
        Report::new(Exit::Unreachable, format!("the orchestrator of `{root}` failed to start"));
    let words = fs::read_to_string(log).unwrap_or_default();
    let words = words.trim().trim_start_matches("error: ");
    if !words.is_empty() {
        return report.because(words);
    }
    report.because(match code {
        Some(code) => format!("it exited with code {code} and printed nothing"),
        None => "it was killed by a signal".to_owned(),
    })
}

/// Locks the start of an orchestrator until the file is closed.
async fn lock(path: &PathBuf) -> Result<File, Report> {
    let failed = |error: io::Error| {
        Report::new(Exit::Unreachable, format!("failed to lock `{}`", path.display()))
            .because(error.to_string())
    };
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).mode(0o600).open(path);
    let file = file.map_err(failed)?;
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) => sleep(LOOK_EVERY).await,
            Err(error) => return Err(failed(error.into())),
        }
    }
}
