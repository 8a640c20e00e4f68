//! Shows the requests that wait for a person.

use super::CommandResult;
use crate::{cli::InboxArgs, client::Client, exit::Exit, output::Output, render};
use pitcrew_api::paths::BoardQuery;

pub async fn run(args: InboxArgs, output: Output) -> CommandResult {
    let client = Client::here().await?;
    let inbox = client.inbox().await?;
    if args.output.json {
        output.json(&inbox)?;
    } else {
        // Ages are computed with the orchestrator's clock.
        let now = client.board(BoardQuery::default()).await?.at;
        output.print(&render::inbox(&inbox, now, args.all, output.out))?;
    }
    Ok(Exit::Success)
}
