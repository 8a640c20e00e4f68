//! Shows the messages between people, agents and the orchestrator.

use super::CommandResult;
use crate::{
    cli::MessagesArgs,
    client::Client,
    exit::Exit,
    ids::{self, Pick},
    output::Output,
    render,
};
use pitcrew_api::paths::{BoardQuery, MessagesQuery};

pub async fn run(args: MessagesArgs, output: Output) -> CommandResult {
    let client = Client::here().await?;
    let plan = match &args.plan {
        Some(text) => Some(ids::known_plan(&client, text, Pick::Newest(output)).await?),
        None => None,
    };
    let worker = match args.worker {
        Some(worker) => Some(ids::known_worker(&client, worker).await?),
        None => None,
    };
    let query = MessagesQuery { plan, worker, status: args.state };
    let messages = client.messages(query).await?;
    if args.output.json {
        output.json(&messages)?;
    } else if args.metrics {
        output.print(&render::message_metrics(&messages.metrics))?;
    } else {
        // Ages are computed with the orchestrator's clock.
        let now = client.board(BoardQuery::default()).await?.at;
        output.print(&render::messages(&messages, now, output.out))?;
    }
    Ok(Exit::Success)
}
