//! Runs a real orchestrator under a tracer.

use super::{
    trace::{self, Step},
    truth::{Truth, is_spool},
};
use crate::rounds::scene;
use pitcrew_testkit::{Sandbox, eventually};
use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

pub struct Recorded {
    pub steps: Vec<Step>,
    pub truth: Truth,
}

/// The scene of the rounds, then a stop, and a restart.
pub fn run(binary: &Path) -> Result<Recorded, String> {
    let sandbox = scene::prepare(binary);
    let mut steps = Vec::new();
    for (number, play) in [scene_of_rounds, bulk].into_iter().enumerate() {
        let file = sandbox.root().join(format!("trace-{number}"));
        serve_traced(&sandbox, binary, &file, play);
        let text = fs::read_to_string(&file).map_err(|it| it.to_string())?;
        let state = sandbox.states().pop().ok_or("there is no workspace")?;
        let before = steps.last().map_or(0, |it: &Step| it.end + 1);
        let mut more = trace::parse(&text, &state);
        for step in &mut more {
            step.begin += before;
            step.end += before;
        }
        steps.extend(more);
    }
    let state = sandbox.states().pop().ok_or("there is no workspace")?;
    let spools = spools(&state);
    let truth = Truth::read(&state, &spools);
    Ok(Recorded { steps, truth })
}

fn serve_traced(sandbox: &Sandbox, binary: &Path, file: &Path, play: fn(&Sandbox)) {
    let calls = format!("trace={}", trace::CALLS);
    let file = file.display().to_string();
    let serve = binary.display().to_string();
    let serving = sandbox.start_program(
        "strace",
        &[
            "-f",
            "--seccomp-bpf",
            "-qq",
            "-y",
            "-xx",
            "-s",
            "16777216",
            "-e",
            "signal=none",
            "-e",
            &calls,
            "-o",
            &file,
            &serve,
            "serve",
        ],
    );
    eventually("it serves", || serving.notes().contains("serving ").then_some(()));
    play(sandbox);
    sandbox.pitcrew(&["stop"]).expect(0);
    serving.wait().expect(0);
}

fn scene_of_rounds(sandbox: &Sandbox) {
    scene::play(sandbox, scene::Help::Never);
}

/// Enough text to fill and restart the write-ahead log.
fn bulk(sandbox: &Sandbox) {
    let mut plan = "name = \"bulk\"\n".to_owned();
    for number in 1..=TASKS {
        let text = "word ".repeat(PROMPT_WORDS);
        writeln!(
            plan,
            "[[task]]\nid = \"b{number}\"\nregion = \"b{number}\"\nprompt = \"{text}\"\ncommand = \"true\""
        )
        .expect("text takes text");
    }
    sandbox.pitcrew(&["run", &sandbox.plan(&plan), "--yes"]).expect(0);
}

const TASKS: usize = 4;
const PROMPT_WORDS: usize = 10_000;

fn spools(state: &Path) -> Vec<PathBuf> {
    let attempts = fs::read_dir(state.join("attempts")).into_iter().flatten().flatten();
    let files = attempts.flat_map(|it| fs::read_dir(it.path()).into_iter().flatten().flatten());
    files.map(|it| it.path()).filter(|it| is_spool(it)).collect()
}
