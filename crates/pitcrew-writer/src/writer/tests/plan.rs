//! A plan, and drivers that answer at once.

use pitcrew_model::{
    Actor, AgentRef, Approval, AttemptId, Claim, Command, CommitId, CreatePlan, Deploy, Effect,
    EffectId, EffectResult, Effort, Exit, Failure, Input, InputBody, Origin, Overlap, PlanBase,
    PlanHead, PlanSpec, Signal, StopReason, TaskSpec, TaskWork, Timestamp, Usage, Work,
};

pub fn command(command: Command) -> Input {
    Input { at: Timestamp(1_000), actor: Actor::Person, body: InputBody::Command(command) }
}

pub fn tick(at: u64) -> Input {
    Input { at: Timestamp(at), actor: Actor::Orchestrator, body: InputBody::Tick }
}

/// A diamond of four tasks. The second one fails once.
pub fn diamond() -> Command {
    let task = |key: &str, depends_on: &[&str]| TaskSpec {
        key: key.into(),
        work: TaskWork::Prompt { prompt: "do a part of it".into() },
        region: Vec::new(),
        depends_on: depends_on.iter().map(ToString::to_string).collect(),
        agent: AgentRef::backend("model"),
        checks: vec!["true".into()],
        expected_files: Vec::new(),
        criteria: Vec::new(),
        attempts_max: 3,
        timeout_ms: 60_000,
        caps: pitcrew_model::Caps::NONE,
        model: None,
    };
    let tasks = vec![
        task("top", &[]),
        task("left", &["top"]),
        task("right", &["top"]),
        task("bottom", &["left", "right"]),
    ];
    let head = PlanHead {
        name: "diamond".into(),
        description: String::new(),
        base: None,
        deploy: Deploy::Auto,
        overlap: Overlap::Wait,
        effort: Effort::Low,
        shared: Vec::new(),
        setup: Vec::new(),
        setup_inputs: Vec::new(),
        caps: pitcrew_model::Caps::NONE,
        denied: Vec::new(),
        reads: pitcrew_model::Reads::Guided,
        include: Vec::new(),
        agents_max: None,
    };
    Command::CreatePlan(CreatePlan {
        spec: PlanSpec { head, tasks },
        origin: Origin::File,
        clean_base: false,
        approval: Approval::Given,
        default_agent: None,
    })
}

/// Returns the inputs of a driver that answers at once. The second attempt's work lacks an expected
/// file.
pub fn answer(effect: EffectId, order: &Effect) -> Vec<Input> {
    let result = result(order);
    let body = InputBody::Signal(Signal::EffectEnded { effect, result });
    let ended = Input { at: Timestamp(1_000), actor: Actor::Orchestrator, body };
    let Effect::Prompt { worker, .. } = order else { return vec![ended] };
    // A worker and its attempt are opened together and have the same number.
    let (attempt, summary) = (AttemptId(worker.0), "done".to_owned());
    let done = Command::CompleteTask { attempt, claim: Claim::Success, summary, output: None };
    let body = InputBody::Command(done);
    vec![Input { at: Timestamp(1_000), actor: Actor::Worker(*worker), body }, ended]
}

fn result(order: &Effect) -> EffectResult {
    match order {
        Effect::PreparePlan { plan, .. } => {
            EffectResult::PlanPrepared { plan: *plan, base: base() }
        }
        Effect::CheckBase { plan, .. } => {
            EffectResult::BaseChecked { plan: *plan, checks: Vec::new() }
        }
        Effect::PrepareCheckout { attempt, .. } => EffectResult::CheckoutPrepared {
            attempt: *attempt,
            path: format!("/{attempt}"),
            notes: Vec::new(),
        },
        Effect::StartAgent { worker, .. } => {
            EffectResult::AgentReady { worker: *worker, agent: "x".into(), session: "1".into() }
        }
        Effect::Prompt { worker, .. } => EffectResult::TurnEnded {
            worker: *worker,
            stop: StopReason::EndTurn,
            usage: Usage::default(),
            last_words: String::new(),
        },
        Effect::StopAgent { worker } => {
            let exit = Exit { code: Some(0), signal: None, stderr: String::new() };
            EffectResult::AgentStopped { worker: *worker, exit }
        }
        Effect::CollectWork { attempt, .. } => {
            EffectResult::WorkCollected { attempt: *attempt, work: work() }
        }
        Effect::Verify { attempt: attempt @ AttemptId(2), .. } => EffectResult::AttemptFailed {
            attempt: *attempt,
            failure: Failure::ExpectedFiles { missing: vec!["x".into()] },
        },
        Effect::Verify { attempt, .. } => {
            EffectResult::Verified { attempt: *attempt, merged: commit("3"), checks: Vec::new() }
        }
        Effect::Integrate { attempt, merged, .. } => {
            EffectResult::Integrated { attempt: *attempt, head: merged.clone() }
        }
        Effect::AnswerPermission { .. }
        | Effect::InterruptTurn { .. }
        | Effect::SaveWork { .. }
        | Effect::Snapshot { .. }
        | Effect::Restore { .. }
        | Effect::DropSnapshots { .. }
        | Effect::TidyVault
        | Effect::Land { .. }
        | Effect::UndoLanding { .. }
        | Effect::PullWork { .. }
        | Effect::ConsultOracle { .. }
        | Effect::RemoveCheckout { .. } => panic!("unexpected effect: {order:?}"),
    }
}

fn commit(name: &str) -> CommitId {
    CommitId(format!("{name:0>40}"))
}

fn base() -> PlanBase {
    let (tip, start) = (commit("1"), commit("1"));
    PlanBase {
        branch: Some("main".into()),
        tip,
        start,
        dirty_count: 0,
        notes: Vec::new(),
        left_behind: pitcrew_model::LeftBehind::default(),
    }
}

fn work() -> Work {
    let commit = commit("2");
    Work { commit, files_count: 0, insertions: 0, deletions: 0, files: Vec::new() }
}
