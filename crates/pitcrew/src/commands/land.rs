//! Reviews the result of a plan and merges it.

use super::{
    CommandResult,
    logs::print_events,
    sign::{SIGN_TRIES_MAX, sign},
};
use crate::{
    ask::{Confirmation, Person},
    cli::{HistoryArgs, Json, LandArgs},
    client::{Client, StreamItem},
    exit::Exit,
    ids::{self, Pick},
    output::Output,
    render,
    report::Report,
};
use pitcrew_api::{EventStreamLine, PlanReview, paths};
use pitcrew_model::{
    Approval, Command, Event, Failure, History, Hooks, LandedAt, LandingStatus, PlanId, RequestId,
    Seq,
};
use pitcrew_views::{BoardView, PlanView, Summary, plain};
use serde_json::json;

pub async fn run(args: LandArgs, output: Output) -> CommandResult {
    let client = Client::here().await?;
    let plan = ids::plan(&client, &args.plan, Pick::Only).await?;
    let query = paths::BoardQuery { all: false, plan: Some(plan) };
    let board = client.board(query).await?;
    let Some(summary) = Summary::of(&board, plan) else {
        return Err(Report::new(Exit::Usage, format!("there is no {plan}"))
            .help("`pitcrew status --all` lists the plans"));
    };
    // A plan that has already landed is refused without a review.
    let landing = board.plan(plan).map(|it| it.landing.status);
    let is_landed = landing.is_some_and(|it| {
        matches!(it, LandingStatus::Merged | LandingStatus::Cleaned | LandingStatus::Undoing)
    });
    let is_undone = landing == Some(LandingStatus::Undoing);
    if let Some(view) = board.plan(plan).filter(|it| it.landing.by_hand && !is_undone) {
        let format = if args.output.json { ResultFormat::Json } else { ResultFormat::Text };
        return print_result(view, format, output);
    }
    let is_text = !args.output.json && !args.events;
    if is_text && !is_landed && summary.totals.completed_count > 0 {
        let review: PlanReview = client.get(&paths::plan_review(plan)).await?;
        show_review(&summary, &review, output);
    }
    let approval = if args.yes || is_landed {
        Approval::Given
    } else if !output.can_ask {
        Approval::Ask
    } else {
        let question = format!("Land {plan} on {}? [y/N]", branch(&board, plan));
        match Person::listen_once()?.confirm(output, &question).await {
            Confirmation::Yes => Approval::Given,
            Confirmation::No => {
                output.note("nothing was landed");
                return Ok(Exit::Failure);
            }
            Confirmation::Interrupted => return Ok(Exit::Interrupted),
        }
    };
    let landed = match land(&client, plan, approval, &args, output).await? {
        LandResult::Ended(landed) => landed,
        LandResult::Waits(request) => return print_request(plan, request, args.output, output),
        LandResult::Interrupted => {
            output.note(&format!(
                "stopped waiting; the landing continues: see `pitcrew status {plan}`"
            ));
            return Ok(Exit::Interrupted);
        }
    };
    let format = match (args.events, args.output.json) {
        (true, _) => {
            print_events(&client, output, plan, board.seq).await?;
            ResultFormat::Events
        }
        (false, true) => ResultFormat::Json,
        (false, false) => ResultFormat::Text,
    };
    print_result(&landed, format, output)
}

/// How the wait for a landing ended.
enum LandResult {
    Ended(Box<PlanView>),
    /// A person has to approve it first.
    Waits(RequestId),
    Interrupted,
}

/// Asks for the landing and waits for it. Commits that need a signature are signed here.
async fn land(
    client: &Client,
    plan: PlanId,
    approval: Approval,
    args: &LandArgs,
    output: Output,
) -> Result<LandResult, Report> {
    let hooks = if args.no_verify { Hooks::Skip } else { Hooks::Run };
    let mut signed = None;
    for tries_count in 0.. {
        let (history, message) = (history(&args.history), args.message.clone());
        let command = Command::LandPlan { plan, approval, history, message, hooks, signed };
        let accepted = client.command(&command).await?;
        if let Some(request) = accepted.created.requests.first() {
            return Ok(LandResult::Waits(*request));
        }
        let landed = tokio::select! {
            landed = wait(client, plan, accepted.seq) => landed?,
            _ = tokio::signal::ctrl_c() => return Ok(LandResult::Interrupted),
        };
        let unsigned = landed.landing.unsigned.as_ref();
        match unsigned.filter(|_| tries_count < SIGN_TRIES_MAX) {
            Some(unsigned) => signed = Some(sign(client, plan, unsigned, output).await?),
            None => return Ok(LandResult::Ended(Box::new(landed))),
        }
    }
    unreachable!("the number of tries is limited")
}

fn print_request(plan: PlanId, request: RequestId, format: Json, output: Output) -> CommandResult {
    if format.json {
        output.json(&json!({ "plan": plan, "status": "review", "request": request }))?;
    } else {
        output.line(&format!("{plan} is waiting for your approval to land ({request})"))?;
    }
    output.note(&format!(
        "review it with `pitcrew diff {plan}`, then run `pitcrew approve {request}`"
    ));
    Ok(Exit::Waiting)
}

/// The form of history that the flags name.
fn history(args: &HistoryArgs) -> Option<History> {
    match (args.squash, args.rebase, args.merge) {
        (true, _, _) => Some(History::Squash),
        (_, true, _) => Some(History::Linear),
        (_, _, true) => Some(History::Merge),
        (false, false, false) => None,
    }
}

/// How the result is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ResultFormat {
    Text,
    Json,
    /// Nothing, because the events were printed.
    Events,
}

