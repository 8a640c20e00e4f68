//! A worker creates sub-tasks: all of the call, or none.

use super::{await_subtasks, create_plan, spawn_safety};
use crate::{State, crew::Subtask, state::Attempt};
use alloc::{string::String, vec::Vec};
use pitcrew_model::{
    AttemptId, Caps, Delegation, Event, Input, Rejection, RepoPath, SubtaskSpec, TaskId, TaskSpec,
    WorkspaceMode, limits, text,
};

/// The identity of a call: the worker's idempotency key, and the nonce of its results.
pub struct Names<'a> {
    pub nonce: &'a str,
    pub call: Option<&'a str>,
}

pub fn decide(
    state: &State,
    input: &Input,
    attempt: AttemptId,
    subtasks: &[SubtaskSpec],
    wait_ms: Option<u64>,
    names: &Names,
) -> Result<Vec<Event>, Rejection> {
    let parent = spawn_safety::parent(state, attempt)?;
    let resolve = |(it, number)| state.resolved_subtask(it, number);
    let subtasks = subtasks.iter().zip(1..).map(resolve).collect::<Result<Vec<_>, _>>()?;
    spawn_safety::check(state, input.at, parent, &subtasks)?;
    if wait_ms.is_some() {
        await_subtasks::may_wait(state, parent)?;
    }
    let first = state.tasks.next_id().0;
    let group = (subtasks.len() > 1).then_some(first);
    let plan = state.tasks[parent.task].plan;
    let mut events = Vec::new();
    let mut tasks = Vec::new();
    for (subtask, number) in subtasks.iter().zip(first..) {
        let delegation = delegation(state, parent, subtask, wait_ms.is_some(), group, names);
        let spec = spec(state, parent, subtask, &delegation);
        create_plan::check(&spec)?;
        tasks.push(TaskId(number));
        events.push(Event::SubtaskAdded { plan, task: TaskId(number), spec, delegation });
    }
    if let Some(group) = group {
        let (parent, tasks) = (parent.id, tasks.clone());
        events.push(Event::AgentGroupCreated { group, parent, tasks });
    }
    if wait_ms.is_some() {
        events.extend(await_subtasks::replace(state, parent));
    }
    events.extend(wait_ms.map(|it| await_subtasks::begin(input.at, parent, tasks, it, names.call)));
    Ok(events)
}

fn delegation(
    state: &State,
    parent: &Attempt,
    subtask: &Subtask,
    blocking: bool,
    group: Option<u64>,
    names: &Names,
) -> Delegation {
    let above = state.tasks[parent.task].delegation.as_ref();
    // A sub-task of a guest gets the guest's files, or some of them.
    let inherited = || above.map_or(Vec::new(), |it| it.target_files.clone());
    let Subtask { spec, workspace } = subtask;
    let named = !spec.target_files.is_empty();
    Delegation {
        parent: parent.id,
        kind: spec.kind,
        depth: spawn_safety::depth(state, parent),
        workspace: *workspace,
        target_files: if named { spec.target_files.clone() } else { inherited() },
        blocking,
        expected_output: text::cut(&spec.expected_output, limits::SUMMARY_BYTES_MAX).into(),
        group,
        nonce: text::cut(names.nonce, limits::NAME_BYTES_MAX).into(),
        call: names.call.map(Into::into),
    }
}

fn spec(state: &State, parent: &Attempt, subtask: &Subtask, delegation: &Delegation) -> TaskSpec {
    let Subtask { spec: subtask, workspace } = subtask;
    let of_parent = || state.tasks[parent.task].spec.region.clone();
    let named = !delegation.target_files.is_empty() && *workspace != WorkspaceMode::ReadOnly;
    let region: Vec<RepoPath> = if named { delegation.target_files.clone() } else { of_parent() };
    TaskSpec {
        key: key(subtask),
        work: subtask.work.clone(),
        region,
        depends_on: Vec::new(),
        agent: subtask.agent.clone(),
        checks: Vec::new(),
        expected_files: Vec::new(),
        criteria: Vec::new(),
        attempts_max: subtask.attempts_max,
        timeout_ms: subtask.timeout_ms,
        caps: Caps::NONE,
        model: subtask.model.clone(),
    }
}

const KEY_BYTES_MAX: usize = 60;

/// Returns the name in lists: the start of the prompt.
pub fn key(subtask: &SubtaskSpec) -> String {
    let line = subtask.work.prompt().lines().map(str::trim).find(|it| !it.is_empty());
    let key = text::cut(line.unwrap_or_default(), KEY_BYTES_MAX).trim_end();
    if key.is_empty() { alloc::format!("{}", subtask.agent) } else { key.into() }
}

/// Returns the backend whose model would do the work.
pub fn vendor(subtask: &SubtaskSpec) -> Option<&str> {
    subtask.agent.vendor(&subtask.work)
}
