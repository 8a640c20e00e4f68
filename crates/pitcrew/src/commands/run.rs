//! Runs a plan until it ends.

mod meant;

use super::{
    CommandResult, logs::print_events, plan as plan_file, retry::retryable, travel, trust,
};
use crate::{
    ask::{Confirmation, Person},
    backends::DefaultAgent,
    cli::RunArgs,
    client::Client,
    crew::{CrewReading, read_crew},
    exit::Exit,
    follow::{FollowEnd, FollowRequest, OutputFormat, follow},
    output::Output,
    render::{self, plural},
    report::Report,
    workspace::{Workspace, require_commit},
};
use pitcrew_api::paths::BoardQuery;
use pitcrew_config::{IntentRequest, PlanDefaults, Settings, Severity, describe, intent_plan};
use pitcrew_git::Uncommitted;
use pitcrew_model::{
    Approval, Caps, Command, CreatePlan, Deploy, Freshness, Origin, PlanId, PlanSpec, PlanStatus,
    RequestId, Seq, Tier, Timestamp,
};
use pitcrew_views::{BoardView, Summary, plain, words::clock};

pub async fn run(args: RunArgs, output: Output) -> CommandResult {
    let workspace = Workspace::here()?;
    let settings = workspace.settings()?.0;
    workspace.require_checkouts(&settings)?;
    let mut person = Person::listen()?;
    let Some(crew) = trusted_crew(&args, &workspace, &settings, output, &mut person).await? else {
        return Ok(Exit::Interrupted);
    };
    let defaults = crew.plan_defaults(&settings, Severity::Error);
    let (mut spec, origin) = spec(&args, &defaults, output)?;
    spec.head.include.extend(args.include.iter().cloned());
    let caps = Caps { tokens: args.max_tokens, cost_micros: args.max_cost };
    spec.head.caps = caps.or(spec.head.caps);
    spec.head.agents_max = args.max_agents;
    // The orchestrator resolves the agents itself.
    let mut shown = spec.clone();
    plan_file::resolve(&mut shown, &defaults);
    print_default_agent(&shown, &crew.default_agent, output);
    let BaseReview { clean_base, uncommitted } =
        review_base(&args, &workspace, &settings, &shown, output)?;
    let consent = Consent { spec: &shown, uncommitted: uncommitted.as_ref() };
    let approval = match approve(&args, consent, output, &mut person).await? {
        ApprovalOutcome::Yes(approval) => approval,
        ApprovalOutcome::No(exit) => return Ok(exit),
    };
    let client = tokio::select! {
        client = Client::of(workspace) => client?,
        _ = person.interrupt() => return Ok(Exit::Interrupted),
    };
    if let Some(tier) = args.accept_tier {
        client.command(&Command::AcceptTier { tier }).await?;
    }
    let board = client.board(BoardQuery::default()).await?;
    if let Some(exit) = confirm_tier(&client, &board, output, &mut person).await? {
        return Ok(exit);
    }
    let before = board.seq;
    let limits = limits(&shown, &board);
    let is_manual = spec.head.deploy == Deploy::Manual;
    let default_agent = crew.default_agent.agent().cloned();
    let create = CreatePlan { spec, origin, clean_base, approval, default_agent };
    let accepted = client.command(&Command::CreatePlan(create)).await?;
    let plan = accepted.created.plan.ok_or_else(|| {
        Report::new(Exit::Failure, "the orchestrator accepted the plan but returned no id")
    })?;
    for wait in &limits {
        output.note(wait);
    }
    if is_manual {
        output.note("this plan is deployed manually: start each task with `pitcrew deploy TASK`");
    }
    let format = if args.output.json { OutputFormat::Json } else { OutputFormat::Text };
    if let Some(request) = accepted.created.requests.first() {
        print_detached(&client, output, plan, (before, format)).await?;
        print_how_to_approve(output, plan, *request);
        return Ok(Exit::Waiting);
    }
    if args.detach {
        print_detached(&client, output, plan, (before, format)).await?;
        output.note(&format!("{plan} is running; follow it with `pitcrew watch {plan}`"));
        return Ok(Exit::Success);
    }
    follow_to_end(&client, output, &mut person, plan, (before, format)).await
}

/// What a plan will start from.
struct BaseReview {
    clean_base: bool,
    /// Present if it is to be shown.
    uncommitted: Option<Uncommitted>,
}

/// Checks the base of the plan, and warns about what does not fit to it.
fn review_base(
    args: &RunArgs,
    workspace: &Workspace,
    settings: &Settings,
    spec: &PlanSpec,
    output: Output,
) -> Result<BaseReview, Report> {
    if let Some(base) = &spec.head.base {
        require_commit(workspace.root(), base)?;
    }
    let place = args.file.as_ref().map(|it| format!("{}: ", it.display())).unwrap_or_default();
    plan_file::warn_doubtful(&place, spec, settings, Some(workspace), output);
    // `--base HEAD` means the commit alone, without uncommitted changes.
    let clean_base = args.base.as_deref() == Some("HEAD");
    if clean_base {
        workspace.require_clean()?;
    }
    let is_asked = !args.yes && output.can_ask;
    let is_listed = !clean_base && (is_asked || !spec.head.include.is_empty());
    let uncommitted =
        if is_listed { Some(travel::of_plan(workspace, spec, output)?) } else { None };
    Ok(BaseReview { clean_base, uncommitted })
}

