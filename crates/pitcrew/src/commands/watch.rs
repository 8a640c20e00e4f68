//! Follows plans until they end.

use super::{
    CommandResult,
    run::{print_how_to_approve, print_summary},
};
use crate::{
    ask::Person,
    cli::WatchArgs,
    client::Client,
    exit::Exit,
    follow::{FollowEnd, FollowRequest, OutputFormat, follow},
    ids::{self, Pick},
    output::Output,
    report::Report,
};
use pitcrew_api::paths::BoardQuery;
use pitcrew_model::{PlanId, PlanStatus};
use pitcrew_views::{Ask, BoardView};

pub async fn run(args: WatchArgs, output: Output) -> CommandResult {
    let client = Client::here().await?;
    let plan = match &args.plan {
        Some(text) => Some(ids::plan(&client, text, Pick::Newest(output)).await?),
        None => None,
    };
    let board = client.board(BoardQuery { all: false, plan }).await?;
    if let Some(plan) = plan.filter(|it| board.plan(*it).is_none()) {
        return Err(Report::new(Exit::Usage, format!("there is no {plan}"))
            .help("`pitcrew status --all` lists the plans"));
    }
    let live = board.plans.iter().filter(|it| !it.status.has_ended());
    let plans: Vec<PlanId> = live.map(|it| it.id).collect();
    let format = if args.output.json { OutputFormat::Json } else { OutputFormat::Text };
    if !plans.is_empty() {
        let waiting_count = print_approvals(&client, output, &board).await?;
        // Without a terminal there is no one to approve the plans.
        if waiting_count == plans.len() && !output.can_ask {
            return Ok(Exit::Waiting);
        }
        let mut person = Person::listen()?;
        let request = FollowRequest { plans: plans.clone(), after: board.seq, format };
        if follow(&client, output, &mut person, &board, request).await? == FollowEnd::Interrupted {
            output.note("stopped watching; the plan continues");
            return Ok(Exit::Interrupted);
        }
    }
    let ended = match (plan, &plans[..]) {
        (Some(plan), _) => vec![plan],
        (None, []) => {
            output.note("no plan is running; `pitcrew status` shows the latest one");
            return Ok(Exit::Success);
        }
        (None, plans) => plans.to_vec(),
    };
    let mut exit = Exit::Success;
    for plan in ended {
        let end = print_summary(&client, output, plan, format).await?;
        if exit == Exit::Success {
            exit = end;
        }
    }
    Ok(exit)
}

/// Explains how to approve the plans that wait for it. Returns their number.
async fn print_approvals(
    client: &Client,
    output: Output,
    board: &BoardView,
) -> Result<usize, Report> {
    let waits = |it: &PlanId| {
        board.plan(*it).is_some_and(|plan| plan.status == PlanStatus::AwaitingApproval)
    };
    let mut count = 0;
    for request in client.inbox().await?.open {
        if matches!(request.ask, Ask::PlanExecution { .. }) && waits(&request.plan) {
            print_how_to_approve(output, request.plan, request.id);
            count += 1;
        }
    }
    Ok(count)
}
