//! The emergency stop: cancels running work and waits until none of its processes is left.

use super::orchestrator;
use crate::{
    cli::{Json, StopScope},
    client::Client,
    commands::{CommandResult, journal},
    exit::Exit,
    ids::{self, Pick},
    output::Output,
    report::Report,
    workspace::Workspace,
};
use pitcrew_api::paths::BoardQuery;
use pitcrew_model::{
    AttemptId, Command, EffectId, EffectResult, Event, PlanId, PlanStatus, Seq, SubtaskName,
    TaskId, TaskStatus, WorkerId,
};
use pitcrew_process::until_gone;
use pitcrew_views::{BaseCheck, BoardView, PlanView, words::counted};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::Duration,
};
use tokio::time::timeout;

/// Agents get a short time to exit and are then killed.
const END_TIME_MAX: Duration = Duration::from_mins(1);
/// Work that starts during the stop is stopped in the next round.
const ROUNDS_MAX: usize = 5;

pub async fn run(scope: StopScope, id: Option<&str>, json: Json, output: Output) -> CommandResult {
    let workspace = Workspace::here()?;
    let client = match scope {
        // `all` must work in any state of the orchestrator.
        StopScope::All => orchestrator::reachable(workspace).await?,
        StopScope::Subtask | StopScope::Worker | StopScope::Plan => Client::of(workspace).await?,
    };
    let board = all(&client).await?;
    let stopping = EmergencyStop { client: &client, since: first_live(&board), before: board.seq };
    let StopOrder { what, until } = match (scope, id) {
        (StopScope::All, None) => stopping.everything().await?,
        (StopScope::All, Some(id)) => {
            return Err(Report::new(
                Exit::Usage,
                format!("`pitcrew stop all` takes no id, but `{id}` was given"),
            )
            .help("run `pitcrew stop all`, or use the scope `subtask`, `worker` or `plan` with the id"));
        }
        (StopScope::Subtask | StopScope::Worker | StopScope::Plan, None) => {
            return Err(Report::new(Exit::Usage, "this scope needs an id")
                .help("for example: `pitcrew stop plan plan-1`"));
        }
        (StopScope::Plan, Some(id)) => {
            stopping.plan(ids::plan(&client, id, Pick::Only).await?).await?
        }
        (StopScope::Subtask, Some(id)) => {
            stopping.task(ids::task(&client, id, Pick::Only).await?, "").await?
        }
        (StopScope::Worker, Some(id)) => stopping.worker(id).await?,
    };
    let stopped = stopping.wait_until_empty(until).await?;
    if json.json {
        output.json(&json!({ "stopped": stopped }))?;
    } else {
        let words = match what {
            StopSubject::One(words) => words,
            StopSubject::All { plans, tasks } => stopping.describe(&plans, &tasks).await?,
        };
        let left = match stopped.len() {
            0 => "no agent was running".to_owned(),
            count => format!("{} ended, no process is left", counted(count as u64, "agent")),
        };
        output.line(&format!("{words}; {left}"))?;
    }
    Ok(Exit::Success)
}

struct StopOrder {
    what: StopSubject,
    /// The last journal entry that the commands caused. Agents that are stopped later were not part
    /// of it.
    until: Seq,
}

/// The work that was stopped.
enum StopSubject {
    /// A description.
    One(String),
    All {
        plans: BTreeSet<PlanId>,
        tasks: BTreeSet<TaskId>,
    },
}

struct EmergencyStop<'a> {
    client: &'a Client,
    /// Every live agent was started after this entry.
    since: Seq,
    /// The last entry before the commands.
    before: Seq,
}

