//! Exports everything about a plan.

use super::{CommandResult, journal};
use crate::{
    cli::{ExportArgs, ExportFormat},
    client::Client,
    exit::Exit,
    ids::{self, Pick},
    output::Output,
    render::{self, ExportData},
};
use pitcrew_model::{Seq, Timestamp};
use pitcrew_views::{Board, Inbox, MessageFilter, Messages, Scope, audit};
use serde_json::json;

pub async fn run(args: ExportArgs, output: Output) -> CommandResult {
    let client = Client::here().await?;
    let plan = ids::plan(&client, &args.plan, Pick::Newest(output)).await?;
    let (mut board, mut inbox) = (Board::default(), Inbox::default());
    let mut messages = Messages::default();
    let (mut timeline, mut at) = (Vec::new(), Timestamp(0));
    journal::entries(&client, Seq(0), |entry| {
        board.fold(entry);
        inbox.fold(entry);
        messages.fold(entry);
        at = entry.at;
        timeline.extend(audit(&board, entry).filter(|it| it.plan == Some(plan)));
        Ok(())
    })
    .await?;
    let view = board.view(at, Scope::Only(plan));
    let Some(plan_view) = view.plan(plan) else {
        return Err(ids::no_plan(plan));
    };
    let inbox = inbox.view(&board);
    let open: Vec<_> = inbox.open.iter().filter(|it| it.plan == plan).collect();
    let closed: Vec<_> = inbox.closed.iter().rev().filter(|it| it.plan == plan).collect();
    let wanted = MessageFilter { plan: Some(plan), ..MessageFilter::default() };
    let messages = messages.view(&board, &wanted);
    let redactor = client.redactor();
    match args.format {
        ExportFormat::Json => {
            let document = json!({
                "format": 1,
                "pitcrew": env!("CARGO_PKG_VERSION"),
                "at": at,
                "plan": plan_view,
                "tasks": view.tasks,
                "subtasks": view.subtasks,
                "workers": view.workers,
                "requests": { "open": open, "closed": closed },
                "messages": messages,
                "timeline": timeline,
            });
            let document = journal::redacted(&redactor, document);
            output.line(&format!("{document:#}"))?;
        }
        ExportFormat::Md => {
            let (plan, board) = (plan_view, &view);
            let data = ExportData { at, plan, board, open, closed, messages, timeline };
            output.print(&redactor.redact(&render::export(&data)))?;
        }
    }
    Ok(Exit::Success)
}
