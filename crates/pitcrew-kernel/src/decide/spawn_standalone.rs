//! An outside client creates sub-tasks. They get a plan of their own: their changes are on its
//! branch, and a person lands it.

use super::{create_plan, spawn_safety, spawn_subtasks};
use crate::{State, crew::Subtask};
use alloc::{
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};
use pitcrew_model::{
    Action, Caps, Deploy, Effort, Event, HouseRules, Input, Overlap, PlanHead, PlanStatus,
    Rejection, Rule, SubtaskSpec, TaskId, TaskSpec, TaskWork, WorkspaceMode,
};

/// The depth of these sub-tasks.
pub const DEPTH: u32 = 1;

pub fn decide(
    state: &State,
    input: &Input,
    subtasks: &[SubtaskSpec],
    rules: &HouseRules,
    call: Option<&str>,
) -> Result<Vec<Event>, Rejection> {
    let resolve = |(it, number)| state.resolved_subtask(it, number);
    let subtasks = subtasks.iter().zip(1..).map(resolve).collect::<Result<Vec<_>, _>>()?;
    check(state, input, &subtasks)?;
    denied(&subtasks, rules)?;
    let (plan, actor) = (state.plans.next_id(), input.actor);
    let status = PlanStatus::Draft;
    let head = head(&subtasks, rules);
    let mut events = vec![Event::PlanCreated { plan, head, status, clean_base: false, actor }];
    let (mut tasks, mut readers) = (Vec::new(), Vec::new());
    for (subtask, number) in subtasks.iter().zip(state.tasks.next_id().0..) {
        let (task, spec) = (TaskId(number), spec(&subtask.spec, tasks.len() + 1));
        create_plan::check(&spec)?;
        tasks.push(task);
        if subtask.workspace == WorkspaceMode::ReadOnly {
            readers.push(task);
        }
        events.push(Event::TaskAdded { plan, task, spec, depends_on: Vec::new() });
    }
    let call = call.map(Into::into);
    events.push(Event::StandaloneSpawned { plan, tasks, readers, call });
    let to = PlanStatus::AwaitingApproval;
    events.push(Event::PlanMoved { plan, from: status, to, reason: String::new(), actor });
    events.extend(create_plan::activate(plan, to, "its sub-tasks were created", actor));
    Ok(events)
}

fn check(state: &State, input: &Input, subtasks: &[Subtask]) -> Result<(), Rejection> {
    if subtasks.is_empty() {
        return Err(Rejection::NoSubtasks);
    }
    spawn_safety::rule(state)?;
    let limits = &state.matrix.limits;
    let max = limits.subtask_depth_standalone;
    if DEPTH > max {
        return Err(Rejection::SubtaskTooDeep { depth: DEPTH, max });
    }
    let open = state.plans.iter().filter(|it| it.standalone.is_some() && !it.status.has_ended());
    let count: usize = open.map(|it| it.open_count).sum();
    let count_of = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
    let (count, asked, max) = (count_of(count), count_of(subtasks.len()), limits.subtasks_total);
    if count.saturating_add(asked) > max {
        return Err(Rejection::TooManyStandalone { count, asked, max });
    }
    for (Subtask { spec, workspace }, number) in subtasks.iter().zip(1..) {
        if *workspace == WorkspaceMode::Shared {
            return Err(Rejection::NothingToShare { number });
        }
        spawn_safety::backend(state, input.at, spec)?;
        program(state, spec)?;
    }
    Ok(())
}

/// Rejects a sub-task whose target files are all denied.
fn denied(subtasks: &[Subtask], rules: &HouseRules) -> Result<(), Rejection> {
    for (subtask, number) in subtasks.iter().zip(1..) {
        for path in &subtask.spec.target_files {
            if let Some(rule) = rules.denied.iter().find(|it| it.contains(path.as_str())) {
                let (path, rule) = (path.clone(), rule.clone());
                return Err(Rejection::TargetFilesDenied { number, path, rule });
            }
        }
    }
    Ok(())
}

/// Without a checkout a command cannot be judged in detail, only by its kind.
fn program(state: &State, spec: &SubtaskSpec) -> Result<(), Rejection> {
    let action = match &spec.work {
        TaskWork::Prompt { .. } => return Ok(()),
        TaskWork::Command { .. } => Action::CommandExecution,
        TaskWork::Script { .. } => Action::OpaqueCommand,
    };
    match state.rule(&action) {
        Rule::AutoApprove => Ok(()),
        Rule::AskUser => Err(state.needs_rule(action)),
        Rule::AutoDeny => Err(state.denied(action)),
    }
}

fn head(subtasks: &[Subtask], rules: &HouseRules) -> PlanHead {
    let first = subtasks.first().map(|it| spawn_subtasks::key(&it.spec)).unwrap_or_default();
    PlanHead {
        name: format!("client: {first}"),
        description: String::new(),
        base: None,
        deploy: Deploy::Auto,
        overlap: Overlap::Wait,
        effort: Effort::Low,
        shared: rules.shared.clone(),
        denied: rules.denied.clone(),
        reads: rules.reads,
        agents_max: None,
        setup: Vec::new(),
        setup_inputs: Vec::new(),
        caps: rules.caps,
        include: Vec::new(),
    }
}

fn spec(subtask: &SubtaskSpec, number: usize) -> TaskSpec {
    let expected = subtask.expected_output.trim();
    TaskSpec {
        key: format!("{number} {}", spawn_subtasks::key(subtask)),
        work: subtask.work.clone(),
        region: subtask.target_files.clone(),
        depends_on: Vec::new(),
        agent: subtask.agent.clone(),
        checks: Vec::new(),
        expected_files: Vec::new(),
        criteria: if expected.is_empty() { Vec::new() } else { vec![expected.to_string()] },
        attempts_max: subtask.attempts_max,
        timeout_ms: subtask.timeout_ms,
        caps: Caps::NONE,
        model: subtask.model.clone(),
    }
}
