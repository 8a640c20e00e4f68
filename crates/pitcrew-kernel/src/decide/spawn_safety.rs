//! The limits of sub-tasks: number, depth, rate, agents and files.
//!
//! Every problem of a sub-task is found here, before anything changes, and every rejection says
//! what to do instead.

use crate::{
    State,
    crew::Subtask,
    permit, react,
    state::{Attempt, Process, Task},
};
use alloc::{collections::BTreeSet, format, string::ToString};
use pitcrew_model::{
    Action, AttemptId, Rejection, RepoPath, Rule, Standing, SubtaskName, SubtaskSpec, TaskId,
    TaskStatus, TaskWork, Timestamp, ToolUse, WorkspaceMode, limits, overlap,
};

const MINUTE_MS: u64 = 60 * 1_000;

/// Returns the attempt that creates sub-tasks. It must be able to receive the results.
pub fn parent(state: &State, attempt: AttemptId) -> Result<&Attempt, Rejection> {
    let it = state.attempt(attempt)?;
    let runs = state.tasks[it.task].status == TaskStatus::Running;
    if !it.is_open() || state.workers[it.worker].process != Process::Alive || !runs {
        return Err(Rejection::AttemptOver { attempt });
    }
    if it.claim.is_some() {
        return Err(Rejection::AlreadyClaimed { attempt });
    }
    Ok(it)
}

/// Returns the depth of the attempt's sub-tasks.
pub fn depth(state: &State, parent: &Attempt) -> u32 {
    state.depth_of(&state.tasks[parent.task]) + 1
}

/// Checks whether the attempt may create all of them now.
pub fn check(
    state: &State,
    at: Timestamp,
    parent: &Attempt,
    asked: &[Subtask],
) -> Result<(), Rejection> {
    if asked.is_empty() {
        return Err(Rejection::NoSubtasks);
    }
    rule(state)?;
    let task = &state.tasks[parent.task];
    if task.profile.as_ref().is_some_and(|it| !it.may_spawn()) {
        return Err(Rejection::MayNotSpawn { agent: task.spec.agent.to_string() });
    }
    let depth = depth(state, parent);
    let depth_max = state.depth_max(&state.tasks[parent.task]);
    if depth > depth_max {
        return Err(Rejection::SubtaskTooDeep { depth, max: depth_max });
    }
    numbers(state, at, parent, asked.len())?;
    for (index, subtask) in asked.iter().enumerate() {
        cycle(state, parent, &subtask.spec)?;
        backend(state, at, &subtask.spec)?;
        commands(state, parent, &subtask.spec)?;
        files(state, parent, subtask, index + 1)?;
        leases(state, parent, asked, index)?;
    }
    if state.agenda.processes_count >= state.agents_live_max {
        return Err(Rejection::AgentsLiveMax { max: state.agents_live_max });
    }
    Ok(())
}

/// A call cannot wait for a person in the middle of a turn, so `ask_user` is a rejection.
pub fn rule(state: &State) -> Result<(), Rejection> {
    let action = Action::SubtaskSpawning;
    match state.rule(&action) {
        Rule::AutoApprove => Ok(()),
        Rule::AskUser => Err(state.needs_rule(action)),
        Rule::AutoDeny => Err(state.denied(action)),
    }
}

/// Judges a command in a sub-task like a command of the worker itself. A worker without a model
/// creates sub-tasks from its own script, which a person has approved.
fn commands(state: &State, parent: &Attempt, spec: &SubtaskSpec) -> Result<(), Rejection> {
    let (command, is_script) = match &spec.work {
        TaskWork::Prompt { .. } => return Ok(()),
        TaskWork::Command { command, .. } => (command, false),
        TaskWork::Script { script, .. } => (script, true),
    };
    if state.tasks[parent.task].spec.vendor().is_none() {
        return Ok(());
    }
    let tool = ToolUse { partial: is_script, ..permit::command(spec.work.prompt(), command) };
    let judged = state.judge(parent.task, &tool);
    let action = judged.action.unwrap_or(Action::CommandExecution);
    match judged.rule {
        Rule::AutoApprove => Ok(()),
        Rule::AskUser => Err(state.needs_rule(action)),
        Rule::AutoDeny => Err(state.denied(action)),
    }
}

/// Checks number and rate. A retry counts as a new sub-task.
pub fn numbers(
    state: &State,
    at: Timestamp,
    parent: &Attempt,
    asked: usize,
) -> Result<(), Rejection> {
    let (may, worker) = (state.spawn_limits(), parent.worker);
    let count_of = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
    let handed_out = count_of(parent.family.children.len());
    let count = handed_out.saturating_add(parent.family.retries_count);
    let asked = count_of(asked);
    if count.saturating_add(asked) > may.total_max {
        return Err(Rejection::TooManySubtasks { worker, count, asked, max: may.total_max });
    }
    let recent = || parent.family.spawned_at.iter().filter(|it| at.since(**it) < MINUTE_MS);
    let excess = (count_of(recent().count()) + asked).saturating_sub(may.per_minute_max);
    if excess > 0 {
        // So many of the oldest must be a minute old first.
        let index = usize::try_from(excess - 1).unwrap_or(usize::MAX);
        let since_ms = recent().nth(index).map_or(0, |it| at.since(*it));
        let (max, wait_ms) = (may.per_minute_max, MINUTE_MS - since_ms);
        return Err(Rejection::SubtasksTooFast { worker, max, wait_ms });
    }
    Ok(())
}

