//! Commands: a step of a script, or the whole task.

use super::{output::Output, report, step::Stop};
use crate::{
    policy,
    session::Session,
    wire::{StepHandle, StopReason, ToolKind},
};
use pitcrew_model::{Claim, limits, text};
use pitcrew_process::{Cancel, Finished, Run, run_observed};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// A task that is a command: exit code 0 completes it.
pub(super) async fn task(
    session: &Session,
    command: &str,
    cancel: &CancellationToken,
) -> StopReason {
    let (claim, summary) = match run(session, command, cancel).await {
        Ok(output) => (Claim::Success, summary(&format!("ran `{}`", shown(command)), &output)),
        Err(Stop::Failed(reason)) => (Claim::Failed, reason),
        Err(Stop::Cancelled) => return StopReason::Cancelled,
    };
    report::complete(session, claim, &summary).await;
    StopReason::EndTurn
}

/// Runs a command; returns the end of its output if it exits with 0.
pub(super) async fn run(
    session: &Session,
    command: &str,
    cancel: &CancellationToken,
) -> Result<String, Stop> {
    let input = json!({ "command": command });
    let title = format!("run {}", shown(command));
    let doing = session.reporter.begin(ToolKind::Execute, &title, None, input);
    // The kernel's own timeout ends the whole agent; this one only has to be at least as long.
    let timeout = Duration::from_millis(limits::TASK_TIMEOUT_MS_MAX);
    let run = Run::shell(command, &session.cwd).timeout(timeout);
    let finished = match execute(session, &doing, run, cancel).await {
        Ok(finished) => finished,
        Err(reason) => {
            session.reporter.failed(&doing, &reason);
            return Err(Stop::Failed(format!("`{}`: {reason}", shown(command))));
        }
    };
    let output = String::from_utf8_lossy(&finished.stdout);
    let output = text::tail(output.trim_end(), limits::OUTPUT_TAIL_BYTES).to_owned();
    if finished.success() {
        session.reporter.done(&doing, &output);
        return Ok(output);
    }
    if finished.cancelled {
        // The client ended the turn, and its open calls with it: nothing failed.
        session.reporter.so_far(&doing, &output);
        return Err(Stop::Cancelled);
    }
    session.reporter.failed(&doing, &output);
    let failed = format!("`{}` {}", shown(command), ended(&finished));
    Err(Stop::Failed(summary(&failed, &output)))
}

/// Runs a program with the agent's own rights, and streams its output.
pub(super) async fn execute(
    session: &Session,
    doing: &StepHandle,
    run: Run,
    cancel: &CancellationToken,
) -> Result<Finished, String> {
    let policy = policy::own(&session.withheld, &[]);
    let switch = CancelOnDrop(Cancel::default());
    let output = Arc::new(Output::default());
    let (held, written) = (switch.0.clone(), output.clone());
    let mut running = tokio::task::spawn_blocking(move || {
        run_observed(&policy, run, &held, |bytes| written.push(bytes))
    });
    let finished = tokio::select! {
        finished = &mut running => finished,
        never = output.tell(|shown| session.reporter.so_far(doing, shown)) => match never {},
        () = cancel.cancelled() => {
            switch.0.cancel();
            running.await
        }
    };
    match finished {
        Ok(Ok(finished)) => Ok(finished),
        Ok(Err(error)) => Err(format!("{error}: {}", error.kind)),
        Err(error) => Err(error.to_string()),
    }
}

/// A dropped turn leaves no command running.
struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Describes how a program ended.
pub(super) fn ended(finished: &Finished) -> String {
    match (finished.code, finished.signal) {
        _ if finished.timed_out => "timed out".into(),
        (Some(code), _) => format!("failed with exit code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended in an unknown way".into(),
    }
}

fn summary(head: &str, output: &str) -> String {
    if output.is_empty() { head.to_owned() } else { format!("{head}\n\n{output}") }
}

/// The first line of the command, shortened for a title.
pub(super) fn shown(command: &str) -> String {
    let mut lines = command.trim().lines();
    let first = lines.next().unwrap_or_default();
    let cut = text::cut(first, 100);
    let more = cut.len() < first.len() || lines.next().is_some();
    format!("{cut}{}", if more { " …" } else { "" })
}
