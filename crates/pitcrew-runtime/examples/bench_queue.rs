//! Measures messages through the kernel and the real store: how many become durable in a second,
//! compared with a bare `SQLite` loop that writes the same rows in the same batches; and the
//! latency from the command that sends one to the durable effect that prompts the waiting agent.

use pitcrew_model::{
    Actor, Addressee, AgentRef, Approval, AttemptId, Caps, Command, CommitId, CreatePlan, Deploy,
    Effect, EffectId, EffectResult, Effort, Input, InputBody, NoteKind, Origin, Overlap, Party,
    PlanBase, PlanHead, PlanSpec, Priority, Signal, StopReason, TaskId, TaskSpec, TaskWork,
    Timestamp, Usage, limits,
};
use pitcrew_runtime::{Committed, Writer};
use pitcrew_store::SqliteJournal;
use rusqlite::Connection;
use std::{error::Error, path::Path, time::Instant};

/// The writer's batch size under load.
const BATCH: usize = 256;
const TASKS: usize = 20;
const MESSAGES: usize = TASKS * limits::MESSAGES_UNREAD_MAX;
const HOPS: usize = 300;
const ROUNDS: usize = 3;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let (mut rates, mut bare_rates, mut ratios, mut hops) = (vec![], vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        let dir = tempfile::tempdir()?;
        let (rate, batches) = send_many(&dir.path().join("many"))?;
        let bare = write_bare(&dir.path().join("bare.db"), &batches)?;
        rates.push(rate);
        bare_rates.push(bare);
        ratios.push(rate / bare);
        hops.extend(send_alone(&dir.path().join("alone"))?);
    }
    hops.sort_by(f64::total_cmp);
    println!(
        r#"{{"messages":{MESSAGES},"batch":{BATCH},"bare_per_s":{:.0},"messages_per_s":{:.0},"ratio":{:.2},"hop_p50_ms":{:.2},"hop_p99_ms":{:.2}}}"#,
        median(bare_rates),
        median(rates),
        median(ratios),
        hops[hops.len() / 2],
        hops[hops.len() * 99 / 100],
    );
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Many concurrent senders, until every mailbox is full.
fn send_many(dir: &Path) -> Outcome<(f64, Vec<Vec<String>>)> {
    let mut writer = Writer::open(SqliteJournal::open(dir)?, |_| {})?;
    take(&mut writer, &[person(create_plan(TASKS))])?;
    let inputs: Vec<Input> = (0..MESSAGES).map(|it| person(message(it % TASKS, it))).collect();
    let mut batches = Vec::new();
    let mut spent_s = 0.0;
    for batch in inputs.chunks(BATCH) {
        let started = Instant::now();
        let committed = take(&mut writer, batch)?;
        spent_s += started.elapsed().as_secs_f64();
        let rows = committed.entries.iter().map(|it| serde_json::to_string(&it.event));
        batches.push(rows.collect::<Result<Vec<_>, _>>()?);
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of messages is small")]
    Ok((MESSAGES as f64 / spent_s, batches))
}

fn write_bare(path: &Path, batches: &[Vec<String>]) -> Outcome<f64> {
    let mut bare = Connection::open(path)?;
    bare.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE events (seq INTEGER PRIMARY KEY, body TEXT NOT NULL);",
    )?;
    let started = Instant::now();
    for batch in batches {
        let transaction = bare.transaction()?;
        for row in batch {
            transaction.prepare_cached("INSERT INTO events (body) VALUES (?)")?.execute([row])?;
        }
        transaction.commit()?;
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of messages is small")]
    Ok(MESSAGES as f64 / started.elapsed().as_secs_f64())
}

/// Sends one message at a time to an agent that waits for a person.
fn send_alone(dir: &Path) -> Outcome<Vec<f64>> {
    let mut writer = Writer::open(SqliteJournal::open(dir)?, |_| {})?;
    let created = take(&mut writer, &[person(create_plan(1))])?;
    let mut prompt = drive(&mut writer, created)?.ok_or("the agent is prompted")?;
    let question = Command::Notify {
        attempt: AttemptId(1),
        kind: NoteKind::Question,
        message: "which?".into(),
        to: Addressee::Orchestrator,
        reply_to: None,
    };
    take(&mut writer, &[input(Actor::Worker(pitcrew_model::WorkerId(1)), question)])?;
    let mut took_ms = Vec::new();
    for number in 0..HOPS {
        let ended = take(&mut writer, &[turn_ended(prompt)])?;
        if drive(&mut writer, ended)?.is_some() {
            return Err("it was prompted without a reason".into());
        }
        let started = Instant::now();
        let sent = take(&mut writer, &[person(message(0, number))])?;
        took_ms.push(started.elapsed().as_secs_f64() * 1_000.0);
        prompt = drive(&mut writer, sent)?.ok_or("a message wakes a waiting agent")?;
    }
    Ok(took_ms)
}

fn take(writer: &mut Writer<SqliteJournal>, inputs: &[Input]) -> Outcome<Committed> {
    let committed = writer.commit(inputs);
    match committed.verdicts.iter().find_map(|it| it.as_ref().err()) {
        Some(rejection) => Err(rejection.to_string().into()),
        None => Ok(committed),
    }
}

/// Completes effects up to the next prompt.
fn drive(writer: &mut Writer<SqliteJournal>, mut done: Committed) -> Outcome<Option<EffectId>> {
    loop {
        let mut inputs = Vec::new();
        for (id, effect) in &done.effects {
            if let Effect::Prompt { .. } = effect {
                return Ok(Some(*id));
            }
            inputs.extend(result(effect).map(|it| ended(*id, it)));
        }
        if inputs.is_empty() {
            return Ok(None);
        }
        done = take(writer, &inputs)?;
    }
}

fn result(effect: &Effect) -> Option<EffectResult> {
    let commit = || CommitId("1".repeat(40));
    if let Effect::PreparePlan { plan, .. } = effect {
        let (branch, dirty_count, notes) = (None, 0, Vec::new());
        let base = PlanBase {
            branch,
            tip: commit(),
            start: commit(),
            dirty_count,
            notes,
            left_behind: pitcrew_model::LeftBehind::default(),
        };
        Some(EffectResult::PlanPrepared { plan: *plan, base })
    } else if let Effect::PrepareCheckout { attempt, .. } = effect {
        let (path, notes) = ("/tmp/a".into(), Vec::new());
        Some(EffectResult::CheckoutPrepared { attempt: *attempt, path, notes })
    } else if let Effect::StartAgent { worker, .. } = effect {
        let (agent, session) = ("instant".into(), "1".into());
        Some(EffectResult::AgentReady { worker: *worker, agent, session })
    } else if let Effect::Snapshot { attempt, .. } = effect {
        Some(EffectResult::SnapshotUnchanged { attempt: *attempt })
    } else {
        None
    }
}

fn turn_ended(prompt: EffectId) -> Input {
    let result = EffectResult::TurnEnded {
        worker: pitcrew_model::WorkerId(1),
        stop: StopReason::EndTurn,
        usage: Usage::default(),
        last_words: String::new(),
    };
    ended(prompt, result)
}

fn ended(effect: EffectId, result: EffectResult) -> Input {
    let body = InputBody::Signal(Signal::EffectEnded { effect, result });
    Input { at: Timestamp(1_000), actor: Actor::Orchestrator, body }
}

fn person(command: Command) -> Input {
    input(Actor::Person, command)
}

fn input(actor: Actor, command: Command) -> Input {
    Input { at: Timestamp(1_000), actor, body: InputBody::Command(command) }
}

fn message(task: usize, number: usize) -> Command {
    Command::SendMessage {
        to: Party::Task(TaskId(task as u64 + 1)),
        content: format!(
            "message {number}: take the second of the two ways, and say what it costs"
        ),
        priority: Some(Priority::ALL[number % 2]),
        thread: None,
        key: Some(format!("key-{number}")),
    }
}

fn create_plan(tasks_count: usize) -> Command {
    let task = |index: usize| TaskSpec {
        key: format!("t{index}"),
        work: TaskWork::Prompt { prompt: "do it".into() },
        region: Vec::new(),
        depends_on: Vec::new(),
        agent: AgentRef::backend("instant"),
        checks: Vec::new(),
        expected_files: Vec::new(),
        criteria: Vec::new(),
        attempts_max: 1,
        timeout_ms: limits::TASK_TIMEOUT_MS_DEFAULT,
        caps: Caps::NONE,
        model: None,
    };
    let head = PlanHead {
        name: "queue".into(),
        description: String::new(),
        base: None,
        deploy: Deploy::Auto,
        overlap: Overlap::Allow,
        effort: Effort::Low,
        shared: Vec::new(),
        setup: Vec::new(),
        setup_inputs: Vec::new(),
        caps: Caps::NONE,
        denied: Vec::new(),
        reads: pitcrew_model::Reads::Guided,
        include: Vec::new(),
        agents_max: None,
    };
    Command::CreatePlan(CreatePlan {
        spec: PlanSpec { head, tasks: (0..tasks_count).map(task).collect() },
        origin: Origin::File,
        clean_base: false,
        approval: Approval::Given,
        default_agent: None,
    })
}
