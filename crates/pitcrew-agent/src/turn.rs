//! One turn: executes the order or runs the model, and reports to the client.

mod command;
mod files;
mod output;
mod report;
mod step;
mod call;
mod toolbox;
mod talk;

pub(crate) use talk::{Ended, talk};

use crate::{
    session::{Progress, Session},
    wire::StopReason,
};
use pitcrew_model::{BuiltinOrder, Claim};
use step::{After, Stop};
use tokio_util::sync::CancellationToken;

const NO_MODEL: &str = "This agent has no model, so it cannot work from a prompt. Set one with \
    PITCREW_MODEL=provider/name or `[model]` in the settings, give the task a `script` or a \
    `command`, or choose another agent for it with `agent = \"...\"`.";
const NO_REPORT: &str =
    "The script ended but reported nothing: it has no `complete`, `partial` or `fail`.";

/// Runs a turn until it ends or is cancelled. The remaining work stays in `progress`.
pub(crate) async fn run(
    session: &Session,
    progress: &mut Progress,
    order: Option<BuiltinOrder>,
    script_file: Option<&str>,
    cancel: &CancellationToken,
) -> StopReason {
    let begun = match order {
        Some(BuiltinOrder::Command { command }) => {
            progress.finish();
            return run_command(session, progress, command, cancel).await;
        }
        Some(BuiltinOrder::Script { script }) => progress.begin(&script),
        None if let Some(command) = progress.command.take() => {
            return run_command(session, progress, command, cancel).await;
        }
        None => match script_file {
            Some(source) if !progress.took_file => {
                progress.took_file = true;
                progress.begin(source)
            }
            Some(_) | None => Ok(()),
        },
    };
    if let Err(mistake) = begun {
        report::fail(session, &format!("invalid script: {mistake}")).await;
        return StopReason::EndTurn;
    }
    if !progress.is_under_way() {
        session.reporter.say(NO_MODEL);
        return StopReason::EndTurn;
    }
    go_on(session, progress, cancel).await
}

async fn run_command(
    session: &Session,
    progress: &mut Progress,
    command: String,
    cancel: &CancellationToken,
) -> StopReason {
    let stop = command::task(session, &command, cancel).await;
    progress.command = matches!(stop, StopReason::Cancelled).then_some(command);
    stop
}

async fn go_on(
    session: &Session,
    progress: &mut Progress,
    cancel: &CancellationToken,
) -> StopReason {
    while let Some((step, memory)) = progress.step() {
        if cancel.is_cancelled() {
            return StopReason::Cancelled;
        }
        let line = step.line;
        match step::perform(session, &step.action, memory, cancel).await {
            Ok(After::NextStep) => progress.advance(),
            Ok(After::NextPrompt) => {
                progress.advance();
                return StopReason::EndTurn;
            }
            Ok(After::NotReported) => return StopReason::EndTurn,
            Ok(After::Over) => {
                progress.finish();
                return StopReason::EndTurn;
            }
            Err(Stop::Cancelled) => return StopReason::Cancelled,
            Err(Stop::Failed(reason)) => {
                let reason = format!("line {line}: {reason}");
                progress.finish();
                report::fail(session, &reason).await;
                return StopReason::EndTurn;
            }
        }
    }
    progress.finish();
    session.reporter.say(NO_REPORT);
    StopReason::EndTurn
}

/// The name of the outcome in the completion tool.
fn outcome(claim: Claim) -> &'static str {
    match claim {
        Claim::Success => "success",
        Claim::Partial => "partial",
        Claim::Failed => "failed",
    }
}
