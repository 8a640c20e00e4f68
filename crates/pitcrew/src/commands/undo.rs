//! Undoes what was landed.

use super::{
    CommandResult,
    land::wait,
    sign::{SIGN_TRIES_MAX, sign},
};
use crate::{
    ask::{Confirmation, Person},
    cli::{UndoCommand, UndoLandArgs},
    client::Client,
    exit::Exit,
    ids::{self, Pick},
    output::Output,
    report::Report,
};
use pitcrew_api::paths::BoardQuery;
use pitcrew_model::{Command, LandedAt, LandingStatus, PlanId, Undo, UndoneBy};
use pitcrew_views::{PlanView, plain};
use serde_json::json;

pub async fn run(command: UndoCommand, output: Output) -> CommandResult {
    match command {
        UndoCommand::Land(args) => land(args, output).await,
    }
}

async fn land(args: UndoLandArgs, output: Output) -> CommandResult {
    let client = Client::here().await?;
    let plan = ids::plan(&client, &args.plan, Pick::Only).await?;
    let board = client.board(BoardQuery { all: false, plan: Some(plan) }).await?;
    let landed_on = board.plan(plan).and_then(branch);
    // A plan that is not landed is refused without a question.
    if let Some(branch) = landed_on
        && !args.yes
        && let Some(exit) = ask(output, plan, &branch).await?
    {
        return Ok(exit);
    }
    let view = tokio::select! {
        view = undo(&client, plan, output) => view?,
        _ = tokio::signal::ctrl_c() => {
            output.note(&format!("stopped waiting; see `pitcrew status {plan}`"));
            return Ok(Exit::Interrupted);
        }
    };
    let landing = &view.landing;
    let exit =
        if landing.status == LandingStatus::Undone { Exit::Success } else { Exit::NotLanded };
    if args.output.json {
        output.json(&json!({ "plan": plan, "status": landing.status, "landing": landing }))?;
        return Ok(exit);
    }
    let Some(undo) = landing.undo.as_ref().filter(|_| exit == Exit::Success) else {
        let why = landing.failure.as_ref().map(ToString::to_string);
        let why = why.unwrap_or_else(|| "the branch moved each time it was tried".into());
        return Err(Report::new(exit, format!("the landing of {plan} was not undone"))
            .because(plain::line(&why))
            .help(format!(
                "nothing was changed; settle this, then run `pitcrew undo land {plan}` again"
            )));
    };
    output.line(&words(plan, undo))?;
    output.note(&format!("`pitcrew land {plan}` lands it again"));
    Ok(exit)
}

/// Asks for the undo and waits for it. A revert that needs a signature is signed here.
async fn undo(client: &Client, plan: PlanId, output: Output) -> Result<PlanView, Report> {
    let mut signed = None;
    for tries_count in 0.. {
        let accepted = client.command(&Command::UndoLanding { plan, signed }).await?;
        let view = wait(client, plan, accepted.seq).await?;
        match view.landing.unsigned.as_ref().filter(|_| tries_count < SIGN_TRIES_MAX) {
            Some(unsigned) => signed = Some(sign(client, plan, unsigned, output).await?),
            None => return Ok(view),
        }
    }
    unreachable!("the number of tries is limited")
}

/// The branch that the plan is landed on.
fn branch(plan: &PlanView) -> Option<String> {
    let is_landed = matches!(plan.landing.status, LandingStatus::Merged | LandingStatus::Cleaned);
    match &plan.landing.result.as_ref().filter(|_| is_landed)?.at {
        LandedAt::Base { branch } => Some(plain::line(branch)),
        LandedAt::Side { .. } => None,
    }
}

/// Asks for confirmation. Returns the exit code if the person does not agree.
async fn ask(output: Output, plan: PlanId, branch: &str) -> Result<Option<Exit>, Report> {
    if !output.can_ask {
        let what = format!("undoing the landing of {plan} changes {branch}");
        return Err(Report::new(Exit::Usage, what)
            .help(format!("confirm it with `pitcrew undo land {plan} --yes`")));
    }
    let question = format!("Undo the landing of {plan} on {branch}? [y/N]");
    Ok(match Person::listen_once()?.confirm(output, &question).await {
        Confirmation::Yes => None,
        Confirmation::No => {
            output.note("nothing was undone");
            Some(Exit::Failure)
        }
        Confirmation::Interrupted => Some(Exit::Interrupted),
    })
}

fn words(plan: PlanId, undo: &Undo) -> String {
    let (branch, commit) = (plain::line(&undo.branch), undo.commit.short());
    match undo.by {
        UndoneBy::Restore => {
            format!("the landing of {plan} is undone: {branch} is at {commit}, as before it")
        }
        UndoneBy::RevertOfPushed => {
            format!("{plan} is reverted on {branch} by {commit}, because it was already pushed")
        }
        UndoneBy::RevertBelowOthers => {
            format!("{plan} is reverted on {branch} by {commit}, because later commits are on top")
        }
    }
}