/// Reads the crew after asking about agents that the repository brings. `None`: interrupted.
async fn trusted_crew(
    args: &RunArgs,
    workspace: &Workspace,
    settings: &Settings,
    output: Output,
    person: &mut Person,
) -> Result<Option<CrewReading>, Report> {
    let read = || read_crew(settings, &workspace.user, workspace.root());
    let crew = read();
    let untrusted = &crew.definitions.untrusted;
    if args.trust {
        trust::trust_all(workspace, untrusted, output)?;
        return Ok(Some(read()));
    }
    let new: Vec<_> = untrusted.iter().filter(|it| !it.is_declined).cloned().collect();
    if new.is_empty() {
        return Ok(Some(crew));
    }
    if !output.can_ask {
        let count = plural(new.len() as u64, "agent definition");
        output.note(&format!(
            "note: {count} of this repository is not trusted and not used: see `pitcrew trust`"
        ));
        return Ok(Some(crew));
    }
    match trust::ask(workspace, &new, output, person).await? {
        Confirmation::Yes | Confirmation::No => Ok(Some(read())),
        Confirmation::Interrupted => Ok(None),
    }
}

/// Reports a sandbox weaker than a box, and asks for consent if there is none at all.
async fn confirm_tier(
    client: &Client,
    board: &BoardView,
    output: Output,
    person: &mut Person,
) -> Result<Option<Exit>, Report> {
    let Some(sandbox) = board.sandbox.as_ref().filter(|it| it.available < Tier::T3) else {
        return Ok(None);
    };
    let tier = sandbox.available;
    let why = sandbox.obstacle.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
    let is_agreed = !sandbox.needs_consent() || sandbox.min_tier > Some(tier);
    output.note(&format!("note: agents run in sandbox tier {tier}{why}"));
    if is_agreed || !output.can_ask {
        return Ok(None);
    }
    let question = match tier {
        Tier::T1 => "No OS sandbox is available. Run agents unconfined? [y/N]",
        Tier::T2 | Tier::T3 => {
            "Agents run as root and Landlock cannot stop them from changing modes of root's files. Run them? [y/N]"
        }
    };
    match person.confirm(output, question).await {
        Confirmation::Yes => {
            client.command(&Command::AcceptTier { tier }).await?;
            Ok(None)
        }
        Confirmation::No => {
            output.note("nothing was started");
            Ok(Some(Exit::Failure))
        }
        Confirmation::Interrupted => Ok(Some(Exit::Interrupted)),
    }
}

/// Explains how to approve a plan.
pub fn print_how_to_approve(output: Output, plan: PlanId, request: RequestId) {
    output.note(&format!("{plan} is waiting for your approval ({request})"));
    output.note(&format!("review it with `pitcrew inbox`, then run `pitcrew approve {request}`"));
}

/// Reports which agent was chosen for tasks that name none.
fn print_default_agent(spec: &PlanSpec, default_agent: &DefaultAgent, output: Output) {
    if let DefaultAgent::Only(agent) = default_agent
        && spec.tasks.iter().any(|it| it.agent.backend == agent.backend)
    {
        output.note(&format!(
            "using {agent}, the only agent that is ready, for tasks that name none"
        ));
    }
}

/// Lists the provider limits that the plan waits for from the start, because no event will show
/// them.
fn limits(spec: &PlanSpec, board: &BoardView) -> Vec<String> {
    let wanted = |name: &str| spec.tasks.iter().any(|it| it.vendor() == Some(name));
    let limits = board.held.iter().filter(|it| wanted(it.0));
    let line = |(backend, until): (&String, &Timestamp)| {
        let unreachable = board.unreachable.get(backend);
        let (backend, until) = (plain::line(backend), clock(*until, board.at));
        match unreachable {
            Some(reason) => format!("waiting for {backend} until {until}: {}", plain::line(reason)),
            None => format!("waiting for {backend} until {until}: its provider limit is reached"),
        }
    };
    limits.map(line).collect()
}

fn spec(
    args: &RunArgs,
    defaults: &PlanDefaults,
    output: Output,
) -> Result<(PlanSpec, Origin), Report> {
    let Some(path) = &args.file else {
        let Some(text) = &args.task else { return Err(meant::nothing()) };
        let request = IntentRequest {
            text: text.clone(),
            regions: args.region.clone(),
            checks: args.check.clone(),
            agent: args.agent.clone(),
            model: args.model.clone(),
            base: args.base.clone(),
        };
        let spec = intent_plan(&request, defaults);
        let spec = spec.map_err(|errors| Report::diagnostics(errors.to_string()))?;
        plan_file::refuse_impossible("", &spec, defaults)?;
        return Ok((spec, Origin::Intent));
    };
    let parsed = plan_file::read(path, defaults).map_err(|it| meant::no_file(path, it))?;
    plan_file::warn(&parsed, output);
    let mut spec = parsed.spec;
    if args.base.is_some() {
        spec.head.base.clone_from(&args.base);
    }
    Ok((spec, Origin::File))
}

