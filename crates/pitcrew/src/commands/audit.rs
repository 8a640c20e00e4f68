//! Shows who did and decided what.

use super::{CommandResult, journal};
use crate::{
    cli::AuditArgs,
    client::Client,
    exit::Exit,
    ids::{self, Pick},
    output::Output,
    report::Report,
};
use pitcrew_config::parse_duration;
use pitcrew_model::{Actor, Seq, Timestamp, WorkerId};
use pitcrew_runtime::now;
use pitcrew_views::{AuditLine, Board, audit, words};
use serde_json::json;

pub async fn run(args: AuditArgs, output: Output) -> CommandResult {
    let since = args.since.as_deref().map(since).transpose()?;
    let actor = args.actor.as_deref().map(actor).transpose()?;
    let client = Client::here().await?;
    let plan = match &args.plan {
        Some(text) => Some(ids::known_plan(&client, text, Pick::Newest(output)).await?),
        None => None,
    };
    if let Some(Actor::Worker(worker)) = actor {
        ids::known_worker(&client, worker).await?;
    }
    let is_wanted = |it: &AuditLine| {
        since.is_none_or(|since| it.at >= since)
            && actor.is_none_or(|actor| it.actor == actor)
            && plan.is_none_or(|plan| it.plan == Some(plan))
            && args.kind.as_ref().is_none_or(|kind| it.kind.contains(kind.as_str()))
    };
    let redactor = client.redactor();
    let mut board = Board::default();
    journal::entries(&client, Seq(0), |entry| {
        board.fold(entry);
        let Some(line) = audit(&board, entry).filter(is_wanted) else { return Ok(()) };
        if args.output.json {
            let mut value = serde_json::to_value(&line).expect("a line is plain data");
            value["event"] = json!(entry.event);
            return output.json(&journal::redacted(&redactor, value));
        }
        let at = words::stamp(line.at).replace('T', " ");
        output.line(&format!("{at} {}", redactor.redact(&line.to_string())))
    })
    .await?;
    Ok(Exit::Success)
}

fn since(text: &str) -> Result<Timestamp, Report> {
    if let Some(at) = words::parse_stamp(text) {
        return Ok(at);
    }
    let ago = parse_duration(text).map_err(|_| {
        Report::new(Exit::Usage, format!("`{text}` is not a time"))
            .help("use `30min`, `2h`, `2026-11-15` or `2026-11-15T09:49`, in UTC")
    })?;
    Ok(Timestamp(now().0.saturating_sub(ago)))
}

fn actor(text: &str) -> Result<Actor, Report> {
    match text {
        "person" => Ok(Actor::Person),
        "orchestrator" => Ok(Actor::Orchestrator),
        "client" => Ok(Actor::Client),
        text => text.parse::<WorkerId>().map(Actor::Worker).map_err(|_| {
            Report::new(Exit::Usage, format!("`{text}` is not an actor"))
                .help("use `person`, `orchestrator`, `client` or a worker such as `worker-3`")
        }),
    }
}
