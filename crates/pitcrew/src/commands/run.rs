//! Runs a plan to its end.

use super::{Done, logs::print_events, plan as plan_file, retry::retryable};
use crate::{
    ask::{Person, Verdict},
    backends::{Chosen, plan_defaults},
    cli::RunArgs,
    client::Client,
    exit::Exit,
    follow::{Ended, Form, Order, follow},
    output::Output,
    render,
    report::Report,
    workspace::{Workspace, require_commit},
};
use pitcrew_api::paths::BoardQuery;
use pitcrew_config::{
    IntentRequest, PlanDefaults, Severity, describe, intent_plan, read_definitions,
};
use pitcrew_model::{
    Approval, Caps, Command, CreatePlan, Deploy, Freshness, Origin, PlanId, PlanSpec, PlanStatus,
    RequestId, Seq, Tier, Timestamp,
};
use pitcrew_views::{BoardView, Summary, plain, words::clock};

pub async fn run(args: RunArgs, output: Output) -> Done {
    let workspace = Workspace::here()?;
    let settings = workspace.settings()?.0;
    let (defaults, chosen) = plan_defaults(&settings, Severity::Error);
    let (mut spec, origin) = spec(&args, &defaults, output)?;
    read_definitions(&workspace.user, workspace.root()).apply(&mut spec);
    tell_chosen(&spec, &chosen, output);
    let caps = Caps { tokens: args.max_tokens, cost_micros: args.max_cost };
    spec.head.caps = caps.or(spec.head.caps);
    plan_file::warn_unheld("", &spec, &settings, output);
    if let Some(base) = &spec.head.base {
        require_commit(workspace.root(), base)?;
    }
    // `HEAD` by name means what is committed, and nothing else.
    let clean_base = args.base.as_deref() == Some("HEAD");
    if clean_base {
        workspace.require_clean()?;
    }
    let mut person = Person::listen()?;
    let approval = match approve(&args, &spec, output, &mut person).await? {
        Approved::Yes(approval) => approval,
        Approved::No(exit) => return Ok(exit),
    };
    let client = tokio::select! {
        client = Client::of(workspace) => client?,
        _ = person.interrupt() => return Ok(Exit::Interrupted),
    };
    if let Some(count) = args.max_agents {
        client.command(&Command::SetAgentsMax { count }).await?;
    }
    if let Some(tier) = args.accept_tier {
        client.command(&Command::AcceptTier { tier }).await?;
    }
    let board = client.board(BoardQuery::default()).await?;
    if let Some(exit) = agree(&client, &board, output, &mut person).await? {
        return Ok(exit);
    }
    let before = board.seq;
    let held = held(&spec, &board);
    let by_hand = spec.head.deploy == Deploy::Manual;
    let create = CreatePlan { spec, origin, clean_base, approval };
    let accepted = client.command(&Command::CreatePlan(create)).await?;
    let plan = accepted.created.plan.ok_or_else(|| {
        Report::new(Exit::Failure, "the orchestrator took the plan and named none")
    })?;
    for wait in &held {
        output.note(wait);
    }
    if by_hand {
        output.note("this plan is deployed by hand: pitcrew deploy TASK");
    }
    let form = if args.output.json { Form::Json } else { Form::Text };
    if let Some(request) = accepted.created.requests.first() {
        leave(&client, output, plan, (before, form)).await?;
        tell_waiting(output, plan, *request);
        return Ok(Exit::Waiting);
    }
    if args.detach {
        leave(&client, output, plan, (before, form)).await?;
        output.note(&format!("{plan} runs; follow it with: pitcrew watch {plan}"));
        return Ok(Exit::Success);
    }
    to_the_end(&client, output, &mut person, plan, (before, form)).await
}

/// Says so where agents are not held by a box, and asks where nobody has agreed to that.
async fn agree(
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
    output.note(&format!("agents are confined by tier {tier}{why}"));
    if is_agreed || !output.asks {
        return Ok(None);
    }
    let question = match tier {
        Tier::T1 => "Nothing of the operating system holds the agents. Work like this? [y/N]",
        Tier::T2 | Tier::T3 => {
            "Agents run as root here and can change modes of root's files. Run them? [y/N]"
        }
    };
    match person.confirm(output, question).await {
        Verdict::Yes => {
            client.command(&Command::AcceptTier { tier }).await?;
            Ok(None)
        }
        Verdict::No => {
            output.note("nothing was run");
            Ok(Some(Exit::Failure))
        }
        Verdict::Interrupted => Ok(Some(Exit::Interrupted)),
    }
}

/// How a plan that may not run yet is let run.
pub fn tell_waiting(output: Output, plan: PlanId, request: RequestId) {
    output.note(&format!("{plan} waits for your approval as {request}"));
    output.note(&format!("look: pitcrew inbox; then: pitcrew approve {request}"));
}