enum ApprovalOutcome {
    Yes(Approval),
    No(Exit),
}

/// What a person agrees to.
struct Consent<'a> {
    spec: &'a PlanSpec,
    uncommitted: Option<&'a Uncommitted>,
}

/// Shows everything that will be executed or taken along and asks, if there is a person to ask.
async fn approve(
    args: &RunArgs,
    Consent { spec, uncommitted }: Consent<'_>,
    output: Output,
    person: &mut Person,
) -> Result<ApprovalOutcome, Report> {
    if args.yes {
        return Ok(ApprovalOutcome::Yes(Approval::Given));
    }
    if !output.can_ask {
        return Ok(ApprovalOutcome::Yes(Approval::Ask));
    }
    let picture = describe(spec).map_err(|error| Report::from_error(Exit::Usage, &error))?;
    output.note(&picture.to_string());
    let listed = uncommitted.map(render::uncommitted).filter(|it| !it.is_empty());
    if let Some(lines) = listed {
        output.note(&(lines.join("\n") + "\n"));
    }
    match person.confirm(output, "Run this plan? [y/N]").await {
        Confirmation::Yes => Ok(ApprovalOutcome::Yes(Approval::Given)),
        Confirmation::No => {
            output.note("nothing was started");
            Ok(ApprovalOutcome::No(Exit::Failure))
        }
        Confirmation::Interrupted => Ok(ApprovalOutcome::No(Exit::Interrupted)),
    }
}

/// Prints the id or the events of a plan that continues without this command.
async fn print_detached(
    client: &Client,
    output: Output,
    plan: PlanId,
    (before, format): (Seq, OutputFormat),
) -> Result<(), Report> {
    match format {
        OutputFormat::Text => output.line(&plan.to_string()),
        OutputFormat::Json => print_events(client, output, plan, before).await,
    }
}

async fn follow_to_end(
    client: &Client,
    output: Output,
    person: &mut Person,
    plan: PlanId,
    (mut after, format): (Seq, OutputFormat),
) -> CommandResult {
    let query = BoardQuery { all: false, plan: Some(plan) };
    loop {
        let board = client.board(query).await?;
        let request = FollowRequest { plans: vec![plan], after, format };
        if follow(client, output, person, &board, request).await? == FollowEnd::Interrupted {
            return pause(client, output, plan).await;
        }
        let exit = print_summary(client, output, plan, format).await?;
        let ended = client.board(query).await?;
        let Ok(tasks) = retryable(&ended, plan) else { return Ok(exit) };
        let is_over = ended.plan(plan).is_some_and(|it| it.status == PlanStatus::Cancelled);
        if format == OutputFormat::Json || !output.can_ask || is_over {
            return Ok(exit);
        }
        match person.confirm(output, "Retry failed subtask(s)? [y/n]:").await {
            Confirmation::Yes => {}
            Confirmation::No => return Ok(exit),
            Confirmation::Interrupted => return Ok(Exit::Interrupted),
        }
        after = ended.seq;
        let freshness = Freshness::Continue;
        client.command(&Command::RetryTasks { tasks, freshness }).await?;
    }
}

/// Pauses the plan after Ctrl-C.
async fn pause(client: &Client, output: Output, plan: PlanId) -> CommandResult {
    output.note(&format!("pausing {plan}; press Ctrl-C again to exit immediately"));
    match client.command(&Command::PausePlan { plan }).await {
        Ok(_) => output.note(&format!("{plan} is paused; continue with `pitcrew resume {plan}`")),
        Err(report) => output.note(report.render(output.err).trim_end()),
    }
    Ok(Exit::Interrupted)
}

/// Prints the summary of a plan.
pub async fn print_summary(
    client: &Client,
    output: Output,
    plan: PlanId,
    format: OutputFormat,
) -> CommandResult {
    let board = client.board(BoardQuery { all: false, plan: Some(plan) }).await?;
    let Some(summary) = Summary::of(&board, plan) else {
        return Err(Report::new(Exit::Failure, format!("the orchestrator no longer knows {plan}")));
    };
    if format == OutputFormat::Text {
        let state = &client.workspace.dirs.state;
        output.print(&render::summary(&summary, &board, state, output.out))?;
    }
    Ok(match summary.status {
        PlanStatus::Partial => Exit::Partial,
        PlanStatus::Failed | PlanStatus::Cancelled => Exit::PlanFailed,
        PlanStatus::AwaitingApproval | PlanStatus::Paused => Exit::Waiting,
        PlanStatus::Completed
        | PlanStatus::Draft
        | PlanStatus::Clarifying
        | PlanStatus::Decomposing
        | PlanStatus::Active => Exit::Success,
    })
}
