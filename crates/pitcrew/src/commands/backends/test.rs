//! Starts an agent as for a task, opens a session, and stops it. No model is called.

use crate::{
    backends::{BackendStatus, Login, inspect_backends},
    cli::BackendsTestArgs,
    commands::CommandResult,
    exit::Exit,
    output::Output,
    render,
    report::Report,
    workspace::{settings_here, user_dirs},
};
use pitcrew_config::{ErrorKind, printable};
use pitcrew_model::Failure;
use pitcrew_runtime::{Choice, Handshake, handshake};
use serde_json::{Value, json};
use std::path::Path;

/// The protocol's error code for a missing login.
const AUTH_REQUIRED: i64 = -32_000;
/// Names of models that are shown before the rest is only counted.
const LISTED_MAX: usize = 8;

pub async fn run(args: BackendsTestArgs, output: Output) -> CommandResult {
    let (settings, _) = settings_here()?;
    let backends = inspect_backends(&settings);
    let mut wanted = Vec::new();
    for name in &args.names {
        wanted.push(super::find(&backends, name)?);
    }
    if args.names.is_empty() {
        wanted.extend(backends.iter().filter(|it| it.found().is_some()));
    }
    if wanted.is_empty() {
        let report = Report::new(Exit::AgentNotReady, "no agent is installed");
        return Err(report.help("`pitcrew backends` lists how to install each"));
    }
    let program = std::env::current_exe().map_err(|error| {
        Report::new(Exit::Failure, "failed to find the path of the `pitcrew` program")
            .because(error.to_string())
    })?;
    let mut exit = Exit::Success;
    for it in wanted {
        let result = one(&program, it).await?;
        if args.output.json {
            output.json(&as_json(it, &result))?;
        } else {
            output.print(&render_result(it, &result, output))?;
        }
        if result.trouble.is_some() {
            exit = Exit::AgentNotReady;
        }
    }
    Ok(exit)
}

/// The result of testing one backend.
struct TestResult {
    handshake: Option<Handshake>,
    trouble: Option<BackendProblem>,
}

/// Why an agent cannot work, and how to fix it.
struct BackendProblem {
    /// A machine-readable word.
    kind: &'static str,
    reason: String,
    help: String,
}

async fn one(program: &Path, it: &BackendStatus) -> Result<TestResult, Report> {
    if let Some((reason, help)) = it.missing() {
        let trouble = Some(BackendProblem { kind: "missing", reason, help });
        return Ok(TestResult { handshake: None, trouble });
    }
    let runtime = user_dirs()?.runtime;
    let handshake = handshake(program.to_owned(), &runtime, &it.name, it.backend.clone()).await;
    let handshake = handshake.map_err(|error| Report::from_error(Exit::Failure, &error))?;
    let trouble = match &handshake.failure {
        Some(failure) => Some(trouble(it, &handshake, failure)),
        None => (it.login == Login::NoSign).then(|| not_logged_in(it)),
    };
    Ok(TestResult { handshake: Some(handshake), trouble })
}

/// The agent opens a session without a login, but its first turn would fail.
fn not_logged_in(it: &BackendStatus) -> BackendProblem {
    BackendProblem {
        kind: "login",
        reason: "it answers, but no login was found (one in a keyring cannot be seen)".into(),
        help: it.login_help(),
    }
}

fn trouble(it: &BackendStatus, handshake: &Handshake, failure: &Failure) -> BackendProblem {
    let refused = handshake.heard.refused.as_ref();
    let by_rule = refused.and_then(|said| match said.code {
        Some(AUTH_REQUIRED) => Some(ErrorKind::Auth),
        code => it.backend.error_kind(code, &said.message),
    });
    let said = refused.map_or_else(|| failure.to_string(), |said| said.message.clone());
    let command = it.backend.command.join(" ");
    if matches!(failure, Failure::Auth { .. }) || by_rule == Some(ErrorKind::Auth) {
        let reason = format!("it is not logged in: {said}");
        return BackendProblem { kind: "login", reason, help: it.login_help() };
    }
    if matches!(failure, Failure::Quota { .. }) || by_rule == Some(ErrorKind::Quota) {
        let help = "wait until the provider limit is reset, or use another agent".into();
        return BackendProblem { kind: "quota", reason: said, help };
    }
    let reason = failure.to_string();
    if matches!(failure, Failure::AgentMissing { .. }) {
        let name = &it.name;
        let help = format!("try `{command}` in a shell, and see `pitcrew backends {name}`");
        return BackendProblem { kind: "unfit", reason, help };
    }
    let help = format!(
        "the program must speak ACP on standard input and output; try `{command}` in a shell"
    );
    BackendProblem { kind: "protocol", reason, help }
}

fn as_json(it: &BackendStatus, result: &TestResult) -> Value {
    let choice = |it: &Choice| json!({ "current": it.current, "offered": it.offered });
    let handshake = result.handshake.as_ref();
    let heard = handshake.map(|it| &it.heard);
    json!({
        "name": it.name,
        "ready": result.trouble.is_none(),
        "agent": handshake.and_then(|it| it.agent.clone()),
        "version": heard.and_then(|it| it.version.clone()),
        "initialize_ms": heard.and_then(|it| it.initialize_ms),
        "session_ms": heard.and_then(|it| it.session_ms),
        "modes": heard.map(|it| choice(&it.modes)),
        "models": heard.map(|it| choice(&it.models)),
        "logins": heard.map(|it| it.logins.clone()),
        "trouble": result.trouble.as_ref().map(|it| {
            json!({ "kind": it.kind, "reason": it.reason, "help": it.help })
        }),
    })
}

fn render_result(it: &BackendStatus, result: &TestResult, output: Output) -> String {
    let style = output.out;
    let mut lines = Vec::new();
    match &result.trouble {
        None => lines.push(format!("{} {}: answers", style.green("ok"), it.name)),
        Some(trouble) => {
            lines.push(format!("{} {}: {}", style.red("bad"), it.name, printable(&trouble.reason)));
            lines.push(format!("  {} {}", style.cyan("help:"), printable(&trouble.help)));
        }
    }
    if let Some(handshake) = &result.handshake {
        lines.extend(handshake.agent.as_ref().map(|it| format!("  agent     {it}")));
        let times =
            [("started", handshake.heard.initialize_ms), ("session", handshake.heard.session_ms)];
        let times = times.into_iter().filter_map(|(what, took)| Some((what, took?)));
        lines.extend(times.map(|(what, took)| format!("  {what:<9} {}", render::duration(took))));
        lines.extend(chosen("modes", &handshake.heard.modes));
        lines.extend(chosen("models", &handshake.heard.models));
        if handshake.failure.is_some() && !handshake.heard.logins.is_empty() {
            lines.push(format!("  logins    {}", printable(&handshake.heard.logins.join(", "))));
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

/// The available choices, the current one first.
fn chosen(what: &str, choice: &Choice) -> Option<String> {
    if choice.offered.is_empty() {
        return None;
    }
    let current = choice.current.iter().map(|it| format!("{it} (chosen)"));
    let others = choice.offered.iter().filter(|it| Some(*it) != choice.current.as_ref()).cloned();
    let all: Vec<String> = current.chain(others).collect();
    let more = match all.len().saturating_sub(LISTED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let listed = all[..all.len().min(LISTED_MAX)].join(", ");
    Some(printable(&format!("  {what:<9} {listed}{more}")))
}