impl EmergencyStop<'_> {
    async fn task(&self, task: TaskId, before: &str) -> Result<StopOrder, Report> {
        let until = self.client.command(&Command::CancelTask { task }).await?.seq;
        let board = all(self.client).await?;
        let is_subtask = board.task(task).is_some_and(|it| it.subtask.is_some());
        let name = if is_subtask { SubtaskName(task).to_string() } else { task.to_string() };
        Ok(StopOrder { what: StopSubject::One(format!("{before}{name} is cancelled")), until })
    }

    async fn plan(&self, plan: PlanId) -> Result<StopOrder, Report> {
        let until = self.client.command(&Command::CancelPlan { plan }).await?.seq;
        Ok(StopOrder { what: StopSubject::One(format!("{plan} is cancelled")), until })
    }

    async fn worker(&self, text: &str) -> Result<StopOrder, Report> {
        let unknown = || {
            Report::new(Exit::Usage, format!("there is no worker `{text}`"))
                .help("`pitcrew status --json` lists the workers")
        };
        let worker: WorkerId = text.parse().map_err(|_| unknown())?;
        let board = all(self.client).await?;
        let found = board.worker(worker).ok_or_else(unknown)?;
        if found.status.has_ended() {
            let message = format!("{worker} has already ended ({})", found.status);
            return Err(Report::new(Exit::Refused, message)
                .help(format!("`pitcrew logs {}` shows how it ended", found.task)));
        }
        self.task(found.task, &format!("{worker} is stopped: ")).await
    }

    /// Pauses all plans so that nothing starts, then cancels all running tasks.
    async fn everything(&self) -> Result<StopOrder, Report> {
        let (mut plans, mut tasks) = (BTreeSet::new(), BTreeSet::new());
        for _ in 0..ROUNDS_MAX {
            let board = all(self.client).await?;
            let active = board.plans.iter().filter(|it| it.status == PlanStatus::Active);
            let active: Vec<PlanId> = active.map(|it| it.id).collect();
            for plan in &active {
                self.command_unless_ended(&Command::PausePlan { plan: *plan }).await?;
            }
            let working: Vec<TaskId> = working(&board).collect();
            for task in &working {
                self.command_unless_ended(&Command::CancelTask { task: *task }).await?;
            }
            if active.is_empty() && working.is_empty() {
                break;
            }
            plans.extend(active);
            tasks.extend(working);
        }
        let until = all(self.client).await?.seq;
        Ok(StopOrder { what: StopSubject::All { plans, tasks }, until })
    }

    /// Describes the result. A plan with nothing left to do has ended instead of being paused.
    async fn describe(
        &self,
        plans: &BTreeSet<PlanId>,
        tasks: &BTreeSet<TaskId>,
    ) -> Result<String, Report> {
        let board = all(self.client).await?;
        let mut counts: BTreeMap<PlanStatus, u64> = BTreeMap::new();
        for plan in plans.iter().filter_map(|it| board.plan(*it)) {
            *counts.entry(plan.status).or_default() += 1;
        }
        let paused = counts.remove(&PlanStatus::Paused).unwrap_or(0);
        let mut parts = Vec::new();
        if paused > 0 || counts.is_empty() {
            parts.push(format!("{} paused", counted(paused, "plan")));
        }
        parts.extend(counts.into_iter().map(|(status, count)| {
            let ended = if status.has_ended() { "ended as " } else { "" };
            format!("{} {ended}{status}", counted(count, "plan"))
        }));
        parts.push(format!("{} cancelled", counted(tasks.len() as u64, "task")));
        Ok(parts.join(", "))
    }

    /// Runs a command and ignores a rejection, which means that the task or plan has already ended.
    async fn command_unless_ended(&self, command: &Command) -> Result<(), Report> {
        match self.client.command(command).await {
            Err(report) if report.exit == Exit::Refused => Ok(()),
            done => done.map(drop),
        }
    }

    /// Waits until every stopped agent has exited, with everything that it started, and the checks
    /// of the cancelled tasks have ended.
    async fn wait_until_empty(&self, until: Seq) -> Result<BTreeSet<WorkerId>, Report> {
        if until == Seq(0) {
            return Ok(BTreeSet::new());
        }
        let (mut pending, mut stopped) = (BTreeSet::new(), BTreeSet::new());
        let mut ended = BTreeSet::new();
        let mut checks = Checks::default();
        let is_over = journal::follow(self.client, self.since, |entry| {
            checks.fold(entry.seq, &entry.event);
            if let Event::StopAsked { worker } = &entry.event
                && entry.seq <= until
            {
                pending.insert(*worker);
            } else if let Some(worker) = has_ended(&entry.event) {
                ended.insert(worker);
                if pending.remove(&worker) && entry.seq > self.before {
                    stopped.insert(worker);
                }
            }
            entry.seq >= until && pending.is_empty() && checks.interrupted.is_empty()
        });
        match timeout(END_TIME_MAX, is_over).await {
            Ok(is_over) => is_over?,
            Err(_) => {
                let agents = pending.iter().map(ToString::to_string);
                let checks = checks.interrupted.values().map(ToString::to_string);
                return Err(still_running(agents.chain(checks)));
            }
        }
        self.until_gone(ended).await?;
        Ok(stopped)
    }

    /// Waits until the kernel has removed the processes, which may hold files and locks.
    async fn until_gone(&self, mut workers: BTreeSet<WorkerId>) -> Result<(), Report> {
        let board = all(self.client).await?;
        let gone = async {
            while let Some(worker) = workers.first().copied() {
                if let Some(found) = board.worker(worker) {
                    until_gone(&self.client.workspace.dirs.attempt(found.attempt)).await;
                }
                workers.pop_first();
            }
        };
        let is_late = timeout(END_TIME_MAX, gone).await.is_err();
        if is_late { Err(still_running(workers.iter().map(ToString::to_string))) } else { Ok(()) }
    }
}

