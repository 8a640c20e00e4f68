//! Starts an agent as for a task, opens a session, and stops it. No model is called.

use crate::{
    backends::{Login, Looked, look},
    cli::BackendsTestArgs,
    commands::Done,
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

pub async fn run(args: BackendsTestArgs, output: Output) -> Done {
    let (settings, _) = settings_here()?;
    let looked = look(&settings);
    let mut wanted = Vec::new();
    for name in &args.names {
        wanted.push(super::find(&looked, name)?);
    }
    if args.names.is_empty() {
        wanted.extend(looked.iter().filter(|it| it.found().is_some()));
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
        let tried = one(&program, it).await?;
        if args.output.json {
            output.json(&as_json(it, &tried))?;
        } else {
            output.print(&tell(it, &tried, output))?;
        }
        if tried.trouble.is_some() {
            exit = Exit::AgentNotReady;
        }
    }
    Ok(exit)
}

/// The result of testing one backend.
struct Tried {
    met: Option<Handshake>,
    trouble: Option<Trouble>,
}

/// Why an agent cannot work, and how to fix it.
struct Trouble {
    /// One word for scripts.
    kind: &'static str,
    reason: String,
    help: String,
}

async fn one(program: &Path, it: &Looked) -> Result<Tried, Report> {
    if let Some((reason, help)) = it.missing() {
        let trouble = Some(Trouble { kind: "missing", reason, help });
        return Ok(Tried { met: None, trouble });
    }
    let runtime = user_dirs()?.runtime;
    let met = handshake(program.to_owned(), &runtime, &it.name, it.backend.clone()).await;
    let met = met.map_err(|error| Report::from_error(Exit::Failure, &error))?;
    let trouble = met.failure.as_ref().map(|failure| trouble(it, &met, failure));
    Ok(Tried { met: Some(met), trouble })
}

fn trouble(it: &Looked, met: &Handshake, failure: &Failure) -> Trouble {
    let refused = met.heard.refused.as_ref();
    let by_rule = refused.and_then(|said| match said.code {
        Some(AUTH_REQUIRED) => Some(ErrorKind::Auth),
        code => it.backend.error_kind(code, &said.message),
    });
    let said = refused.map_or_else(|| failure.to_string(), |said| said.message.clone());
    let command = it.backend.command.join(" ");
    if matches!(failure, Failure::Auth { .. }) || by_rule == Some(ErrorKind::Auth) {
        let reason = format!("it is not logged in: {said}");
        return Trouble { kind: "login", reason, help: it.login_help() };
    }
    if matches!(failure, Failure::Quota { .. }) || by_rule == Some(ErrorKind::Quota) {
        let help = "wait until the provider limit is reset, or use another agent".into();
        return Trouble { kind: "quota", reason: said, help };
    }
    let reason = failure.to_string();
    if matches!(failure, Failure::AgentMissing { .. }) {
        let name = &it.name;
        let help = format!("try `{command}` in a shell, and see `pitcrew backends {name}`");
        return Trouble { kind: "unfit", reason, help };
    }
    let help = format!(
        "the program must speak ACP on standard input and output; try `{command}` in a shell"
    );
    Trouble { kind: "protocol", reason, help }
}

fn as_json(it: &Looked, tried: &Tried) -> Value {
    let choice = |it: &Choice| json!({ "current": it.current, "offered": it.offered });
    let met = tried.met.as_ref();
    let heard = met.map(|it| &it.heard);
    json!({
        "name": it.name,
        "ready": tried.trouble.is_none(),
        "agent": met.and_then(|it| it.agent.clone()),
        "version": heard.and_then(|it| it.version.clone()),
        "initialize_ms": heard.and_then(|it| it.initialize_ms),
        "session_ms": heard.and_then(|it| it.session_ms),
        "modes": heard.map(|it| choice(&it.modes)),
        "models": heard.map(|it| choice(&it.models)),
        "logins": heard.map(|it| it.logins.clone()),
        "trouble": tried.trouble.as_ref().map(|it| {
            json!({ "kind": it.kind, "reason": it.reason, "help": it.help })
        }),
    })
}

fn tell(it: &Looked, tried: &Tried, output: Output) -> String {
    let style = output.out;
    let mut lines = Vec::new();
    match &tried.trouble {
        None => lines.push(format!("{} {}: answers", style.green("ok"), it.name)),
        Some(trouble) => {
            lines.push(format!("{} {}: {}", style.red("bad"), it.name, printable(&trouble.reason)));
            lines.push(format!("  {} {}", style.cyan("help:"), printable(&trouble.help)));
        }
    }
    if let Some(met) = &tried.met {
        lines.extend(met.agent.as_ref().map(|it| format!("  agent     {it}")));
        let times = [("started", met.heard.initialize_ms), ("session", met.heard.session_ms)];
        let times = times.into_iter().filter_map(|(what, took)| Some((what, took?)));
        lines.extend(times.map(|(what, took)| format!("  {what:<9} {}", render::duration(took))));
        lines.extend(chosen("modes", &met.heard.modes));
        lines.extend(chosen("models", &met.heard.models));
        if met.failure.is_none() && it.login == Login::NoSign {
            let words = format!("  login     {}; {}", it.login_words(), it.login_help());
            lines.push(style.yellow(&printable(&words)));
        }
        if met.failure.is_some() && !met.heard.logins.is_empty() {
            lines.push(format!("  logins    {}", printable(&met.heard.logins.join(", "))));
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
