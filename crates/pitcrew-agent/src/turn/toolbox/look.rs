//! Searches lines and lists files. git determines which files are ignored.

use super::{Arguments, Outcome, boundary, shortened};
use crate::{session::Session, turn::command::execute, wire::ToolKind};
use pitcrew_model::{limits, text};
use pitcrew_process::Run;
use serde_json::json;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const TIMEOUT: Duration = Duration::from_mins(1);

pub(super) async fn search(
    session: &Session,
    arguments: Arguments<'_>,
    cancel: &CancellationToken,
) -> Result<Outcome, String> {
    let pattern = arguments.text("pattern")?;
    let path = match arguments.text_if_any("path")?.unwrap_or_default() {
        "" => String::new(),
        path => boundary::inside(&session.cwd, path)?.1.as_str().to_owned(),
    };
    let place = if path.is_empty() { "." } else { &path };
    let where_to = if in_git(session) { "--untracked" } else { "--no-index" };
    let grep = ["grep", "-nIE", "--no-color", where_to, "-e", pattern, "--", place];
    let run = git(session).args(grep);
    let title = format!("search {} in {place}", text::cut(pattern, 100));
    Ok(looked(session, &title, run, cancel).await)
}

pub(super) async fn list(
    session: &Session,
    arguments: Arguments<'_>,
    cancel: &CancellationToken,
) -> Result<Outcome, String> {
    let pattern = match arguments.text_if_any("pattern")?.unwrap_or_default() {
        "" | "." | "/" => "**",
        pattern => pattern,
    };
    if pattern.starts_with('/') || pattern.split('/').any(|it| it == "..") {
        return Err(format!("`{pattern}` leads outside the folder; use a relative pattern"));
    }
    if !in_git(session) {
        return Err("the folder is not a git repository; use `run_command` with `find`".to_owned());
    }
    let which = ["--cached", "--others", "--exclude-standard", "--deduplicate", "--"];
    let pathspec = format!(":(glob){}", pattern.trim_end_matches('/'));
    let run = git(session).arg("ls-files").args(which).arg(pathspec);
    Ok(looked(session, &format!("list {}", text::cut(pattern, 100)), run, cancel).await)
}

fn in_git(session: &Session) -> bool {
    session.cwd.ancestors().any(|it| it.join(".git").exists())
}

fn git(session: &Session) -> Run {
    let run = Run::new("git", &session.cwd).timeout(TIMEOUT);
    // The file system monitor would be a program chosen by the repository.
    run.args(["--no-pager", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"])
}

async fn looked(session: &Session, title: &str, run: Run, cancel: &CancellationToken) -> Outcome {
    let doing = session.reporter.begin(ToolKind::Search, title, None, json!({ "title": title }));
    let finished = match execute(session, &doing, run, cancel).await {
        Ok(finished) if finished.cancelled => {
            session.reporter.failed(&doing, "cancelled");
            return Outcome::cancelled();
        }
        Ok(finished) => finished,
        Err(reason) => {
            session.reporter.failed(&doing, &reason);
            return Outcome::failed(&reason);
        }
    };
    let found = String::from_utf8_lossy(&finished.stdout);
    // `grep` exits with 1 if it finds nothing.
    if finished.success() || (finished.code == Some(1) && finished.stderr.is_empty()) {
        let found = if found.is_empty() { "no matches" } else { &*found };
        session.reporter.done(&doing, text::cut(found, limits::OUTPUT_TAIL_BYTES));
        return Outcome::done(shortened(found));
    }
    let said = String::from_utf8_lossy(&finished.stderr);
    let reason = text::cut(said.trim(), limits::OUTPUT_TAIL_BYTES);
    session.reporter.failed(&doing, reason);
    Outcome::failed(reason)
}
