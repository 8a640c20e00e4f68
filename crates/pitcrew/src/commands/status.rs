//! Shows plans and tasks.

use super::Done;
use crate::{
    cli::StatusArgs, client::Client, exit::Exit, ids, output::Output, render, report::Report,
    workspace::Workspace,
};
use pitcrew_api::paths::BoardQuery;
use pitcrew_config::{Diagnostic, printable};

pub async fn run(args: StatusArgs, output: Output) -> Done {
    let workspace = Workspace::here()?;
    let permissions = workspace.permissions();
    let client = Client::of(workspace).await?;
    let plan = match &args.plan {
        Some(text) => Some(ids::plan(&client, text).await?),
        None => None,
    };
    let board = client.board(BoardQuery { all: args.all, plan }).await?;
    if let Some(plan) = plan.filter(|it| board.plan(*it).is_none()) {
        return Err(Report::new(Exit::Usage, format!("there is no {plan}"))
            .help("`pitcrew status --all` lists the plans"));
    }
    if args.output.json {
        output.json(&board)?;
    } else {
        let mut waiting = client.inbox().await?.open;
        waiting.retain(|it| plan.is_none_or(|plan| it.plan == plan));
        output.print(&render::board(&board, waiting.len(), output.out))?;
        let broken = permissions.ok().and_then(|it| it.errors.into_iter().next());
        if let Some(error) = broken {
            let Diagnostic { file, line, message, .. } = error;
            let note = format!("note: {file}:{line}: {message}; see `pitcrew permissions`");
            output.note(&printable(&note));
        }
    }
    Ok(Exit::Success)
}
