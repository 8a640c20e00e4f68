//! What may happen next, chosen by dice: people, agents, drivers, crashes and the clock.

use crate::{dice::Dice, drivers, world::World};
use pitcrew_kernel::next_due;
use pitcrew_model::{
    Actor, AgentRef, Approval, AttemptId, Claim, Command, CreatePlan, Deploy, Effect, Effort, Exit,
    Freshness, InputBody, NoteKind, Origin, Overlap, PermissionOption, PermissionOptionKind,
    PlanHead, PlanId, PlanSpec, RepoPath, RequestId, RequestStatus, Signal, TaskId, TaskSpec,
    TaskWork, Timestamp, ToolUse, Verdict, WorkerId,
};

const PLANS_MAX: usize = 4;

pub fn input(world: &mut World, dice: &mut Dice) -> (Actor, InputBody) {
    pass_time(world, dice);
    match dice.below(100) {
        0..60 => driver(world, dice),
        60..75 => agent(world, dice),
        75 if dice.one_in(3) => by_us(crash(world, dice)),
        76 => (Actor::Orchestrator, InputBody::Tick),
        _ => (Actor::Person, InputBody::Command(person(world, dice))),
    }
}

fn pass_time(world: &mut World, dice: &mut Dice) {
    let now = world.now;
    world.now = match dice.below(200) {
        0..150 => now.plus(dice.below(20)),
        150..197 => now.plus(dice.below(1_000)),
        197 => next_due(&world.state).map_or(now, |it| it.max(now)),
        198 => now.plus(dice.below(3_600_000)),
        _ => Timestamp(now.0.saturating_sub(dice.below(10_000))),
    };
}

fn driver(world: &World, dice: &mut Dice) -> (Actor, InputBody) {
    let open: Vec<_> = world.outbox.iter().map(|(id, it)| (*id, it.clone())).collect();
    let again = dice.one_in(30);
    let chosen = if again { dice.pick(&world.retired) } else { dice.pick(&open) };
    let Some((effect, order)) = chosen else { return (Actor::Orchestrator, InputBody::Tick) };
    if let Effect::Prompt { worker, .. } = order
        && !dice.one_in(3)
    {
        return agent_does(dice, worker);
    }
    let result = drivers::any(dice, world.faults_one_in, effect, &order);
    by_us(Signal::EffectEnded { effect, result })
}

fn crash(world: &World, dice: &mut Dice) -> Signal {
    let live: Vec<WorkerId> = world.state.live_workers().map(|it| it.id).collect();
    let worker = match dice.pick(&live) {
        Some(worker) if !dice.one_in(10) => worker,
        _ => WorkerId(dice.below(world.state.workers.len() as u64 + 2)),
    };
    let exit = match dice.below(3) {
        0 => drivers::exit(Some(1)),
        1 => drivers::exit(None),
        _ => Exit { code: None, signal: Some(9), stderr: "killed".into() },
    };
    Signal::AgentExited { worker, exit }
}

fn agent(world: &World, dice: &mut Dice) -> (Actor, InputBody) {
    let live: Vec<WorkerId> = world.state.live_workers().map(|it| it.id).collect();
    let worker = match dice.pick(&live) {
        Some(worker) if !dice.one_in(10) => worker,
        _ => WorkerId(dice.below(world.state.workers.len() as u64 + 2)),
    };
    agent_does(dice, worker)
}

fn agent_does(dice: &mut Dice, worker: WorkerId) -> (Actor, InputBody) {
    // Worker and attempt are opened together and have the same number.
    let attempt = AttemptId(worker.0);
    let claims = [Claim::Success, Claim::Success, Claim::Success, Claim::Partial, Claim::Failed];
    let claim = dice.pick(&claims).expect("a claim");
    let message = String::from(if dice.one_in(2) { "one" } else { "two" });
    let command = match dice.below(10) {
        0..4 => Command::CompleteTask { attempt, claim, summary: message },
        4..6 => Command::Notify { attempt, kind: NoteKind::Question, message },
        6 => Command::Notify { attempt, kind: NoteKind::Status, message },
        7 => return by_us(Signal::Activity { worker, note: message }),
        8 if dice.one_in(3) => {
            return by_us(Signal::AgentReattached { worker, away_ms: dice.below(10_000) });
        }
        _ => return by_us(permission(dice, worker)),
    };
    let nonce = format!("{}", dice.below(5));
    let again = Command::Once { nonce, order: Box::new(command.clone()) };
    let command = if dice.one_in(3) { again } else { command };
    (Actor::Worker(worker), InputBody::Command(command))
}

fn by_us(signal: Signal) -> (Actor, InputBody) {
    (Actor::Orchestrator, InputBody::Signal(signal))
}

