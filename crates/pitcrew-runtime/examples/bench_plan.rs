//! Runs a plan of 1 000 tasks, 50 wide, with agents that answer immediately: kernel and store in
//! process, compared with a bare `SQLite` loop that writes the same rows in the same batches.

use pitcrew_model::{
    Actor, AgentRef, Approval, Claim, Command, CommitId, CreatePlan, Deploy, Effect, EffectId,
    EffectResult, Effort, Exit, Input, InputBody, LeftBehind, Origin, Overlap, PlanBase, PlanHead,
    PlanSpec, PlanStatus, Signal, StopReason, TaskSpec, TaskWork, Timestamp, Usage, Work,
};
use pitcrew_runtime::Writer;
use pitcrew_store::SqliteJournal;
use rusqlite::Connection;
use std::{error::Error, path::Path, time::Instant};

const TASKS: usize = 1_000;
const WIDTH: usize = 50;
const ROUNDS: usize = 5;

type Outcome<T> = Result<T, Box<dyn Error>>;
/// The rows of one commit: events, effects, and effects that ended.
type Rows = (Vec<(i64, i64, String)>, Vec<(i64, String)>, Vec<i64>);

fn main() -> Outcome<()> {
    let mut plan_ms = Vec::new();
    let mut bare_ms = Vec::new();
    let mut ratios = Vec::new();
    let mut counts = (0, 0);
    for _ in 0..ROUNDS {
        let dir = tempfile::tempdir()?;
        let (plan, batches) = run_plan(&dir.path().join("journal"))?;
        let bare = run_bare(&dir.path().join("bare.db"), &batches)?;
        counts = (batches.iter().map(|it| it.0.len()).sum(), batches.len());
        plan_ms.push(plan);
        bare_ms.push(bare);
        ratios.push(plan / bare);
    }
    println!(
        r#"{{"tasks":{TASKS},"width":{WIDTH},"events":{},"commits":{},"bare_ms":{:.0},"plan_ms":{:.0},"us_per_task":{:.0},"ratio":{:.2}}}"#,
        counts.0,
        counts.1,
        median(&mut bare_ms),
        median(&mut plan_ms),
        median(&mut plan_ms),
        median(&mut ratios),
    );
    Ok(())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs the plan. The rows of each commit are encoded outside the measured time.
fn run_plan(dir: &Path) -> Outcome<(f64, Vec<Rows>)> {
    let mut writer = Writer::open(SqliteJournal::open(dir)?, |_| {})?;
    let set = Command::SetAgentsMax { count: 50 };
    let mut inputs = vec![command(Actor::Person, set), command(Actor::Person, create_plan())];
    let mut batches = Vec::new();
    let mut spent = 0.0;
    while !inputs.is_empty() {
        let started = Instant::now();
        let committed = writer.commit(&inputs);
        spent += started.elapsed().as_secs_f64() * 1_000.0;
        if let Some(rejection) = committed.verdicts.iter().find_map(|it| it.as_ref().err()) {
            return Err(rejection.to_string().into());
        }
        batches.push(rows(&committed)?);
        inputs = committed.effects.iter().flat_map(|(id, it)| answer(*id, it)).collect();
    }
    let plan = writer.state().plans.iter().next().ok_or("the plan is there")?;
    if plan.status != PlanStatus::Completed {
        return Err(format!("the plan is {}", plan.status).into());
    }
    Ok((spent, batches))
}

fn rows(committed: &pitcrew_runtime::Committed) -> Outcome<Rows> {
    let mut rows: Rows = Default::default();
    for entry in &committed.entries {
        let (seq, at) = (i64::try_from(entry.seq.0)?, i64::try_from(entry.at.0)?);
        rows.0.push((seq, at, serde_json::to_string(&entry.event)?));
        if let Some(ended) = entry.event.retires() {
            rows.2.push(i64::try_from(ended.0)?);
        }
    }
    for (id, effect) in &committed.effects {
        rows.1.push((i64::try_from(id.0)?, serde_json::to_string(effect)?));
    }
    Ok(rows)
}

fn run_bare(path: &Path, batches: &[Rows]) -> Outcome<f64> {
    let mut bare = Connection::open(path)?;
    bare.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE events (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, body TEXT NOT NULL);
         CREATE TABLE outbox (effect INTEGER PRIMARY KEY, body TEXT NOT NULL);",
    )?;
    let started = Instant::now();
    for (events, effects, ended) in batches {
        let transaction = bare.transaction()?;
        {
            let mut insert = transaction.prepare_cached("INSERT INTO events VALUES (?, ?, ?)")?;
            for row in events {
                insert.execute(rusqlite::params![row.0, row.1, row.2])?;
            }
            let mut insert = transaction.prepare_cached("INSERT INTO outbox VALUES (?, ?)")?;
            for row in effects {
                insert.execute(rusqlite::params![row.0, row.1])?;
            }
            let mut delete = transaction.prepare_cached("DELETE FROM outbox WHERE effect = ?")?;
            for row in ended {
                delete.execute([row])?;
            }
        }
        transaction.commit()?;
    }
    Ok(started.elapsed().as_secs_f64() * 1_000.0)
}

