//! Without faults everything must end soon: drivers answer and people decide.

use crate::{broken::hold, dice::Dice, drivers::Mood, world::World};
use pitcrew_kernel::next_due;
use pitcrew_model::{
    Actor, Approval, Command, CommitId, EffectId, GrantScope, Hooks, InputBody, LandingStatus,
    PlanId, PlanStatus, RequestKind, RequestStatus, TaskStatus, Verdict,
};
use pitcrew_store::Journal;

const ROUNDS_MAX: u32 = 3_000;

/// Runs the rest of a schedule, and checks the end.
pub fn finish(world: &mut World) {
    world.line(|| "> from here on nothing fails".into());
    world.disk.lock().refusals.0 = 0;
    world.disk.lock().death = None;
    world.faults_one_in = u64::MAX;
    world.flush();
    order(world, Command::SetAgentsMax { count: 2 });
    settle_down(world);
    land_and_tidy(world);
    world.die_at_the_end();
    settle_down(world);
    check_journal(world);
}

fn order(world: &mut World, command: Command) {
    world.say(Actor::Person, InputBody::Command(command));
    world.flush();
}

/// Runs everything until nothing is left to do, and checks that all has ended.
fn settle_down(world: &mut World) {
    let (mut rounds, mut idle) = (0, 0);
    // A prompt is sent in one round and answered in the next.
    while idle < 2 {
        let before = world.ledger.seq;
        drivers_answer(world);
        people_decide(world);
        if world.ledger.seq == before && idle > 0 {
            time_passes(world);
        }
        idle = if world.ledger.seq == before { idle + 1 } else { 0 };
        rounds += 1;
        hold!(rounds < ROUNDS_MAX, "everything comes to its end", "{:?}", world.running);
    }
    let state = world.state();
    for plan in state.plans.iter() {
        let ended = plan.status.has_ended() && plan.merge_queue.is_empty();
        hold!(ended, "everything comes to its end", "{} is left {}", plan.id, plan.status);
        let waits = plan.completed_count > 0 && plan.landing == LandingStatus::None;
        let is_left = waits && plan.status != PlanStatus::Cancelled && plan.is_answer();
        hold!(!is_left, "an answer is not left to be landed", "{}", plan.id);
    }
    for task in state.tasks.iter() {
        let rests = task.status.has_ended() || task.status == TaskStatus::Blocked;
        hold!(rests, "n tasks in, n outcomes out", "{} is left {}", task.id, task.status);
    }
    for attempt in state.attempts.iter() {
        let over = !attempt.is_open() && attempt.put_away;
        hold!(over, "everything comes to its end", "{} is left over", attempt.id);
    }
    let alive = world.agents.values().filter(|it| it.alive).count();
    hold!(alive == 0, "no process is left behind", "{alive} are alive");
    let idle = state.effects.is_empty() && world.running.is_empty();
    hold!(idle, "everything comes to its end", "{:?}", state.effects);
}

fn land_and_tidy(world: &mut World) {
    let plans: Vec<PlanId> = world.state().plans.iter().map(|it| it.id).collect();
    for plan in &plans {
        order(world, land(*plan, None));
        order(world, Command::AbandonPlan { plan: *plan });
    }
    settle_down(world);
    sign(world, &plans);
    order(world, Command::CollectGarbage);
    settle_down(world);
    for plan in plans.iter().map(|it| &world.state().plans[*it]) {
        let landable = matches!(plan.status, PlanStatus::Completed | PlanStatus::Partial);
        if landable && plan.completed_count > 0 && !plan.is_answer() {
            let cleaned = plan.landing == LandingStatus::Cleaned;
            hold!(cleaned, "what is done can be landed", "{} is {}", plan.id, plan.landing);
        }
    }
}

fn land(plan: PlanId, signed: Option<CommitId>) -> Command {
    let (approval, hooks) = (Approval::Given, Hooks::Run);
    Command::LandPlan { plan, approval, history: None, message: None, hooks, signed }
}

/// A person signs what waits for that.
fn sign(world: &mut World, plans: &[PlanId]) {
    for plan in plans {
        if world.state().plans[*plan].landing == LandingStatus::Signing {
            let signed = world.git.plans[plan].to_sign.clone();
            order(world, land(*plan, signed));
        }
    }
}

fn drivers_answer(world: &mut World) {
    let running: Vec<EffectId> = world.running.keys().copied().collect();
    let mut dice = Dice::new(1);
    for effect in &running {
        world.drive(*effect, &mut dice, Mood::Good);
        world.flush();
    }
}

fn people_decide(world: &mut World) {
    let open = world.state().requests.iter().filter(|it| it.status == RequestStatus::AtUser);
    let open: Vec<_> = open.map(|it| (it.id, it.kind.clone())).collect();
    for (request, kind) in open {
        let command = match kind {
            RequestKind::Question { .. } => Command::AnswerQuestion { request, text: "yes".into() },
            RequestKind::PlanExecution
            | RequestKind::BranchMerge
            | RequestKind::Budget(_)
            | RequestKind::ToolUse { .. } => Command::DecideRequest {
                request,
                verdict: Verdict::Approve,
                reason: None,
                scope: GrantScope::Once,
                shown: world.shown(request),
            },
        };
        order(world, command);
    }
    let paused = world.state().plans.iter().filter(|it| it.status == PlanStatus::Paused);
    for plan in paused.map(|it| it.id).collect::<Vec<_>>() {
        order(world, Command::ResumePlan { plan });
    }
    let waiting = world.state().tasks.iter().filter(|it| !it.deployed);
    for task in waiting.map(|it| it.id).collect::<Vec<_>>() {
        order(world, Command::DeployTask { task });
    }
}

fn time_passes(world: &mut World) {
    let Some(due) = next_due(world.state()) else { return };
    world.now = world.now.max(due);
    world.say(Actor::Orchestrator, InputBody::Tick);
    world.flush();
}

/// Checks that everything that began has ended once.
fn check_journal(world: &World) {
    let ledger = &world.ledger;
    let tasks = ledger.tasks.len();
    hold!(tasks >= world.tasks_accepted, "n tasks in, n outcomes out", "{tasks} are known");
    let open = ledger.requests.iter().filter(|it| it.status.is_open()).count();
    hold!(open == 0, "every request has one end", "{open} are open");
    let running = ledger.workers.iter().filter(|it| !it.status.has_ended()).count();
    hold!(running == 0, "every worker has one end", "{running} run");
    let attempts = ledger.attempts.iter().filter(|it| it.outcome.is_none()).count();
    hold!(attempts == 0, "an attempt has one outcome", "{attempts} have none");
    let unread = ledger.mail.letters.iter().filter(|it| !it.status.has_ended());
    let unread = unread.filter(|it| {
        let task = it.task.and_then(|it| world.state().tasks.get(it));
        task.is_none_or(|it| it.status != TaskStatus::Blocked)
    });
    let unread = unread.count();
    hold!(unread == 0, "a message is processed once or dead", "{unread} are neither");
    let open = ledger.queries.rows.iter().filter(|it| it.outcome.is_none()).count();
    hold!(open == 0, "every query has one end", "{open} are open");
    let last = world.disk.last().expect("the disk reads").0;
    hold!(last == ledger.seq, "the journal is whole", "{last} entries, {} seen", ledger.seq);
}
