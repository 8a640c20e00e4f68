//! A journal as months of work leave it: plans whose drivers answered immediately.

use crate::support::BenchResult;
use pitcrew_model::{
    Actor, AgentRef, Approval, AttemptId, CheckResult, Claim, Command, CommitId, CreatePlan,
    Deploy, Effect, EffectId, EffectResult, Effort, Exit, FileChange, Input, InputBody, Origin,
    Overlap, PlanBase, PlanHead, PlanSpec, RepoPath, Signal, StopReason, TaskSpec, TaskWork,
    Timestamp, Usage, Work,
};
use pitcrew_runtime::Writer;
use pitcrew_store::SqliteJournal;
use std::{fs, path::Path};

const TASKS_PER_PLAN: usize = 50;
const WIDTH: usize = 10;

/// Writes a journal with at least `wanted` events into the folder, and returns their number.
pub fn fill(folder: &Path, wanted: u64) -> BenchResult<u64> {
    fs::remove_file(folder.join("journal.db"))?;
    let mut writer = Writer::open(SqliteJournal::open(folder)?, |_| {})?;
    // Plans are not created in the same millisecond, and notes are stored only some time apart.
    let mut now = 1_700_000_000_000;
    for number in 1.. {
        let mut inputs = vec![(Actor::Person, InputBody::Command(create_plan(number)))];
        while !inputs.is_empty() {
            now += 1_000;
            let at = |(actor, body)| Input { at: Timestamp(now), actor, body };
            let batch: Vec<Input> = inputs.drain(..).map(at).collect();
            let committed = writer.commit(&batch);
            if let Some(refused) = committed.verdicts.iter().find_map(|it| it.as_ref().err()) {
                return Err(refused.to_string().into());
            }
            inputs = committed.effects.into_iter().flat_map(|(id, it)| answer(id, it)).collect();
        }
        if writer.last().0 >= wanted {
            break;
        }
    }
    Ok(writer.last().0)
}

fn answer(effect: EffectId, order: Effect) -> Vec<(Actor, InputBody)> {
    let mut inputs = Vec::new();
    if let Effect::Prompt { worker, .. } = &order {
        let note = "reads src/parser/expression.rs and looks for its callers".into();
        let activity = Signal::Activity { worker: *worker, note };
        inputs.push((Actor::Worker(*worker), InputBody::Signal(activity)));
        // Worker and attempt are opened together and have the same number.
        let attempt = AttemptId(worker.0);
        let summary = "Split the parser, moved its tests, and made the old name a forward.".into();
        let done = Command::CompleteTask { attempt, claim: Claim::Success, summary, output: None };
        inputs.push((Actor::Worker(*worker), InputBody::Command(done)));
    }
    let ended = Signal::EffectEnded { effect, result: result(effect, order) };
    inputs.push((Actor::Orchestrator, InputBody::Signal(ended)));
    inputs
}

fn result(id: EffectId, order: Effect) -> EffectResult {
    let commit = CommitId(format!("{:040x}", id.0));
    match order {
        Effect::PreparePlan { plan, .. } => {
            let (tip, start) = (commit.clone(), commit);
            let branch = Some("main".into());
            let base = PlanBase {
                branch,
                tip,
                start,
                dirty_count: 0,
                notes: Vec::new(),
                left_behind: pitcrew_model::LeftBehind::default(),
            };
            EffectResult::PlanPrepared { plan, base }
        }
        Effect::CheckBase { plan, checks, .. } => {
            EffectResult::BaseChecked { plan, checks: passed(checks) }
        }
        Effect::PrepareCheckout { attempt, .. } => EffectResult::CheckoutPrepared {
            attempt,
            path: format!("/srv/projects/.worktrees/repository/{attempt}"),
            notes: Vec::new(),
        },
        Effect::StartAgent { worker, .. } => {
            let (agent, session) = ("agent 1.2.3".into(), format!("session-{:032x}", id.0));
            EffectResult::AgentReady { worker, agent, session }
        }
        Effect::Prompt { worker, .. } => {
            let last_words = "All tests pass. I have completed the task.".into();
            let (stop, usage) = (StopReason::EndTurn, Usage::default());
            EffectResult::TurnEnded { worker, stop, usage, last_words }
        }
        Effect::StopAgent { worker } => {
            let exit = Exit { code: Some(0), signal: None, stderr: String::new() };
            EffectResult::AgentStopped { worker, exit }
        }
        Effect::CollectWork { attempt, .. } => {
            let file = |number| FileChange { path: format!("src/part/{number}.rs"), change: 'M' };
            let files = (1..=6).map(file).collect();
            let work = Work { commit, files_count: 6, insertions: 120, deletions: 30, files };
            EffectResult::WorkCollected { attempt, work }
        }
        Effect::Verify { attempt, checks, .. } => {
            EffectResult::Verified { attempt, merged: commit, checks: passed(checks) }
        }
        Effect::Integrate { attempt, merged, .. } => {
            EffectResult::Integrated { attempt, head: merged }
        }
        other @ (Effect::AnswerPermission { .. }
        | Effect::InterruptTurn { .. }
        | Effect::SaveWork { .. }
        | Effect::Land { .. }
        | Effect::UndoLanding { .. }
        | Effect::PullWork { .. }
        | Effect::ConsultOracle { .. }
        | Effect::RemoveCheckout { .. }
        | Effect::Snapshot { .. }
        | Effect::Restore { .. }
        | Effect::DropSnapshots { .. }
        | Effect::TidyVault) => panic!("nobody asked for {other:?}"),
    }
}

fn passed(checks: Vec<String>) -> Vec<CheckResult> {
    let output = "test result: ok. 212 passed; 0 failed".to_owned();
    let passed =
        |command| CheckResult { command, code: Some(0), output: output.clone(), took_ms: 900 };
    checks.into_iter().map(passed).collect()
}

fn create_plan(number: u64) -> Command {
    let head = PlanHead {
        name: format!("plan number {number}"),
        description: "Takes one part of the program after the other to the new interface.".into(),
        base: None,
        deploy: Deploy::Auto,
        overlap: Overlap::Wait,
        effort: Effort::Medium,
        shared: Vec::new(),
        setup: vec!["cargo fetch".into()],
        setup_inputs: Vec::new(),
        caps: pitcrew_model::Caps::NONE,
        denied: Vec::new(),
        reads: pitcrew_model::Reads::Guided,
        include: Vec::new(),
        agents_max: None,
    };
    Command::CreatePlan(CreatePlan {
        spec: PlanSpec { head, tasks: (0..TASKS_PER_PLAN).map(task).collect() },
        origin: Origin::File,
        clean_base: false,
        approval: Approval::Given,
        default_agent: None,
    })
}

fn task(index: usize) -> TaskSpec {
    let region = format!("src/part-{}", index % WIDTH);
    let before = index.checked_sub(WIDTH).map(|it| format!("task-{it}"));
    TaskSpec {
        key: format!("task-{index}"),
        work: TaskWork::Prompt { prompt: "Move this part over, and keep its tests. ".repeat(20) },
        region: vec![RepoPath::parse_prefix(&region).expect("a plain path")],
        depends_on: before.into_iter().collect(),
        agent: AgentRef::backend("agent"),
        checks: vec!["cargo test".into()],
        expected_files: Vec::new(),
        criteria: vec!["The old name still works.".into()],
        attempts_max: 3,
        timeout_ms: 3_600_000,
        caps: pitcrew_model::Caps::NONE,
        model: None,
    }
}
