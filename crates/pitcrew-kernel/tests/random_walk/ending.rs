//! Faults stop, drivers answer, people decide: then everything must come to its end, soon.

use crate::{drivers, world::World};
use pitcrew_kernel::next_due;
use pitcrew_model::{
    Actor, Approval, AttemptId, Claim, Command, Effect, EffectId, InputBody, LandingStatus, PlanId,
    PlanStatus, RequestKind, RequestStatus, Signal, TaskStatus, Verdict,
};

const STEPS_MAX: u32 = 5_000;

/// Lets everybody do their duty until nobody has any left, and checks that all has ended.
pub fn settle_down(world: &mut World) {
    world.command(Command::SetAgentsMax { count: 2 });
    let mut steps = 0;
    while drivers_answer(world) || people_decide(world) || time_passes(world) {
        steps += 1;
        assert!(steps < STEPS_MAX, "it never ends: {:#?}", world.outbox);
    }
    for plan in world.state.plans.iter() {
        assert!(plan.status.has_ended(), "{} is left {}", plan.id, plan.status);
        assert!(plan.merge_queue.is_empty() && plan.merging.is_none(), "{} merges", plan.id);
    }
    for task in world.state.tasks.iter() {
        let rests = task.status.has_ended() || task.status == TaskStatus::Blocked;
        assert!(rests, "{} is left {}", task.id, task.status);
    }
    for attempt in world.state.attempts.iter() {
        assert!(!attempt.is_open() && attempt.put_away, "{} is left over", attempt.id);
    }
    assert_eq!(world.state.live_workers().count(), 0, "processes are left alive");
    assert!(world.state.effects.is_empty() && world.outbox.is_empty(), "effects are left open");
}

/// Lands what can be landed and removes what is not needed any more.
pub fn land_and_tidy(world: &mut World) {
    let plans: Vec<PlanId> = world.state.plans.iter().map(|it| it.id).collect();
    for plan in &plans {
        world.command(Command::LandPlan { plan: *plan, approval: Approval::Given });
        world.command(Command::AbandonPlan { plan: *plan });
    }
    world.command(Command::CollectGarbage);
    settle_down(world);
    for plan in plans.iter().map(|it| &world.state.plans[*it]) {
        let landable = matches!(plan.status, PlanStatus::Completed | PlanStatus::Partial);
        if landable && plan.completed_count > 0 {
            assert_eq!(plan.landing, LandingStatus::Cleaned, "{}", plan.id);
        }
    }
}

fn drivers_answer(world: &mut World) -> bool {
    let open: Vec<(EffectId, Effect)> =
        world.outbox.iter().map(|(id, it)| (*id, it.clone())).collect();
    for (effect, order) in &open {
        if let Effect::Prompt { worker, .. } = order {
            let (attempt, claim) = (AttemptId(worker.0), Claim::Success);
            let command = Command::CompleteTask { attempt, claim, summary: "done".into() };
            world.take((Actor::Worker(*worker), InputBody::Command(command)));
        }
        let result = drivers::success(*effect, order);
        world.signal(Signal::EffectEnded { effect: *effect, result });
    }
    !open.is_empty()
}

fn people_decide(world: &mut World) -> bool {
    let mut acted = false;
    let open = world.state.requests.iter().filter(|it| it.status == RequestStatus::AtUser);
    let open: Vec<_> = open.map(|it| (it.id, it.kind.clone())).collect();
    for (request, kind) in open {
        acted |= world.command(match kind {
            RequestKind::Question { .. } => Command::AnswerQuestion { request, text: "yes".into() },
            RequestKind::PlanExecution | RequestKind::BranchMerge | RequestKind::ToolUse { .. } => {
                Command::DecideRequest { request, verdict: Verdict::Approve, reason: None }
            }
        });
    }
    let paused = world.state.plans.iter().filter(|it| it.status == PlanStatus::Paused);
    for plan in paused.map(|it| it.id).collect::<Vec<_>>() {
        acted |= world.command(Command::ResumePlan { plan });
    }
    let waiting = world.state.tasks.iter().filter(|it| !it.deployed);
    for task in waiting.map(|it| it.id).collect::<Vec<_>>() {
        acted |= world.command(Command::DeployTask { task });
    }
    acted
}

fn time_passes(world: &mut World) -> bool {
    let Some(due) = next_due(&world.state) else { return false };
    world.now = world.now.max(due);
    world.take((Actor::Orchestrator, InputBody::Tick))
}
