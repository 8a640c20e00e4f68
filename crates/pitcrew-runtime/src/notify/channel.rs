//! Sends a notification through one channel.

use super::Notification;
use pitcrew_config::{NotifyChannel, NotifyKind, NotifySettings};
use pitcrew_process::{Cancel, Run, run_trusted};
use std::{path::PathBuf, time::Duration};

/// How long one delivery may take.
const DELIVERY_MAX: Duration = Duration::from_secs(10);
const REASON_BYTES_MAX: usize = 200;

/// How it was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered(pub String);

/// Sends it, and returns why it failed. The bell belongs to the terminal of a command.
pub async fn deliver(
    settings: &NotifySettings,
    channel: NotifyChannel,
    notification: &Notification,
) -> Result<Delivered, String> {
    match channel {
        NotifyChannel::Bell => Err("an orchestrator has no terminal".into()),
        NotifyChannel::Desktop => run(desktop(notification)).await,
        NotifyChannel::Command => match settings.command.split_first() {
            Some((program, args)) => run(command(program, args, notification)).await,
            None => Err("no command is set".into()),
        },
        NotifyChannel::Webhook => match &settings.webhook {
            Some(url) => post(url, notification).await,
            None => Err("no webhook is set".into()),
        },
    }
}

fn desktop(notification: &Notification) -> Run {
    let urgency = match notification.kind() {
        NotifyKind::Waiting | NotifyKind::Failed => "critical",
        NotifyKind::Ended => "normal",
    };
    let lines: Vec<&str> = notification.items.iter().map(|it| it.title.as_str()).collect();
    // The body is markup.
    let body = lines.join("\n").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    Run::new("notify-send", home())
        .args(["--app-name=Pitcrew", &format!("--urgency={urgency}"), "--"])
        .arg(format!("Pitcrew: {}", notification.workspace))
        .arg(body)
        .timeout(DELIVERY_MAX)
}

fn command(program: &str, args: &[String], notification: &Notification) -> Run {
    let first = notification.items.first();
    let plan = first.filter(|it| it.plan.0 > 0).map(|it| it.plan.to_string());
    let task = first.and_then(|it| it.task).map(|it| it.to_string());
    let request = first.and_then(|it| it.request).map(|it| it.to_string());
    Run::new(program, home())
        .args(args)
        .env("PITCREW_NOTIFY_KIND", notification.kind().to_string())
        .env("PITCREW_NOTIFY_TITLE", notification.title())
        .env("PITCREW_NOTIFY_WORKSPACE", &notification.workspace)
        .env("PITCREW_NOTIFY_COUNT", notification.count.to_string())
        .env("PITCREW_NOTIFY_PLAN", plan.unwrap_or_default())
        .env("PITCREW_NOTIFY_TASK", task.unwrap_or_default())
        .env("PITCREW_NOTIFY_REQUEST", request.unwrap_or_default())
        .env("PITCREW_NOTIFY_JSON", notification.json().to_string())
        .timeout(DELIVERY_MAX)
}

/// Never the repository: a program could find files there.
fn home() -> PathBuf {
    std::env::home_dir().filter(|it| it.is_dir()).unwrap_or_else(|| PathBuf::from("/"))
}

async fn run(run: Run) -> Result<Delivered, String> {
    let program = run.argv.first().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let done = tokio::task::spawn_blocking(move || run_trusted(run, &Cancel::default())).await;
    let done = done.map_err(|error| error.to_string())?;
    let done = done.map_err(|error| format!("cannot run `{program}`: {}", chain(&error)))?;
    if done.success() {
        return Ok(Delivered(format!("ran `{program}`")));
    }
    let stderr = String::from_utf8_lossy(&done.stderr);
    let last = stderr.lines().rev().find(|it| !it.trim().is_empty()).unwrap_or_default();
    let last = pitcrew_model::text::cut(last.trim(), REASON_BYTES_MAX);
    Err(match done.code {
        Some(code) if last.is_empty() => format!("`{program}` exited with code {code}"),
        Some(code) => format!("`{program}` exited with code {code}: {last}"),
        None => format!("`{program}` did not end within {} s", DELIVERY_MAX.as_secs()),
    })
}

/// Posts the JSON document. The URL is a secret and appears in no message.
async fn post(url: &str, notification: &Notification) -> Result<Delivered, String> {
    // If another caller has installed it already, that is fine.
    rustls::crypto::ring::default_provider().install_default().ok();
    let client = reqwest::Client::builder()
        .timeout(DELIVERY_MAX)
        // A redirect would send it to another host.
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| chain(&error.without_url()))?;
    let request = client
        .post(url)
        .header("content-type", "application/json")
        .header("user-agent", "pitcrew")
        .body(notification.json().to_string());
    let answer = request.send().await.map_err(|error| chain(&error.without_url()))?;
    let status = answer.status();
    if status.is_success() {
        return Ok(Delivered(format!("the server answered {}", status.as_u16())));
    }
    Err(format!("the server answered {}", status.as_u16()))
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text
}
