//! Measures the kernel alone: decides and folds every input of a plan whose drivers answer at once.
//!
//! Prints one flat JSON object per line. Run it with
//! `cargo run --release -p pitcrew-kernel --example bench_kernel`.

use pitcrew_kernel::{State, step};
use pitcrew_model::{
    Actor, AgentRef, Approval, AttemptId, Claim, Command, CommitId, CreatePlan, Deploy, Effect,
    EffectId, EffectResult, Effort, Exit, Input, InputBody, Origin, Overlap, PlanBase, PlanHead,
    PlanSpec, PlanStatus, RepoPath, Signal, StopReason, TaskSpec, TaskWork, Timestamp, Usage, Work,
};
use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

const SLOTS: usize = 100;
const MEASURE_AT_LEAST: Duration = Duration::from_millis(500);

fn main() {
    // Chains, as many as there are slots; then everything at once, which leaves most of it waiting.
    let shapes = [(100, SLOTS), (1_000, SLOTS), (10_000, SLOTS), (1_000, 1_000), (10_000, 10_000)];
    for (tasks_count, width) in shapes {
        let plan = plan(tasks_count, width);
        run(&plan);
        let (mut inputs_count, mut spent, mut runs_count) = (0, Duration::ZERO, 0);
        while spent < MEASURE_AT_LEAST {
            let (inputs, time) = run(&plan);
            inputs_count += inputs;
            spent += time;
            runs_count += 1;
        }
        print((tasks_count, width), runs_count, inputs_count, spent);
    }
}

fn print(
    (tasks_count, width): (usize, usize),
    runs_count: u64,
    inputs_count: u64,
    spent: Duration,
) {
    let nanoseconds = u64::try_from(spent.as_nanos()).expect("a short time");
    let inputs_per_s = inputs_count * 1_000_000_000 / nanoseconds;
    let ns_per_task = nanoseconds / (runs_count * tasks_count as u64);
    println!(
        "{{\"tasks\":{tasks_count},\"width\":{width},\"runs\":{runs_count},\
         \"inputs\":{inputs_count},\"inputs_per_s\":{inputs_per_s},\"ns_per_task\":{ns_per_task}}}"
    );
}

/// Runs a plan from its creation to its end. Returns the number of inputs and the time.
fn run(plan: &CreatePlan) -> (u64, Duration) {
    let slots = u32::try_from(SLOTS).expect("a small number");
    let mut state = State { agents_max: slots, agents_live_max: 2 * slots, ..State::default() };
    let mut inputs = VecDeque::from([input(
        Actor::Person,
        InputBody::Command(Command::CreatePlan(plan.clone())),
    )]);
    let mut inputs_count = 0;
    let started = Instant::now();
    while let Some(input) = inputs.pop_front() {
        let step = step(&mut state, &input).expect("nothing is rejected here");
        inputs_count += 1;
        for (id, effect) in step.effects {
            answer(&mut inputs, id, effect);
        }
    }
    let spent = started.elapsed();
    let ended = state.plans.iter().all(|it| it.status == PlanStatus::Completed);
    assert!(ended, "every task is completed");
    (inputs_count, spent)
}

fn input(actor: Actor, body: InputBody) -> Input {
    Input { at: Timestamp(1_000), actor, body }
}

fn commit(id: EffectId) -> CommitId {
    CommitId(format!("{:040x}", id.0))
}

/// Returns the inputs of a driver that answers at once. An agent completes before its turn ends.
fn answer(inputs: &mut VecDeque<Input>, effect: EffectId, order: Effect) {
    if let Effect::Prompt { worker, .. } = &order {
        // A worker and its attempt are opened together and have the same number.
        let (attempt, claim) = (AttemptId(worker.0), Claim::Success);
        let command =
            Command::CompleteTask { attempt, claim, summary: "done".into(), output: None };
        inputs.push_back(input(Actor::Worker(*worker), InputBody::Command(command)));
    }
    let result = result(effect, order);
    let signal = Signal::EffectEnded { effect, result };
    inputs.push_back(input(Actor::Orchestrator, InputBody::Signal(signal)));
}

