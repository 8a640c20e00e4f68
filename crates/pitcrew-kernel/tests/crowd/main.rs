//! Thousands of tasks at the limits: the limits are reached and never exceeded.

mod drivers;
mod spawners;

use pitcrew_kernel::{State, Worker, step};
use pitcrew_model::{
    Actor, Addressee, AgentRef, Approval, AttemptId, Claim, Command, CreatePlan, Deploy, Effect,
    Effort, Event, Input, InputBody, NoteKind, Origin, Overlap, PlanHead, PlanSpec, PlanStatus,
    RequestId, Signal, TaskSpec, TaskWork, Timestamp, WorkerId, WorkerStatus,
};
use std::collections::VecDeque;

const TASKS: usize = 2_000;
const AGENTS_MAX: u32 = 7;
const AGENTS_LIVE_MAX: u32 = 11;

fn plan() -> CreatePlan {
    let head = PlanHead {
        name: "crowd".into(),
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
    let task = |index: usize| TaskSpec {
        key: format!("t{index}"),
        work: TaskWork::Prompt { prompt: "do it".into() },
        region: Vec::new(),
        depends_on: Vec::new(),
        agent: AgentRef::backend("agent"),
        checks: Vec::new(),
        expected_files: Vec::new(),
        criteria: Vec::new(),
        attempts_max: 3,
        timeout_ms: 60_000,
        caps: pitcrew_model::Caps::NONE,
        model: None,
    };
    CreatePlan {
        spec: PlanSpec { head, tasks: (0..TASKS).map(task).collect() },
        origin: Origin::File,
        clean_base: false,
        approval: Approval::Given,
        default_agent: None,
    }
}

struct Crowd {
    state: State,
    inputs: VecDeque<(Actor, InputBody)>,
    /// Open questions.
    questions: Vec<RequestId>,
    now: u64,
    most: (usize, usize),
}

impl Crowd {
    fn by_us(&mut self, signal: Signal) {
        self.inputs.push_back((Actor::Orchestrator, InputBody::Signal(signal)));
    }

    /// Processes one input and checks the limits.
    fn take(&mut self, (actor, body): (Actor, InputBody)) {
        let input = Input { at: Timestamp(self.now), actor, body };
        let step = step(&mut self.state, &input).expect("nothing is rejected here");
        for entry in &step.entries {
            if let Event::RequestOpened { request, .. } = &entry.event {
                self.questions.push(*request);
            }
        }
        for (id, effect) in step.effects {
            if let Effect::Prompt { worker, .. } = &effect {
                // One of seven agents exits in the first attempt of its task, one of five asks
                // something.
                let number = self.state.attempts[AttemptId(worker.0)].number;
                if number == 1 && worker.0.is_multiple_of(7) {
                    let exit = drivers::exit(Some(1));
                    self.by_us(Signal::AgentExited { worker: *worker, exit });
                    continue;
                }
                self.inputs.push_back(agent(*worker, self.state.workers[*worker].turns_count));
            }
            let result = drivers::success(id, &effect);
            self.by_us(Signal::EffectEnded { effect: id, result });
        }
        let has_slot =
            |it: &&Worker| matches!(it.status, WorkerStatus::Starting | WorkerStatus::Running);
        let slots = self.state.live_workers().filter(has_slot).count();
        let live = self.state.live_workers().count();
        assert!(slots <= AGENTS_MAX as usize && live <= AGENTS_LIVE_MAX as usize, "{slots} {live}");
        self.most = (self.most.0.max(slots), self.most.1.max(live));
    }
}

fn agent(worker: WorkerId, turns_count: u32) -> (Actor, InputBody) {
    // A worker and its attempt are opened together and have the same number.
    let attempt = AttemptId(worker.0);
    let command = if worker.0.is_multiple_of(5) && turns_count == 1 {
        Command::Notify {
            attempt,
            kind: NoteKind::Question,
            message: "which?".into(),
            to: Addressee::Orchestrator,
            reply_to: None,
        }
    } else {
        Command::CompleteTask {
            attempt,
            claim: Claim::Success,
            summary: "done".into(),
            output: None,
        }
    };
    (Actor::Worker(worker), InputBody::Command(command))
}

/// S4-127: with any number of tasks that wait, fail and ask, the slots and the live processes stay
/// within their limits, and both limits are reached.
#[test]
fn two_thousand_tasks_stay_within_the_limits() {
    let state =
        State { agents_max: AGENTS_MAX, agents_live_max: AGENTS_LIVE_MAX, ..State::default() };
    let create = (Actor::Person, InputBody::Command(Command::CreatePlan(plan())));
    let mut crowd = Crowd {
        state,
        inputs: VecDeque::from([create]),
        questions: Vec::new(),
        now: 1_000,
        most: (0, 0),
    };
    loop {
        if let Some(input) = crowd.inputs.pop_front() {
            crowd.take(input);
        } else if crowd.questions.is_empty() {
            // Failed tasks wait for their back-off.
            crowd.now += 10_000;
            crowd.take((Actor::Orchestrator, InputBody::Tick));
            if crowd.inputs.is_empty() {
                break;
            }
        } else {
            // People answer when nothing else moves: all askers live until then.
            for request in std::mem::take(&mut crowd.questions) {
                let answer = Command::AnswerQuestion { request, text: "this".into() };
                crowd.inputs.push_back((Actor::Person, InputBody::Command(answer)));
            }
        }
    }
    let plan = crowd.state.plans.iter().next().expect("there is a plan");
    assert_eq!((plan.status, plan.completed_count), (PlanStatus::Completed, TASKS));
    assert!(crowd.state.attempts.len() > TASKS + TASKS / 10, "some needed a second attempt");
    assert_eq!(crowd.most, (AGENTS_MAX as usize, AGENTS_LIVE_MAX as usize));
}
