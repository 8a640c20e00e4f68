//! Stops the orchestrator.

use crate::commands::Done;
use crate::{
    cli::Json, client::Client, exit::Exit, output::Output, report::Report, workspace::Workspace,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, pidfd_open},
};
use std::{
    fs,
    os::{fd::OwnedFd, unix::net::UnixStream},
    time::{Duration, Instant},
};

/// Agents get their time to end; then the process is gone.
const END_TIME_MAX: Duration = Duration::from_mins(1);
const LOOK_EVERY: Duration = Duration::from_millis(20);

pub async fn run(args: Json, output: Output) -> Done {
    let mut running = Client::running(Workspace::here()?).await?;
    if running.is_none() && have_agents(&Workspace::here()?) {
        // They work on for a while without one, and only the next one ends them and saves their work.
        let client = Client::here().await?;
        running = Client::running(client.workspace).await?;
    }
    let Some((client, health)) = running else {
        if args.json {
            output.json(&serde_json::json!({ "stopped": null }))?;
        } else {
            output.line("no orchestrator runs")?;
        }
        return Ok(Exit::Success);
    };
    // Taken while it is known to be the orchestrator's: the number may be another's later.
    let process = i32::try_from(health.pid).ok().and_then(Pid::from_raw);
    let process = process.and_then(|it| pidfd_open(it, PidfdFlags::empty()).ok());
    client.shut_down().await?;
    let deadline = Instant::now() + END_TIME_MAX;
    while process.as_ref().is_some_and(is_running) {
        if Instant::now() >= deadline {
            let message = format!("orchestrator {} was told to stop and goes on", health.pid);
            return Err(Report::new(Exit::Failure, message));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    if args.json {
        output.json(&serde_json::json!({ "stopped": health.pid }))?;
    } else {
        let workers = match health.workers_live_count {
            0 => String::new(),
            1 => "; 1 worker was interrupted".to_owned(),
            count => format!("; {count} workers were interrupted"),
        };
        output.line(&format!("orchestrator {} has stopped{workers}", health.pid))?;
    }
    Ok(Exit::Success)
}

/// Whether agents of an orchestrator that died still listen for the next one.
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
