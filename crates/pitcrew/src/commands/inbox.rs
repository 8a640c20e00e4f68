//! Shows the requests that wait for a person.

use super::{CommandResult, travel};
use crate::{
    cli::InboxArgs,
    client::Client,
    exit::Exit,
    output::Output,
    render::{self, Details},
};
use pitcrew_api::paths::BoardQuery;

pub async fn run(args: InboxArgs, output: Output) -> CommandResult {
    let client = Client::here().await?;
    let inbox = client.inbox().await?;
    if args.output.json {
        output.json(&inbox)?;
    } else {
        // Ages are computed with the orchestrator's clock.
        let now = client.board(BoardQuery::default()).await?.at;
        let more = inbox.open.iter();
        let more: Details = more
            .filter_map(|it| Some((it.id, travel::of_request(&client.workspace, it)?)))
            .collect();
        output.print(&render::inbox(&inbox, &more, now, args.all, output.out))?;
    }
    Ok(Exit::Success)
}
