//! A transcript language for the kernel: lines of inputs in, events and effects out. No IO.
//!
//! A line that begins with `~` is silent. `start`, `finish` and `work` take the current attempt of
//! a task along the happy path and print only what happens to others. Snapshots are taken at once
//! and not printed, unless a line says `snapshots`.

mod family;
mod crew;
mod input;
mod signals;
mod results;
mod plan;
mod queries;
mod show;

use expect_test::Expect;
use pitcrew_kernel::{State, Step, step};
use pitcrew_model::{
    Actor, AttemptId, Effect, EffectId, EffectResult, Event, Input, InputBody, Rejection, Signal,
    TaskId, TaskStatus, Timestamp, WorkerId, WorkspaceMode,
};
use std::{collections::BTreeMap, fmt::Write};

/// Runs a script and compares its transcript.
pub fn check(script: &str, expected: &Expect) {
    expected.assert_eq(&Script::default().run(script));
}

#[derive(Default)]
pub struct Script {
    pub state: State,
    outbox: BTreeMap<EffectId, Effect>,
    pub prompts: BTreeMap<WorkerId, String>,
    /// All effects, in order.
    pub effects: Vec<Effect>,
    /// The replacement of `$WORDS` in a line.
    pub words: String,
    last: Option<(Actor, InputBody)>,
    now: Timestamp,
    out: String,
    /// The script itself ends each snapshot.
    has_snapshots: bool,
}

impl Script {
    /// Runs all lines and returns the transcript.
    pub fn run(&mut self, script: &str) -> String {
        for line in script.lines().map(str::trim).filter(|it| !it.is_empty()) {
            let line = &line.replace("$WORDS", &self.words);
            let before = self.out.len();
            let _ = writeln!(self.out, "> {line}");
            match line.strip_prefix('~') {
                Some(line) => {
                    self.line(line.trim());
                    let silent = &self.out[before..];
                    assert!(!silent.contains("rejected:"), "a silent line is rejected: {silent}");
                    self.out.truncate(before);
                }
                None => self.line(line),
            }
        }
        std::mem::take(&mut self.out)
    }

    fn line(&mut self, line: &str) {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        match verb {
            "start" | "finish" | "work" => self.shortcut(verb, rest),
            "snapshots" => self.has_snapshots = true,
            "show" => self.show(rest),
            "tick" => {
                self.now = self.now.plus(plan::milliseconds(rest.trim_start_matches('+')));
                self.give(Actor::Orchestrator, InputBody::Tick);
            }
            // Time passes without an orchestrator.
            "away" => {
                self.now = self.now.plus(plan::milliseconds(rest.trim_start_matches('+')));
            }
            "back" => {
                let back = plan::milliseconds(rest.trim_start_matches('-'));
                self.now = Timestamp(self.now.0.saturating_sub(back));
            }
            "repeat" => {
                let (actor, body) = self.last.clone().expect("something to repeat");
                self.give(actor, body);
            }
            _ => {
                let (actor, body) = input::parse(self, verb, rest);
                self.give(actor, body);
            }
        }
    }

    fn give(&mut self, actor: Actor, body: InputBody) {
        match self.step(actor, body) {
            Ok(mut step) => {
                self.answer_snapshots(&mut step);
                let shown = show::step(&step);
                self.out.push_str(if shown.is_empty() { "  nothing\n" } else { &shown });
            }
            Err(rejection) => {
                let _ = writeln!(self.out, "  rejected: {rejection}");
            }
        }
    }

    fn step(&mut self, actor: Actor, body: InputBody) -> Result<Step, Rejection> {
        self.answer_base_check(&body);
        self.last = Some((actor, body.clone()));
        self.step_alone(actor, body)
    }

    fn step_alone(&mut self, actor: Actor, body: InputBody) -> Result<Step, Rejection> {
        let step = step(&mut self.state, &Input { at: self.now, actor, body })?;
        for (id, effect) in &step.effects {
            if let Effect::Prompt { worker, text, .. } = effect {
                self.prompts.insert(*worker, text.clone());
            }
            self.effects.push(effect.clone());
            self.outbox.insert(*id, effect.clone());
        }
        for entry in &step.entries {
            if let Some(effect) = entry.event.retires() {
                self.outbox.remove(&effect).expect("an effect ends once");
            }
        }
        Ok(step)
    }

    /// By default a snapshot finds the checkout unchanged.
    fn answer_snapshots(&mut self, step: &mut Step) {
        while !self.has_snapshots {
            let open = self.outbox.iter().find_map(|(id, effect)| {
                if let Effect::Snapshot { attempt, .. } = effect {
                    Some((*id, *attempt))
                } else {
                    None
                }
            });
            let Some((effect, attempt)) = open else { break };
            let result = EffectResult::SnapshotUnchanged { attempt };
            let ended = InputBody::Signal(Signal::EffectEnded { effect, result });
            let more = self.step_alone(Actor::Orchestrator, ended).expect("the snapshot is open");
            step.entries.extend(more.entries);
            step.effects.extend(more.effects);
        }
        if !self.has_snapshots {
            step.effects.retain(|it| !matches!(it.1, Effect::Snapshot { .. }));
        }
    }

