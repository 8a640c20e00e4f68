//! Stops the orchestrator, even if it does not answer.

use crate::commands::CommandResult;
use crate::{
    cli::Json, client::Client, exit::Exit, output::Output, report::Report, workspace::Workspace,
};
use pitcrew_api::Health;
use pitcrew_process::open_process;
use pitcrew_store::holder;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use std::{
    fs, io,
    os::{fd::OwnedFd, unix::net::UnixStream},
    time::{Duration, Instant},
};
use tokio::time::timeout;

/// Agents get time to exit before the orchestrator does.
const END_TIME_MAX: Duration = Duration::from_mins(1);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// An orchestrator that does not answer within this time gets a signal.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(2);

/// An orchestrator that has exited.
struct StoppedOrchestrator {
    pid: u32,
    /// Unknown if the orchestrator did not answer.
    workers_live_count: Option<u64>,
}

pub async fn run(args: Json, output: Output) -> CommandResult {
    let workspace = Workspace::here()?;
    let mut stopped = stop(&workspace).await?;
    if stopped.is_none() && have_agents(&workspace) {
        // The agents of a crashed orchestrator keep working. Only a new orchestrator ends them and
        // saves their work.
        Client::of(workspace.clone()).await?;
        stopped = stop(&workspace).await?;
    }
    let Some(StoppedOrchestrator { pid, workers_live_count }) = stopped else {
        if args.json {
            output.json(&serde_json::json!({ "stopped": null }))?;
        } else {
            output.line("no orchestrator is running")?;
        }
        return Ok(Exit::Success);
    };
    if args.json {
        output.json(&serde_json::json!({ "stopped": pid }))?;
    } else {
        let workers = match workers_live_count {
            None | Some(0) => String::new(),
            Some(1) => "; 1 worker was interrupted".to_owned(),
            Some(count) => format!("; {count} workers were interrupted"),
        };
        output.line(&format!("orchestrator {pid} has stopped{workers}"))?;
    }
    Ok(Exit::Success)
}

/// Connects to the orchestrator. If it cannot be reached, it is stopped first and replaced.
pub async fn reachable(workspace: Workspace) -> Result<Client, Report> {
    if !matches!(answering(&workspace).await, Ok(Some(_))) {
        stop_by_signal(&workspace).await?;
    }
    Client::of(workspace).await
}

/// Stops the running orchestrator with a request, or with SIGTERM if it does not answer.
async fn stop(workspace: &Workspace) -> Result<Option<StoppedOrchestrator>, Report> {
    let answering = answering(workspace).await;
    let Ok(Some((client, health))) = answering else {
        return match (stop_by_signal(workspace).await?, answering) {
            (None, Err(report)) => Err(report),
            (stopped, _) => Ok(stopped),
        };
    };
    // Opened while the process id is known to be the orchestrator's; ids are reused.
    let process = i32::try_from(health.pid).ok().and_then(Pid::from_raw);
    let process = process.and_then(|it| pidfd_open(it, PidfdFlags::empty()).ok());
    client.shut_down().await?;
    if let Some(process) = process {
        until_ended(health.pid, &process).await?;
    }
    let workers_live_count = Some(health.workers_live_count);
    Ok(Some(StoppedOrchestrator { pid: health.pid, workers_live_count }))
}

/// Connects to the orchestrator if it answers in time.
async fn answering(workspace: &Workspace) -> Result<Option<(Client, Health)>, Report> {
    let late = || Report::new(Exit::Unreachable, "the orchestrator does not answer");
    let running = timeout(ANSWER_TIME_MAX, Client::running(workspace.clone())).await;
    running.unwrap_or_else(|_| Err(late()))
}

/// Sends SIGTERM to the process that holds the journal. Works without socket and token.
async fn stop_by_signal(workspace: &Workspace) -> Result<Option<StoppedOrchestrator>, Report> {
    let failed = |error: io::Error| {
        Report::new(Exit::Failure, "failed to send a signal to the orchestrator")
            .because(error.to_string())
    };
    let Some(holder) = holder(&workspace.dirs.state).map_err(failed)? else { return Ok(None) };
    let process = match open_process(holder.pid, holder.start) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(failed)?,
    };
    pidfd_send_signal(&process, Signal::TERM).map_err(|it| failed(it.into()))?;
    until_ended(holder.pid, &process).await?;
    Ok(Some(StoppedOrchestrator { pid: holder.pid, workers_live_count: None }))
}

async fn until_ended(pid: u32, process: &OwnedFd) -> Result<(), Report> {
    let deadline = Instant::now() + END_TIME_MAX;
    while is_running(process) {
        if Instant::now() >= deadline {
            let message = format!("orchestrator {pid} was ordered to stop but is still running");
            return Err(Report::new(Exit::Failure, message));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}

/// Whether agents of a crashed orchestrator are still running.
fn have_agents(workspace: &Workspace) -> bool {
    let sockets = fs::read_dir(&workspace.dirs.runtime).into_iter().flatten().flatten();
    let mut sockets =
        sockets.map(|it| it.path()).filter(|it| it.extension().is_some_and(|it| it == "sock"));
    sockets.any(|it| UnixStream::connect(it).is_ok())
}

fn is_running(process: &OwnedFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&now)) == Ok(0)
}