fn result(id: EffectId, order: Effect) -> EffectResult {
    match order {
        Effect::PreparePlan { plan, .. } => {
            let (tip, start) = (commit(id), commit(id));
            let base = PlanBase {
                branch: None,
                tip,
                start,
                dirty_count: 0,
                notes: Vec::new(),
                left_behind: pitcrew_model::LeftBehind::default(),
            };
            EffectResult::PlanPrepared { plan, base }
        }
        Effect::CheckBase { plan, .. } => EffectResult::BaseChecked { plan, checks: Vec::new() },
        Effect::PrepareCheckout { attempt, .. } => EffectResult::CheckoutPrepared {
            attempt,
            path: "/checkouts/task".into(),
            notes: Vec::new(),
        },
        Effect::StartAgent { worker, .. } => {
            EffectResult::AgentReady { worker, agent: "agent".into(), session: "session".into() }
        }
        Effect::Prompt { worker, .. } => EffectResult::TurnEnded {
            worker,
            stop: StopReason::EndTurn,
            usage: Usage::default(),
            last_words: String::new(),
        },
        Effect::AnswerPermission { worker, .. } => EffectResult::PermissionAnswered { worker },
        Effect::InterruptTurn { worker } => EffectResult::TurnInterrupted { worker },
        Effect::StopAgent { worker } => {
            let exit = Exit { code: Some(0), signal: None, stderr: String::new() };
            EffectResult::AgentStopped { worker, exit }
        }
        Effect::CollectWork { attempt, .. } => {
            let (commit, files) = (commit(id), Vec::new());
            let work = Work { commit, files_count: 1, insertions: 1, deletions: 0, files };
            EffectResult::WorkCollected { attempt, work }
        }
        Effect::SaveWork { attempt, .. } => EffectResult::WorkSaved { attempt, commit: None },
        Effect::Verify { attempt, .. } => {
            EffectResult::Verified { attempt, merged: commit(id), checks: Vec::new() }
        }
        Effect::Integrate { attempt, merged, .. } => {
            EffectResult::Integrated { attempt, head: merged }
        }
        Effect::Land { plan, .. } => {
            let failure = pitcrew_model::Failure::Git { message: "nothing is landed here".into() };
            EffectResult::NotLanded { plan, failure }
        }
        Effect::Snapshot { attempt, .. } => EffectResult::SnapshotUnchanged { attempt },
        effect @ (Effect::UndoLanding { .. }
        | Effect::Restore { .. }
        | Effect::DropSnapshots { .. }
        | Effect::TidyVault
        | Effect::PullWork { .. }
        | Effect::ConsultOracle { .. }) => {
            panic!("unexpected effect: {effect:?}")
        }
        Effect::RemoveCheckout { attempt, .. } => EffectResult::CheckoutRemoved { attempt },
    }
}

/// As many chains as the plan is wide, each in its own region.
fn plan(tasks_count: usize, width: usize) -> CreatePlan {
    let head = PlanHead {
        name: "bench".into(),
        description: String::new(),
        base: None,
        deploy: Deploy::Auto,
        overlap: Overlap::Wait,
        effort: Effort::Medium,
        shared: Vec::new(),
        setup: Vec::new(),
        setup_inputs: Vec::new(),
        caps: pitcrew_model::Caps::NONE,
        denied: Vec::new(),
        reads: pitcrew_model::Reads::Guided,
        include: Vec::new(),
        agents_max: None,
    };
    CreatePlan {
        spec: PlanSpec { head, tasks: (0..tasks_count).map(|it| task(it, width)).collect() },
        origin: Origin::File,
        clean_base: false,
        approval: Approval::Given,
        default_agent: None,
    }
}

fn task(index: usize, width: usize) -> TaskSpec {
    let before = index.checked_sub(width);
    let region = format!("src/part-{}", index % width);
    TaskSpec {
        key: format!("task {index}"),
        work: TaskWork::Prompt { prompt: "Do it.".into() },
        region: vec![RepoPath::parse_prefix(&region).expect("a plain path")],
        depends_on: before.into_iter().map(|it| format!("task {it}")).collect(),
        agent: AgentRef::backend("agent"),
        checks: vec!["make test".into()],
        expected_files: Vec::new(),
        criteria: Vec::new(),
        attempts_max: 3,
        timeout_ms: 3_600_000,
        caps: pitcrew_model::Caps::NONE,
        model: None,
    }
}