    /// By default the base check passes, because nothing is verified before it.
    fn answer_base_check(&mut self, body: &InputBody) {
        let InputBody::Signal(Signal::EffectEnded { result, .. }) = body else { return };
        let open = self.outbox.iter().find_map(|(id, effect)| {
            if let Effect::CheckBase { plan, .. } = effect { Some((*id, *plan)) } else { None }
        });
        if let (EffectResult::WorkCollected { .. }, Some((effect, plan))) = (result, open) {
            let result = EffectResult::BaseChecked { plan, checks: Vec::new() };
            let green = InputBody::Signal(Signal::EffectEnded { effect, result });
            self.step(Actor::Orchestrator, green).expect("the base check is open");
        }
    }

    /// Returns the newest open effect that `wanted` accepts; an unknown effect if there is none.
    fn effect(&self, wanted: impl Fn(&Effect) -> bool) -> EffectId {
        let open = self.outbox.iter().rev().find(|(_, it)| wanted(it));
        open.map_or(EffectId(0), |(id, _)| *id)
    }

    fn shortcut(&mut self, verb: &str, task: &str) {
        let task: TaskId = task.parse().expect("a task");
        let id = self.state.tasks[task].last_attempt().expect("an attempt");
        let (attempt, worker) = (id.to_string(), self.state.attempts[id].worker.to_string());
        let start = [format!("checkout {attempt}"), format!("ready {worker}")];
        let finish = [
            format!("complete {attempt} did {}", self.state.tasks[task].spec.key),
            format!("turn {worker} end_turn"),
            format!("stopped {worker}"),
        ];
        // Work of sub-tasks is never merged.
        let merge: &[&str] = match self.state.tasks[task].workspace() {
            None => &["collected", "verified", "integrated"],
            Some(WorkspaceMode::Isolated) => &["collected"],
            Some(WorkspaceMode::ReadOnly | WorkspaceMode::Shared) => &[],
        };
        let merge = merge.iter().map(|it| format!("{it} {attempt}"));
        let started = self.state.tasks[task].status != TaskStatus::Starting;
        let lines: Vec<String> = match verb {
            "start" => start.into(),
            "finish" => finish.into(),
            _ if started => finish.into_iter().chain(merge).collect(),
            _ => start.into_iter().chain(finish).chain(merge).collect(),
        };
        for line in lines {
            let (verb, rest) = line.split_once(' ').expect("a verb and its object");
            let (actor, body) = input::parse(self, verb, rest);
            let mut step = self.step(actor, body).unwrap_or_else(|it| panic!("{line}: {it}"));
            self.answer_snapshots(&mut step);
            let entries = step.entries.iter().filter(|it| is_news(&it.event, task, id));
            let shown: String = entries.map(|it| show::event(&it.event)).collect();
            self.out.push_str(&shown);
        }
    }

    fn show(&mut self, what: &str) {
        match what.split_once(' ') {
            Some(("prompt", which)) => {
                let (worker, part) = which.split_once(' ').unwrap_or((which, ""));
                let worker: WorkerId = worker.parse().expect("a worker");
                for line in prompt_part(&self.prompts[&worker], part).lines() {
                    let _ = writeln!(self.out, "{}", format!("  | {line}").trim_end());
                }
            }
            _ => {
                let tasks = self.state.tasks.iter().map(|it| format!("{} {}", it.id, it.status));
                let tasks: Vec<String> = tasks.collect();
                let plans = self.state.plans.iter().map(|it| format!("{} {}", it.id, it.status));
                let plans: Vec<String> = plans.collect();
                let _ = writeln!(self.out, "  {} | {}", plans.join(", "), tasks.join(", "));
            }
        }
    }

    /// Returns the sub-task that the effect pulls.
    fn pulled(&self, effect: EffectId) -> TaskId {
        let Some(Effect::PullWork { task, .. }) = self.outbox.get(&effect) else {
            return TaskId(0);
        };
        *task
    }

    fn step_of(&self, attempt: AttemptId) -> EffectId {
        self.state.attempts[attempt].step.expect("the attempt waits for something")
    }

    fn ended(effect: EffectId, result: EffectResult) -> (Actor, InputBody) {
        let signal = Signal::EffectEnded { effect, result };
        (Actor::Orchestrator, InputBody::Signal(signal))
    }
}

/// Returns the prompt, or its part `since HEADING` or `until HEADING`.
fn prompt_part<'a>(prompt: &'a str, part: &str) -> &'a str {
    let Some((which, heading)) = part.split_once(' ') else { return prompt };
    let at = prompt.find(&format!("## {heading}")).expect("the prompt has this heading");
    match which {
        "since" => &prompt[at..],
        "until" => prompt[..at].trim_end(),
        _ => panic!("neither since nor until: {part}"),
    }
}

/// What a shortcut prints: the end of its own task, and everything about others.
///
/// A worker and its attempt are opened together and have the same number.
fn is_news(event: &Event, task: TaskId, attempt: AttemptId) -> bool {
    if let Event::TaskMoved { task: moved, to, .. } = event {
        return *moved != task || *to == TaskStatus::Completed;
    }
    let worker = WorkerId(attempt.0);
    matches!(event, Event::AwaitEnded { .. } | Event::ResultsHanded { .. })
        || matches!(event, Event::AttemptOpened { attempt: other, .. } if *other != attempt)
        || matches!(event, Event::WorkerMoved { worker: other, .. } if *other != worker)
        || matches!(event, Event::PlanMoved { .. })
}