/// Nobody wrote down who does it, so it is said.
fn tell_chosen(spec: &PlanSpec, chosen: &Chosen, output: Output) {
    if let Chosen::Only(agent) = chosen
        && spec.tasks.iter().any(|it| it.agent.backend == agent.backend)
    {
        output.note(&format!(
            "{agent} is the only agent that is ready: it does the tasks that name none"
        ));
    }
}

/// What the plan waits for from the start on: of that nothing happens that could be shown.
fn held(spec: &PlanSpec, board: &BoardView) -> Vec<String> {
    let wanted = |name: &str| spec.tasks.iter().any(|it| it.vendor() == Some(name));
    let held = board.held.iter().filter(|it| wanted(it.0));
    let line = |(backend, until): (&String, &Timestamp)| {
        let (backend, until) = (plain::line(backend), clock(*until, board.at));
        format!("waiting for {backend} until {until}: a limit of its provider is used up")
    };
    held.map(line).collect()
}

fn spec(
    args: &RunArgs,
    defaults: &PlanDefaults,
    output: Output,
) -> Result<(PlanSpec, Origin), Report> {
    let Some(path) = &args.file else {
        let request = IntentRequest {
            text: args.task.clone().unwrap_or_default(),
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
    let parsed = plan_file::read(path, defaults)?;
    plan_file::warn(&parsed, output);
    let mut spec = parsed.spec;
    if args.base.is_some() {
        spec.head.base.clone_from(&args.base);
    }
    Ok((spec, Origin::File))
}

enum Approved {
    Yes(Approval),
    No(Exit),
}

/// Shows everything that will be executed and asks, where somebody is there to be asked.
async fn approve(
    args: &RunArgs,
    spec: &PlanSpec,
    output: Output,
    person: &mut Person,
) -> Result<Approved, Report> {
    if args.yes {
        return Ok(Approved::Yes(Approval::Given));
    }
    if !output.asks {
        return Ok(Approved::Yes(Approval::Ask));
    }
    let picture = describe(spec).map_err(|error| Report::from_error(Exit::Usage, &error))?;
    output.note(&picture.to_string());
    match person.confirm(output, "Run this plan? [y/N]").await {
        Verdict::Yes => Ok(Approved::Yes(Approval::Given)),
        Verdict::No => {
            output.note("nothing was run");
            Ok(Approved::No(Exit::Failure))
        }
        Verdict::Interrupted => Ok(Approved::No(Exit::Interrupted)),
    }
}

/// The plan is on its own from here; its id is the result.
async fn leave(
    client: &Client,
    output: Output,
    plan: PlanId,
    (before, form): (Seq, Form),
) -> Result<(), Report> {
    match form {
        Form::Text => output.line(&plan.to_string()),
        Form::Json => print_events(client, output, plan, before).await,
    }
}

async fn to_the_end(
    client: &Client,
    output: Output,
    person: &mut Person,
    plan: PlanId,
    (mut after, form): (Seq, Form),
) -> Done {
    let query = BoardQuery { all: false, plan: Some(plan) };
    loop {
        let board = client.board(query).await?;
        let order = Order { plans: vec![plan], after, form };
        if follow(client, output, person, &board, order).await? == Ended::Interrupted {
            return pause(client, output, plan).await;
        }
        let exit = tell_end(client, output, plan, form).await?;
        let ended = client.board(query).await?;
        let Ok(tasks) = retryable(&ended, plan) else { return Ok(exit) };
        let is_over = ended.plan(plan).is_some_and(|it| it.status == PlanStatus::Cancelled);
        if form == Form::Json || !output.asks || is_over {
            return Ok(exit);
        }
        match person.confirm(output, "Retry failed subtask(s)? [y/n]:").await {
            Verdict::Yes => {}
            Verdict::No => return Ok(exit),
            Verdict::Interrupted => return Ok(Exit::Interrupted),
        }
        after = ended.seq;
        let freshness = Freshness::Continue;
        client.command(&Command::RetryTasks { tasks, freshness }).await?;
    }
}

/// Ctrl-C: the plan holds still until somebody wants it to go on.
async fn pause(client: &Client, output: Output, plan: PlanId) -> Done {
    output.note(&format!("pausing {plan}; Ctrl-C once more leaves at once"));
    match client.command(&Command::PausePlan { plan }).await {
        Ok(_) => output.note(&format!("{plan} is paused; go on with: pitcrew resume {plan}")),
        Err(report) => output.note(report.render(output.err).trim_end()),
    }
    Ok(Exit::Interrupted)
}

/// Prints what became of a plan.
pub async fn tell_end(client: &Client, output: Output, plan: PlanId, form: Form) -> Done {
    let board = client.board(BoardQuery { all: false, plan: Some(plan) }).await?;
    let Some(summary) = Summary::of(&board, plan) else {
        return Err(Report::new(Exit::Failure, format!("{plan} is gone from the board")));
    };
    if form == Form::Text {
        let state = &client.workspace.dirs.state;
        output.print(&render::summary(&summary, state, output.out))?;
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
