//! Tries the notifications that are set up.

use super::CommandResult;
use crate::{
    cli::NotifyCommands,
    exit::Exit,
    output::Output,
    report::Report,
    workspace::{Workspace, settings_here},
};
use pitcrew_config::{NotifyChannel, NotifySettings, printable};
use pitcrew_runtime::{Delivered, Notification, deliver};
use serde_json::json;

pub async fn run(command: NotifyCommands, output: Output) -> CommandResult {
    let NotifyCommands::Test(args) = command;
    let settings = settings_here()?.0.notify;
    let channels: Vec<NotifyChannel> =
        NotifyChannel::ALL.into_iter().filter(|it| settings.is_set_up(*it)).collect();
    if channels.is_empty() {
        return Err(Report::new(Exit::Usage, "no notification is set up").help(
            "write `[notify]` and below it `desktop = true` into `~/.config/pitcrew/config.toml`",
        ));
    }
    let workspace = Workspace::here().ok();
    let name = workspace.as_ref().and_then(|it| it.root().file_name()?.to_str());
    let notification = Notification::trial(name.unwrap_or("pitcrew"));
    let mut exit = Exit::Success;
    for channel in channels {
        let result = match channel {
            NotifyChannel::Bell => ring(output),
            NotifyChannel::Desktop | NotifyChannel::Webhook | NotifyChannel::Command => {
                deliver(&settings, channel, &notification).await
            }
        };
        if result.is_err() {
            exit = Exit::Failure;
        }
        if args.json {
            let (ok, text) = match &result {
                Ok(Delivered(how)) => (true, how),
                Err(error) => (false, error),
            };
            output.json(&json!({ "channel": channel.to_string(), "ok": ok, "text": text }))?;
        } else {
            output.line(&line(&settings, channel, &result, output))?;
        }
    }
    Ok(exit)
}

fn ring(output: Output) -> Result<Delivered, String> {
    if output.ring() {
        return Ok(Delivered("rang in this terminal".into()));
    }
    Err("standard error is not a terminal".into())
}

fn line(
    settings: &NotifySettings,
    channel: NotifyChannel,
    result: &Result<Delivered, String>,
    output: Output,
) -> String {
    let name = match settings.webhook_shown() {
        Some(url) if channel == NotifyChannel::Webhook => format!("{channel} {url}"),
        Some(_) | None => channel.to_string(),
    };
    let (sign, text) = match result {
        Ok(Delivered(how)) => (output.out.green("ok"), how),
        Err(error) => (output.out.red("bad"), error),
    };
    format!("{sign} {}: {}", printable(&name), printable(text))
}