fn command(actor: Actor, command: Command) -> Input {
    Input { at: Timestamp(1_000), actor, body: InputBody::Command(command) }
}

/// The result of a driver that takes no time.
fn answer(effect: EffectId, order: &Effect) -> Vec<Input> {
    let commit = |name: &str| CommitId(format!("{name:0>40}"));
    let result = match order {
        Effect::PreparePlan { plan, .. } => {
            let (branch, tip, start) = (Some("main".into()), commit("1"), commit("1"));
            let (dirty_count, notes, left_behind) = (0, Vec::new(), LeftBehind::default());
            let base = PlanBase { branch, tip, start, dirty_count, notes, left_behind };
            EffectResult::PlanPrepared { plan: *plan, base }
        }
        Effect::CheckBase { plan, .. } => {
            EffectResult::BaseChecked { plan: *plan, checks: Vec::new() }
        }
        Effect::PrepareCheckout { attempt, .. } => EffectResult::CheckoutPrepared {
            attempt: *attempt,
            path: format!("/tmp/{attempt}"),
            notes: Vec::new(),
        },
        Effect::StartAgent { worker, .. } => EffectResult::AgentReady {
            worker: *worker,
            agent: "instant".into(),
            session: "1".into(),
        },
        Effect::Prompt { worker, .. } => EffectResult::TurnEnded {
            worker: *worker,
            stop: StopReason::EndTurn,
            usage: Usage::default(),
            last_words: "done".into(),
        },
        Effect::StopAgent { worker } => EffectResult::AgentStopped {
            worker: *worker,
            exit: Exit { code: Some(0), signal: None, stderr: String::new() },
        },
        Effect::CollectWork { attempt, .. } => EffectResult::WorkCollected {
            attempt: *attempt,
            work: Work {
                commit: commit("2"),
                files_count: 1,
                insertions: 10,
                deletions: 2,
                files: Vec::new(),
            },
        },
        Effect::Verify { attempt, .. } => {
            EffectResult::Verified { attempt: *attempt, merged: commit("3"), checks: Vec::new() }
        }
        Effect::Integrate { attempt, merged, .. } => {
            EffectResult::Integrated { attempt: *attempt, head: merged.clone() }
        }
        other @ (Effect::AnswerPermission { .. }
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
        | Effect::RemoveCheckout { .. }) => panic!("unexpected effect: {other:?}"),
    };
    let signal = InputBody::Signal(Signal::EffectEnded { effect, result });
    let ended = Input { at: Timestamp(1_000), actor: Actor::Orchestrator, body: signal };
    let Effect::Prompt { worker, .. } = order else { return vec![ended] };
    // In this plan every task needs one attempt, so attempts and workers have the same numbers.
    let attempt = pitcrew_model::AttemptId(worker.0);
    let summary = "done".to_owned();
    let done = Command::CompleteTask { attempt, claim: Claim::Success, summary, output: None };
    vec![command(Actor::Worker(*worker), done), ended]
}

/// Layers of 50; each task depends on two of the layer before.
fn create_plan() -> Command {
    let key = |layer: usize, place: usize| format!("task-{layer}-{}", place % WIDTH);
    let task = |index: usize| {
        let (layer, place) = (index / WIDTH, index % WIDTH);
        let depends_on = match layer {
            0 => Vec::new(),
            _ => vec![key(layer - 1, place), key(layer - 1, place + 1)],
        };
        TaskSpec {
            key: key(layer, place),
            work: TaskWork::Prompt { prompt: "do a part of it".into() },
            region: Vec::new(),
            depends_on,
            agent: AgentRef::backend("model"),
            checks: Vec::new(),
            expected_files: Vec::new(),
            criteria: Vec::new(),
            attempts_max: 3,
            timeout_ms: 60_000,
            caps: pitcrew_model::Caps::NONE,
            model: None,
        }
    };
    let head = PlanHead {
        name: "wide".into(),
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
        spec: PlanSpec { head, tasks: (0..TASKS).map(task).collect() },
        origin: Origin::File,
        clean_base: false,
        approval: Approval::Given,
        default_agent: None,
    })
}