fn permission(dice: &mut Dice, worker: WorkerId) -> Signal {
    let kinds = ["edit", "execute", "execute", "read", "delete"];
    let path = |it: &str| vec![String::from(it)];
    let tool = ToolUse {
        title: "tool".into(),
        kind: dice.pick(&kinds).expect("a kind").into(),
        paths: if dice.one_in(3) { Vec::new() } else { path("src/a") },
        outside: if dice.one_in(3) { path("/etc") } else { Vec::new() },
        command: None,
    };
    let option = |id: &str, kind| PermissionOption { id: id.into(), kind };
    let options = vec![
        option("yes", PermissionOptionKind::AllowOnce),
        option("no", PermissionOptionKind::RejectOnce),
    ];
    Signal::PermissionAsked { worker, call: format!("call-{}", dice.below(50)), tool, options }
}

fn person(world: &World, dice: &mut Dice) -> Command {
    let state = &world.state;
    let task = TaskId(1 + dice.below(state.tasks.len() as u64 + 1));
    let plan = PlanId(1 + dice.below(state.plans.len() as u64 + 1));
    let open = state.requests.iter().filter(|it| it.status == RequestStatus::AtUser);
    let open: Vec<RequestId> = open.map(|it| it.id).collect();
    let request = match dice.pick(&open) {
        Some(request) if !dice.one_in(10) => request,
        _ => RequestId(1 + dice.below(state.requests.len() as u64 + 1)),
    };
    let verdict = if dice.one_in(4) { Verdict::Deny } else { Verdict::Approve };
    let freshness = if dice.one_in(3) { Freshness::Fresh } else { Freshness::Continue };
    let approval = if dice.one_in(2) { Approval::Given } else { Approval::Ask };
    if state.plans.is_empty() || (state.plans.len() < PLANS_MAX && dice.one_in(12)) {
        return Command::CreatePlan(new_plan(dice));
    }
    match dice.below(40) {
        0..12 => Command::DecideRequest { request, verdict, reason: None },
        12..17 => Command::AnswerQuestion { request, text: "answer".into() },
        17..20 => Command::DeployTask { task },
        20..25 => {
            let other = TaskId(1 + dice.below(state.tasks.len() as u64));
            let tasks = if dice.one_in(2) { vec![task] } else { vec![task, other] };
            Command::RetryTasks { tasks, freshness }
        }
        25 | 26 => Command::AcceptTask { task },
        27 | 28 => Command::CancelTask { task },
        29 if dice.one_in(4) => Command::CancelPlan { plan },
        29 | 30 => Command::PausePlan { plan },
        31..34 => Command::ResumePlan { plan },
        34 => Command::AbandonTask { task },
        35 => Command::AbandonPlan { plan },
        36 | 37 => Command::LandPlan { plan, approval },
        38 if dice.one_in(2) => Command::CollectGarbage,
        38 => {
            let number = if dice.one_in(2) { None } else { u32::try_from(dice.below(5)).ok() };
            Command::RestoreTask { task, number }
        }
        _ => Command::SetAgentsMax { count: u32::try_from(dice.below(6)).expect("small") },
    }
}

fn new_plan(dice: &mut Dice) -> CreatePlan {
    let count = 1 + dice.below(7);
    let head = PlanHead {
        name: "plan".into(),
        description: String::new(),
        base: None,
        deploy: if dice.one_in(5) { Deploy::Manual } else { Deploy::Auto },
        overlap: if dice.one_in(4) { Overlap::Allow } else { Overlap::Wait },
        effort: dice.pick(&[Effort::Low, Effort::Medium, Effort::High]).expect("an effort"),
        shared: Vec::new(),
        setup: Vec::new(),
        setup_inputs: Vec::new(),
    };
    CreatePlan {
        spec: PlanSpec { head, tasks: (0..count).map(|it| new_task(dice, it, count)).collect() },
        origin: if dice.one_in(3) { Origin::Intent } else { Origin::File },
        clean_base: false,
        approval: if dice.one_in(2) { Approval::Given } else { Approval::Ask },
    }
}

fn new_task(dice: &mut Dice, index: u64, count: u64) -> TaskSpec {
    let regions = ["core", "core/a", "core/b", "ui"];
    let region = if dice.one_in(3) { None } else { dice.pick(&regions) };
    let prefix = |it: &str| RepoPath::parse_prefix(it).expect("a path");
    // Most depend on earlier ones; now and then a cycle is tried.
    let reach = if dice.one_in(60) { count } else { index };
    let depends_on = (0..reach).filter(|_| dice.one_in(3)).map(|it| format!("t{it}")).collect();
    TaskSpec {
        key: format!("t{index}"),
        work: TaskWork::Prompt { prompt: "do it".into() },
        region: region.into_iter().map(prefix).collect(),
        depends_on,
        agent: AgentRef::backend("claude"),
        checks: if dice.one_in(2) { vec!["check".into()] } else { Vec::new() },
        expected_files: Vec::new(),
        criteria: Vec::new(),
        attempts_max: 1 + u32::try_from(dice.below(3)).expect("small"),
        timeout_ms: 1_000 + dice.below(100_000),
    }
}
