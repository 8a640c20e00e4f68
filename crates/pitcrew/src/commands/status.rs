//! Shows plans and tasks.

use super::CommandResult;
use crate::{
    cli::StatusArgs,
    client::Client,
    exit::Exit,
    ids::{self, Pick},
    output::Output,
    render,
    report::Report,
    workspace::Workspace,
};
use pitcrew_api::paths::{BoardQuery, MessagesQuery};
use pitcrew_config::{Diagnostic, printable};
use pitcrew_model::Tier;
use pitcrew_views::{BoardView, MessageMetrics};
use serde_json::Value;

pub async fn run(args: StatusArgs, output: Output) -> CommandResult {
    let workspace = Workspace::here()?;
    let permissions = workspace.permissions();
    let client = Client::of(workspace).await?;
    let plan = match &args.plan {
        Some(text) => Some(ids::plan(&client, text, Pick::Newest(output)).await?),
        None => None,
    };
    let board = client.board(BoardQuery { all: args.all, plan }).await?;
    if let Some(plan) = plan.filter(|it| board.plan(*it).is_none()) {
        return Err(ids::no_plan(plan));
    }
    if args.output.json {
        let query = MessagesQuery { plan, ..MessagesQuery::default() };
        let metrics = client.messages(query).await?.metrics;
        output.json(&with_metrics(&board, &metrics)?)?;
    } else {
        let mut waiting = client.inbox().await?.open;
        waiting.retain(|it| plan.is_none_or(|plan| it.plan == plan));
        output.print(&render::board(&board, waiting.len(), output.columns(), output.out))?;
        if let Some(sandbox) = board.sandbox.as_ref().filter(|it| it.available < Tier::T3) {
            let why = sandbox.obstacle.as_deref().unwrap_or_default();
            let tier = sandbox.available;
            output.note(&printable(&format!("note: agents run in sandbox tier {tier}: {why}")));
        }
        let broken = permissions.ok().and_then(|it| it.errors.into_iter().next());
        if let Some(error) = broken {
            let Diagnostic { file, line, message, .. } = error;
            let note = format!("note: {file}:{line}: {message}; see `pitcrew permissions`");
            output.note(&printable(&note));
        }
    }
    Ok(Exit::Success)
}

/// The board with the message metrics.
fn with_metrics(board: &BoardView, metrics: &MessageMetrics) -> Result<Value, Report> {
    let failed = |error: serde_json::Error| Report::from_error(Exit::Failure, &error);
    let mut document = serde_json::to_value(board).map_err(failed)?;
    document["messages"] = serde_json::to_value(metrics).map_err(failed)?;
    Ok(document)
}