/// The subject of a run of checks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CheckSubject {
    Attempt(AttemptId),
    BaseOf(PlanId),
}

impl fmt::Display for CheckSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attempt(attempt) => write!(f, "the checks of {attempt}"),
            Self::BaseOf(plan) => write!(f, "the checks on the base of {plan}"),
        }
    }
}

/// The running checks, and those being interrupted because their attempt or plan has ended.
#[derive(Default)]
struct Checks {
    running: BTreeMap<EffectId, CheckSubject>,
    interrupted: BTreeMap<EffectId, CheckSubject>,
}

impl Checks {
    fn fold(&mut self, seq: Seq, event: &Event) {
        if let Event::VerifyAsked { attempt, .. } = event {
            self.running.insert(EffectId(seq.0), CheckSubject::Attempt(*attempt));
        } else if let Event::BaseCheckAsked { plan } = event {
            self.running.insert(EffectId(seq.0), CheckSubject::BaseOf(*plan));
        } else if let Event::EffectEnded { effect, .. } = event {
            self.running.remove(effect);
            self.interrupted.remove(effect);
        } else if let Event::AttemptEnded { attempt, .. } = event {
            self.interrupt(CheckSubject::Attempt(*attempt));
        } else if let Event::PlanMoved { plan, to, .. } = event
            && *to != PlanStatus::Active
        {
            self.interrupt(CheckSubject::BaseOf(*plan));
        }
    }

    fn interrupt(&mut self, what: CheckSubject) {
        let over = self.running.iter().filter(|it| *it.1 == what).map(|it| (*it.0, *it.1));
        self.interrupted.extend(over);
    }
}

fn still_running(who: impl Iterator<Item = String>) -> Report {
    let message = format!("still running after one minute: {}", who.collect::<Vec<_>>().join(", "));
    Report::new(Exit::Failure, message)
        .help("they have been ordered to stop; `pitcrew audit --kind stop` shows when")
}

/// The worker whose agent has exited with this event.
fn has_ended(event: &Event) -> Option<WorkerId> {
    if let Event::EffectEnded { result: EffectResult::AgentStopped { worker, .. }, .. }
    | Event::AgentExited { worker, .. } = event
    {
        return Some(*worker);
    }
    None
}

async fn all(client: &Client) -> Result<BoardView, Report> {
    client.board(BoardQuery { all: true, plan: None }).await
}

/// The plans whose base is being checked.
fn checking_base(board: &BoardView) -> impl Iterator<Item = PlanId> {
    let runs = |it: &&PlanView| it.base_check == BaseCheck::Running;
    board.plans.iter().filter(runs).map(|it| it.id)
}

/// The entry before the first attempt or check that may still have a process.
fn first_live(board: &BoardView) -> Seq {
    let attempts = board.units().flat_map(|it| &it.attempts);
    let live = attempts.filter(|it| it.ended_at.is_none() || it.removed_at.is_none());
    // The base of a plan is checked before its first attempt.
    let checked = checking_base(board).next().map(|_| 0);
    let first = live.map(|it| it.opened.0).chain(checked).min();
    Seq(first.unwrap_or(board.seq.0).saturating_sub(1))
}

/// The tasks that have, or are about to have, a running process.
fn working(board: &BoardView) -> impl Iterator<Item = TaskId> {
    let is_working = |status: TaskStatus| match status {
        // Checks are programs too.
        TaskStatus::Starting | TaskStatus::Running | TaskStatus::Verifying => true,
        TaskStatus::Pending
        | TaskStatus::Queued
        | TaskStatus::Blocked
        | TaskStatus::Integrating
        | TaskStatus::Completed
        | TaskStatus::Partial
        | TaskStatus::Failed
        | TaskStatus::Cancelled => false,
    };
    board.units().filter(move |it| is_working(it.status)).map(|it| it.id)
}