/// Rejects a sub-task with the same agent and prompt as one of its ancestors.
fn cycle(state: &State, parent: &Attempt, spec: &SubtaskSpec) -> Result<(), Rejection> {
    let same = |it: &&Task| {
        let words = it.spec.work.prompt().split_whitespace();
        it.spec.agent == spec.agent && words.eq(spec.work.prompt().split_whitespace())
    };
    match state.chain(parent.task).find(same) {
        Some(ancestor) => {
            let agent = spec.agent.to_string();
            Err(Rejection::SubtaskCycle { agent, ancestor: ancestor.name().to_string() })
        }
        None => Ok(()),
    }
}

/// Rejects a backend that would fail at once.
pub fn backend(state: &State, at: Timestamp, spec: &SubtaskSpec) -> Result<(), Rejection> {
    let Some(vendor) = super::spawn_subtasks::vendor(spec) else { return Ok(()) };
    let backend = vendor.to_string();
    if let Some(until) = state.held_until(vendor).filter(|it| *it > at) {
        return Err(Rejection::BackendAtLimit { backend, wait_ms: until.since(at) });
    }
    if let Some((seen_at, reason)) = state.broken.get(vendor)
        && at.since(*seen_at) < limits::BACKEND_BROKEN_MS
    {
        return Err(Rejection::BackendBroken { backend, reason: reason.clone() });
    }
    Ok(())
}

/// A sub-task gets no more files than its parent may change.
fn files(
    state: &State,
    parent: &Attempt,
    subtask: &Subtask,
    number: usize,
) -> Result<(), Rejection> {
    let Subtask { spec, workspace } = subtask;
    let workspace = *workspace;
    let task = &state.tasks[parent.task];
    match workspace {
        WorkspaceMode::ReadOnly => return Ok(()),
        // A guest needs a list of files.
        WorkspaceMode::Shared
            if spec.target_files.is_empty() || spec.target_files.iter().any(RepoPath::is_root) =>
        {
            return Err(Rejection::TargetFilesMissing { number });
        }
        WorkspaceMode::Isolated | WorkspaceMode::Shared => {}
    }
    if task.workspace() == Some(WorkspaceMode::ReadOnly) {
        return Err(Rejection::WorkspaceNotYours { number, workspace });
    }
    let zone = react::zone(task, state.plan_of(parent));
    for path in &spec.target_files {
        match zone.standing(path.as_str()) {
            Standing::Own(_) | Standing::Shared(_) => {}
            Standing::Denied(rule) => {
                let (path, rule) = (path.clone(), rule.clone());
                return Err(Rejection::TargetFilesDenied { number, path, rule });
            }
            Standing::Outside => {
                let (path, zone) = (path.clone(), zone.describe());
                return Err(Rejection::TargetFilesOutside { number, path, zone });
            }
        }
    }
    Ok(())
}

/// Checks that the files of a retried sub-task are still free. `beside`: the sub-tasks that are
/// retried with it.
pub fn keeps_off(state: &State, task: &Task, beside: &BTreeSet<TaskId>) -> Result<(), Rejection> {
    let Some(parent) = state.parent_of(task) else { return Ok(()) };
    if task.workspace() != Some(WorkspaceMode::Shared) {
        return Ok(());
    }
    let children = parent.family.children.iter();
    let live = children.filter(|it| parent.family.open.contains(it) || beside.contains(it));
    let shared = live
        .map(|it| &state.tasks[*it])
        .filter(|it| it.id != task.id && it.workspace() == Some(WorkspaceMode::Shared));
    for other in shared {
        let taken = |it: &&RepoPath| overlap(core::slice::from_ref(*it), &other.spec.region);
        if let Some(path) = task.spec.region.iter().find(taken) {
            let (path, by) = (path.clone(), SubtaskName(other.id).to_string());
            return Err(Rejection::TargetFilesTaken { number: 1, path, by });
        }
    }
    Ok(())
}

/// Checks that workers in the same checkout change different files: running ones, and those of the
/// same call.
fn leases(
    state: &State,
    parent: &Attempt,
    asked: &[Subtask],
    index: usize,
) -> Result<(), Rejection> {
    let Subtask { spec, workspace } = &asked[index];
    if *workspace != WorkspaceMode::Shared {
        return Ok(());
    }
    let taken = |path: &RepoPath, files: &[RepoPath]| overlap(core::slice::from_ref(path), files);
    let open = parent.family.open.iter().map(|it| &state.tasks[*it]);
    let shared = open.filter(|it| it.workspace() == Some(WorkspaceMode::Shared));
    let live = shared.map(|it| (SubtaskName(it.id).to_string(), &it.spec.region));
    let before =
        asked[..index].iter().zip(1..).filter(|it| it.0.workspace == WorkspaceMode::Shared);
    let before = before.map(|(it, number)| (format!("sub-task {number}"), &it.spec.target_files));
    for (by, files) in live.chain(before) {
        if let Some(path) = spec.target_files.iter().find(|it| taken(it, files)) {
            let (number, path) = (index + 1, path.clone());
            return Err(Rejection::TargetFilesTaken { number, path, by });
        }
    }
    Ok(())
}
