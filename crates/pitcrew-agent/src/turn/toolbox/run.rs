//! Runs commands, each after a permission request.

use super::{Arguments, Outcome, shortened};
use crate::{
    session::Session,
    turn::command::{ended, execute, shown},
    wire::{ToolKind, Verdict},
};
use pitcrew_model::{limits, text};
use pitcrew_process::Run;
use serde_json::json;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const TIMEOUT_S_DEFAULT: u64 = 120;
const TIMEOUT_S_MAX: u64 = 60 * 60;

pub(super) async fn command(
    session: &Session,
    arguments: Arguments<'_>,
    cancel: &CancellationToken,
) -> Result<Outcome, String> {
    let command = arguments.text("command")?;
    if command.trim().is_empty() || command.contains('\0') {
        return Err("the argument `command` is empty or contains a NUL character".to_owned());
    }
    let timeout_s = arguments.number("timeout_s")?.unwrap_or(TIMEOUT_S_DEFAULT).min(TIMEOUT_S_MAX);
    let title = format!("run {}", shown(command));
    let input = json!({ "command": command });
    let doing = session.reporter.begin(ToolKind::Execute, &title, None, input);
    let verdict = tokio::select! {
        verdict = session.reporter.permission(&doing) => verdict,
        () = cancel.cancelled() => Ok(Verdict::Cancelled),
    };
    let refused = match verdict {
        Ok(Verdict::Allowed) => None,
        Ok(Verdict::Rejected) => {
            Some("permission was denied; continue without this command".to_owned())
        }
        Ok(Verdict::Cancelled) if cancel.is_cancelled() => {
            session.reporter.failed(&doing, "cancelled");
            return Ok(Outcome::cancelled());
        }
        Ok(Verdict::Cancelled) => Some(
            "the permission request was not answered; continue without this command".to_owned(),
        ),
        Err(error) => Some(format!("failed to request permission: {}", error.message)),
    };
    if let Some(reason) = refused {
        session.reporter.failed(&doing, &reason);
        return Ok(Outcome::failed(&reason));
    }
    let run = Run::shell(command, &session.cwd).timeout(Duration::from_secs(timeout_s));
    let finished = match execute(session, &doing, run, cancel).await {
        Ok(finished) => finished,
        Err(reason) => {
            session.reporter.failed(&doing, &reason);
            return Ok(Outcome::failed(&reason));
        }
    };
    let output = String::from_utf8_lossy(&finished.stdout);
    let output = output.trim_end();
    let tail = text::tail(output, limits::OUTPUT_TAIL_BYTES);
    if finished.success() {
        session.reporter.done(&doing, tail);
        return Ok(Outcome::done(format!("exit code 0\n{}", shortened(output))));
    }
    session.reporter.failed(&doing, tail);
    if finished.cancelled {
        return Ok(Outcome::cancelled());
    }
    let after = if finished.timed_out { format!(" of {timeout_s} s") } else { String::new() };
    let output = shortened(output);
    Ok(Outcome::failed(&format!("the command {}{after}\n{output}", ended(&finished))))
}