fn branch(board: &BoardView, plan: PlanId) -> String {
    let base = board.plan(plan).and_then(|it| it.base.as_ref());
    let branch = base.and_then(|it| it.branch.as_deref());
    plain::line(branch.unwrap_or("a separate branch"))
}

fn show_review(summary: &Summary, review: &PlanReview, output: Output) {
    let style = output.err;
    let name = format!("{} {}", summary.plan, plain::line(&summary.name));
    output.note(&format!("{}: {}", style.bold(&name), summary.status));
    for task in &summary.tasks {
        let said = task.said.as_deref().and_then(|it| it.lines().next()).unwrap_or_default();
        let line = format!("  {:<10} {} {}", task.status, task.task, plain::line(&task.key));
        let said = plain::line(said);
        output.note(&if said.is_empty() { line } else { format!("{line}: {said}") });
    }
    for line in render::stat(&review.diff, style) {
        output.note(&line);
    }
    output.note(&style.dim(&format!("  full diff: pitcrew diff {}", summary.plan)));
}

/// Waits until the landing, or its undoing, has succeeded or failed.
pub async fn wait(client: &Client, plan: PlanId, mut after: Seq) -> Result<PlanView, Report> {
    let mut ended = false;
    while !ended {
        let query = paths::EventsQuery { after, follow: true };
        let mut lines = client.stream(&paths::events(query)).await?;
        while !ended {
            let StreamItem::Line(line) = lines.next().await else { break };
            let Ok(EventStreamLine::Event(line)) = serde_json::from_slice(&line) else { continue };
            after = line.seq;
            if let Some(Event::LandingMoved { plan: moved, to, .. }) =
                line.entry.known().map(|it| &it.event)
            {
                let goes_on = matches!(
                    to,
                    LandingStatus::Review | LandingStatus::Merging | LandingStatus::Undoing
                );
                ended = *moved == plan && !goes_on;
            }
        }
    }
    let query = paths::BoardQuery { all: false, plan: Some(plan) };
    let board = client.board(query).await?;
    board.plans.into_iter().find(|it| it.id == plan).ok_or_else(|| {
        Report::new(Exit::Failure, format!("the orchestrator no longer knows {plan}"))
    })
}

fn print_result(plan: &PlanView, format: ResultFormat, output: Output) -> CommandResult {
    let landing = &plan.landing;
    let exit = match landing.status {
        LandingStatus::Merged | LandingStatus::Cleaned => Exit::Success,
        LandingStatus::SideBranch => Exit::OnSideBranch,
        LandingStatus::None
        | LandingStatus::Review
        | LandingStatus::Merging
        | LandingStatus::Conflict
        | LandingStatus::Signing
        | LandingStatus::Undoing
        | LandingStatus::Undone
        | LandingStatus::Abandoned => Exit::NotLanded,
    };
    if format == ResultFormat::Json {
        output.json(&json!({ "plan": plan.id, "status": landing.status, "landing": landing }))?;
    }
    if format != ResultFormat::Text {
        return Ok(exit);
    }
    let Some(result) = landing.result.as_ref().filter(|_| exit != Exit::NotLanded) else {
        let keeps_moving = || "the branch moved each time the commits were signed".to_owned();
        let moved = landing.unsigned.as_ref().map(|_| keeps_moving());
        let why = landing.failure.as_ref().map(ToString::to_string).or(moved);
        let report = Report::new(Exit::NotLanded, format!("{} was not landed", plan.id))
            .because(why.unwrap_or_else(|| landing.reason.clone()));
        let detail = landing.failure.as_ref().map(Failure::detail);
        let detail = detail.unwrap_or_default();
        let report = if detail.is_empty() { report } else { report.because(detail) };
        let is_hook = matches!(landing.failure, Some(Failure::Hook { .. }));
        let skip = if is_hook { ", or skip your hooks with `--no-verify`" } else { "" };
        let again = format!("fix the cause and run `pitcrew land {}` again{skip}", plan.id);
        let by_hand = match landing.status {
            LandingStatus::Conflict => {
                format!(", or apply it yourself with `pitcrew diff {} | git apply --3way`", plan.id)
            }
            LandingStatus::None
            | LandingStatus::Review
            | LandingStatus::Merging
            | LandingStatus::Signing
            | LandingStatus::Undoing
            | LandingStatus::Undone
            | LandingStatus::SideBranch
            | LandingStatus::Merged
            | LandingStatus::Cleaned
            | LandingStatus::Abandoned => String::new(),
        };
        return Err(report.help(format!("your branch was not changed; {again}{by_hand}")));
    };
    let (files, commit) = (render::plural(result.files_count, "file"), result.commit.short());
    let commits = render::plural(result.commits_count, "commit");
    let size = format!("{commits}, {files}, +{} -{}", result.insertions, result.deletions);
    match &result.at {
        LandedAt::Base { branch } => {
            output.line(&format!("{} landed on {branch} as {commit}: {size}", plan.id))?;
        }
        LandedAt::Side { branch, reason } => {
            let (plan, reason) = (plan.id, plain::line(reason));
            output.line(&format!("{plan} is on {branch} as {commit}: {size}"))?;
            output.note(&format!("your branch was not changed: {reason}"));
            // The reason comes from the git driver. Uncommitted changes must be removed first.
            let first = if reason.contains("uncommitted changes") {
                "commit or stash your changes, then"
            } else {
                "when that is settled"
            };
            output.note(&format!(
                "{first}: pitcrew land {plan}; or merge it yourself: git merge {branch}"
            ));
        }
    }
    Ok(exit)
}
