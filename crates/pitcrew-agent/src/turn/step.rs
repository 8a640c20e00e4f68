//! Runs one step of a script.

use super::{call, command, files, report};
use crate::{
    script::{Action, Memory},
    session::Session,
    wire::{ToolKind, Verdict},
};
use pitcrew_model::Claim;
use serde_json::{Value, json};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What follows a completed step.
pub(super) enum After {
    NextStep,
    /// The turn ends and the next prompt continues.
    NextPrompt,
    /// The report failed: the turn ends, and the next prompt retries.
    NotReported,
    /// The script is complete.
    Over,
}

/// Why a step was not completed.
pub(super) enum Stop {
    Cancelled,
    Failed(String),
}

pub(super) async fn perform(
    session: &Session,
    action: &Action,
    memory: &mut Memory,
    cancel: &CancellationToken,
) -> Result<After, Stop> {
    let next = |()| After::NextStep;
    match action {
        Action::Read { path } => files::read(session, path).map(next).map_err(Stop::Failed),
        Action::Write { path, text } => {
            files::write(session, path, &memory.fill(text)).map(next).map_err(Stop::Failed)
        }
        Action::Append { path, text } => {
            files::append(session, path, &memory.fill(text)).map(next).map_err(Stop::Failed)
        }
        Action::Edit { path, old, new } => {
            files::edit(session, path, old, new).map(next).map_err(Stop::Failed)
        }
        Action::Delete { path } => files::delete(session, path).map(next).map_err(Stop::Failed),
        Action::Run { command } => {
            command::run(session, command, cancel).await.map(|_| After::NextStep)
        }
        Action::Ask { question } => {
            let taken = report::ask(session, &memory.fill(question)).await;
            Ok(if taken { After::NextPrompt } else { After::NotReported })
        }
        Action::Tool { name, arguments, wanted } => {
            call::tool(session, name, arguments, *wanted, memory, cancel).await.map(next)
        }
        Action::Expect { text } => call::expect(memory, text).map(next).map_err(Stop::Failed),
        Action::Keep { name, pointer } => {
            call::keep(memory, name, pointer).map(next).map_err(Stop::Failed)
        }
        Action::Save { path } => call::save(session, memory, path).map(next).map_err(Stop::Failed),
        Action::Permit { title } => permit(session, title, cancel).await,
        Action::Sleep { duration } => sleep(session, *duration, cancel).await,
        Action::Pause => Ok(After::NextPrompt),
        Action::Say { text } => {
            session.reporter.say(&memory.fill(text));
            Ok(After::NextStep)
        }
        Action::Complete { summary } => {
            complete(session, Claim::Success, &memory.fill(summary)).await
        }
        Action::Partial { summary } => {
            complete(session, Claim::Partial, &memory.fill(summary)).await
        }
        Action::Fail { reason } => complete(session, Claim::Failed, &memory.fill(reason)).await,
        Action::Exit { code } => std::process::exit(*code),
    }
}

async fn complete(session: &Session, claim: Claim, summary: &str) -> Result<After, Stop> {
    let taken = report::complete(session, claim, summary).await;
    Ok(if taken { After::Over } else { After::NotReported })
}

async fn permit(session: &Session, title: &str, cancel: &CancellationToken) -> Result<After, Stop> {
    let doing = session.reporter.begin(ToolKind::Execute, title, None, json!({ "command": title }));
    let verdict = tokio::select! {
        verdict = session.reporter.permission(&doing) => verdict,
        () = cancel.cancelled() => Ok(Verdict::Cancelled),
    };
    match verdict {
        Ok(Verdict::Allowed) => {
            session.reporter.done(&doing, "allowed");
            Ok(After::NextStep)
        }
        Ok(Verdict::Rejected) => {
            session.reporter.failed(&doing, "refused");
            Err(Stop::Failed(format!("permission for `{title}` was denied")))
        }
        Ok(Verdict::Cancelled) => {
            session.reporter.failed(&doing, "cancelled");
            Err(Stop::Cancelled)
        }
        Err(error) => {
            session.reporter.failed(&doing, &error.message);
            let reason = &error.message;
            Err(Stop::Failed(format!("failed to request permission for `{title}`: {reason}")))
        }
    }
}

async fn sleep(
    session: &Session,
    duration: Duration,
    cancel: &CancellationToken,
) -> Result<After, Stop> {
    let title = format!("sleep {} ms", duration.as_millis());
    let doing = session.reporter.begin(ToolKind::Other, &title, None, Value::Null);
    tokio::select! {
        () = tokio::time::sleep(duration) => {
            session.reporter.done(&doing, "");
            Ok(After::NextStep)
        }
        () = cancel.cancelled() => {
            session.reporter.failed(&doing, "cancelled");
            Err(Stop::Cancelled)
        }
    }
}
