//! Fifty workers that create as many sub-tasks as they can, and more.

use crate::drivers;
use pitcrew_kernel::{Attempt, State, step};
use pitcrew_model::{
    Actor, AgentRef, AttemptId, Claim, Command, Effect, Input, InputBody, PlanId, PlanStatus,
    Rejection, Signal, SubtaskKind, SubtaskSpec, TaskStatus, TaskWork, Timestamp, WorkerId,
    WorkspaceMode, limits,
};
use std::collections::{BTreeMap, VecDeque};

const SPAWNERS: usize = 50;
const AGENTS_MAX: u32 = 40;
const AGENTS_LIVE_MAX: u32 = 120;

#[derive(Default)]
struct Crew {
    state: State,
    inputs: VecDeque<(Actor, InputBody)>,
    refused: BTreeMap<&'static str, usize>,
    most_live: u32,
}

impl Crew {
    fn by_us(&mut self, signal: Signal) {
        self.inputs.push_back((Actor::Orchestrator, InputBody::Signal(signal)));
    }

    fn by_worker(&mut self, worker: WorkerId, command: Command) {
        self.inputs.push_back((Actor::Worker(worker), InputBody::Command(command)));
    }

    fn take(&mut self, (actor, body): (Actor, InputBody)) {
        let input = Input { at: Timestamp(1_000), actor, body };
        match step(&mut self.state, &input) {
            Ok(step) => {
                for (id, effect) in step.effects {
                    if let Effect::Prompt { worker, .. } = &effect {
                        self.work(*worker);
                    }
                    let result = drivers::success(id, &effect);
                    self.by_us(Signal::EffectEnded { effect: id, result });
                }
            }
            Err(rejection) => *self.refused.entry(name(&rejection)).or_default() += 1,
        }
        self.check();
    }

    /// In its first turn each worker creates too many; in the next one it is done.
    fn work(&mut self, worker: WorkerId) {
        let attempt = AttemptId(worker.0);
        let task = &self.state.tasks[self.state.attempts[attempt].task];
        let depth = task.delegation.as_ref().map_or(0, |it| it.depth);
        let own = task.spec.work.prompt().to_owned();
        let first = self.state.workers[worker].turns_count == 1;
        let batches: &[usize] = match depth {
            0 if first => &[6, 4, 1],
            1 | 2 if first => &[1],
            _ => &[],
        };
        if depth == 0 && first {
            self.by_worker(worker, spawn(attempt, vec![subtask(own.clone())]));
        }
        for (number, count) in batches.iter().enumerate() {
            let words = |it: usize| format!("part {number}.{it} of {own}");
            let subtasks = (0..*count).map(|it| subtask(words(it))).collect();
            self.by_worker(worker, spawn(attempt, subtasks));
        }
        // Rejected while its sub-tasks run: it reports again when they have ended.
        let (claim, summary, output) = (Claim::Success, "done".into(), None);
        self.by_worker(worker, Command::CompleteTask { attempt, claim, summary, output });
    }

    fn check(&mut self) {
        let agenda = &self.state.agenda;
        assert!(agenda.slots_used <= AGENTS_MAX && agenda.processes_count <= AGENTS_LIVE_MAX);
        self.most_live = self.most_live.max(agenda.processes_count);
        for attempt in self.state.attempts.iter() {
            let family = &attempt.family;
            assert!(family.children.len() <= 10 && family.active_count <= 5, "{}", attempt.id);
            assert!(Attempt::is_open(attempt) || family.open.is_empty(), "{}", attempt.id);
        }
    }
}

fn spawn(attempt: AttemptId, subtasks: Vec<SubtaskSpec>) -> Command {
    Command::SpawnSubtasks { attempt, subtasks, wait_ms: None, nonce: "5f3a".into() }
}

fn subtask(prompt: String) -> SubtaskSpec {
    SubtaskSpec {
        kind: SubtaskKind::Delegate,
        agent: AgentRef::backend("agent"),
        work: TaskWork::Prompt { prompt },
        expected_output: String::new(),
        model: None,
        workspace: Some(WorkspaceMode::ReadOnly),
        target_files: Vec::new(),
        attempts_max: limits::ATTEMPTS_PER_SUBTASK_DEFAULT,
        timeout_ms: limits::TASK_TIMEOUT_MS_DEFAULT,
    }
}

fn name(rejection: &Rejection) -> &'static str {
    if let Rejection::SubtaskTooDeep { .. } = rejection {
        "too deep"
    } else if let Rejection::TooManySubtasks { .. } = rejection {
        "too many"
    } else if let Rejection::SubtaskCycle { .. } = rejection {
        "in a circle"
    } else if let Rejection::AgentsLiveMax { .. } = rejection {
        "no room"
    } else if let Rejection::SubtasksOpen { .. } = rejection {
        "not done"
    } else {
        panic!("{rejection}")
    }
}

/// S4-120, S4-127, S4-128: with fifty parallel spawners every limit holds, each rejection names its
/// limit, and all of them end.
#[test]
fn fifty_spawners_stay_within_every_limit() {
    let state =
        State { agents_max: AGENTS_MAX, agents_live_max: AGENTS_LIVE_MAX, ..State::default() };
    let mut crew = Crew { state, ..Crew::default() };
    let mut plan = crate::plan();
    plan.spec.tasks.truncate(SPAWNERS);
    for task in &mut plan.spec.tasks {
        task.work = TaskWork::Prompt { prompt: format!("do {}", task.key) };
    }
    crew.inputs.push_back((Actor::Person, InputBody::Command(Command::CreatePlan(plan))));
    while let Some(input) = crew.inputs.pop_front() {
        crew.take(input);
    }
    assert_eq!(crew.state.plans[PlanId(1)].status, PlanStatus::Completed);
    let left = crew.state.tasks.iter().find(|it| it.status != TaskStatus::Completed);
    assert_eq!(left.map(|it| it.id), None);
    assert_eq!(crew.most_live, AGENTS_LIVE_MAX, "there is room for so many");
    for why in ["too deep", "too many", "in a circle", "no room", "not done"] {
        assert!(crew.refused.get(why).is_some_and(|it| *it > 0), "{why}: {:?}", crew.refused);
    }
    assert!(crew.refused["too many"] >= SPAWNERS - 1, "{:?}", crew.refused);
}
