//! Any command that decodes is carried out or rejected.

use pitcrew_kernel::{State, step};
use pitcrew_model::{Actor, Command, Input, InputBody, PlanId, TaskId, Timestamp, WorkerId};
use pitcrew_testkit::corpus;
use std::{fs, path::Path};

const NOW: Timestamp = Timestamp(1_000_000);

fn golden() -> String {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pitcrew-model/tests/golden");
    fs::read_to_string(model.join("command.ndjson")).expect("golden lines")
}

fn take(state: &mut State, actor: Actor, command: Command) -> bool {
    let input = Input { at: NOW, actor, body: InputBody::Command(command) };
    step(state, &input).is_ok()
}

/// A state with a running plan.
fn busy() -> State {
    let mut state = State::default();
    let plan = corpus!("command")
        .samples()
        .iter()
        .find(|it| it.name == "plan.json")
        .expect("a plan")
        .bytes
        .clone();
    let plan = serde_json::from_slice(&plan).expect("a command");
    assert!(take(&mut state, Actor::Person, plan), "the plan is taken");
    assert!(state.plans.get(PlanId(1)).is_some() && state.tasks.get(TaskId(1)).is_some());
    state
}

#[test]
fn any_command_is_carried_out_or_rejected() {
    let golden = golden();
    // The same commands, about ids that exist.
    let known = golden
        .replace("plan-7", "plan-1")
        .replace("task-392", "task-1")
        .replace("attempt-41", "attempt-1")
        .replace("request-3", "request-1");
    let lines = golden.lines().chain(known.lines()).map(|it| it.as_bytes().to_vec());
    let (idle, busy) = (State::default(), busy());
    corpus!("command").with("golden", lines).check(400, |bytes| {
        let Ok(command) = serde_json::from_slice::<Command>(bytes) else { return };
        for state in [&idle, &busy] {
            for actor in [Actor::Person, Actor::Worker(WorkerId(1))] {
                let mut after = state.clone();
                if !take(&mut after, actor, command.clone()) {
                    assert_eq!(&after, state, "a rejection changes nothing");
                }
                let tick = Input { at: Timestamp(u64::MAX), actor, body: InputBody::Tick };
                step(&mut after, &tick).expect("a tick is never rejected");
            }
        }
    });
}
