//! Inputs of agents: during a turn, between turns and after their end.

mod any;

pub use any::{any_subtask, permission, until};

use crate::{counters::Fault, dice::Dice, drivers::Mood, schedule::Theme, world::World};
use any::{any_query, any_question, any_stop, any_usage, any_words, error, fault_of};
use pitcrew_model::{
    Access, Actor, Addressee, AttemptId, Claim, Command, Effect, EgressDecision, EgressOf,
    ErrorCause, Exit, Freshness, InputBody, MessageId, MessageKind, NoteKind, PlanId, QueryVia,
    RequestId, Signal, StopReason, TaskId, TaskStatus, Usage, Verdict, WorkerId,
};

impl World {
    /// Continues the turn of an agent: it works, reports something, or ends the turn.
    pub fn go_on(&mut self, worker: WorkerId, dice: &mut Dice, mood: Mood) {
        let Some(agent) = self.agents.get_mut(&worker) else { return };
        let attempt = agent.attempt;
        if mood == Mood::Good {
            if agent.calls.is_empty() {
                agent.end_turn(StopReason::EndTurn);
                self.git.write(attempt);
                let (claim, summary) = (Claim::Success, "done".into());
                self.by_worker(
                    worker,
                    Command::CompleteTask { attempt, claim, summary, output: None },
                );
            }
            return;
        }
        // A worker that is done at once is never asked anything.
        let stays = self.theme != Theme::Anything && !dice.one_in(3);
        match dice.below(10) {
            0 => self.git.write(attempt),
            _ if self.is_dry || self.is_offline => {
                let cause = if self.is_offline {
                    self.counters.count(Fault::Unreachable);
                    ErrorCause::Unreachable
                } else {
                    self.counters.count(Fault::QuotaMet);
                    ErrorCause::Quota { until: until(dice, self.now) }
                };
                agent.end_turn_using(error(cause), Usage::NONE);
            }
            1 => self.tell_usage(worker, dice),
            2..5 if agent.calls.is_empty() => {
                let stop = if stays { StopReason::EndTurn } else { any_stop(dice, self.now) };
                let claims = stop == StopReason::EndTurn && !stays && !dice.one_in(4);
                let fault = fault_of(&stop);
                let usage = any_usage(dice, agent.reported);
                agent.end_turn_using(stop, usage);
                if claims {
                    self.git.write(attempt);
                    let (claim, summary) = (Claim::Success, "done".into());
                    self.by_worker(
                        worker,
                        Command::CompleteTask { attempt, claim, summary, output: None },
                    );
                } else {
                    self.counters.count(fault);
                }
            }
            _ => {
                self.git.write(attempt);
                self.speak(worker, dice);
            }
        }
    }

    /// Any agent reports something, even one that has ended or never existed.
    pub fn anybody_speaks(&mut self, dice: &mut Dice) {
        let old = dice.one_in(8);
        let known = self.agents.iter().filter(|it| it.1.alive || old);
        let known: Vec<WorkerId> = known.map(|it| *it.0).collect();
        let worker = match dice.pick(&known) {
            Some(worker) if !dice.one_in(20) => worker,
            None if !dice.one_in(20) => return,
            _ => {
                self.counters.count(Fault::Nonsense);
                WorkerId(dice.below(self.ledger.workers.len() as u64 + 3))
            }
        };
        let alive = self.agents.get(&worker).is_some_and(|it| it.alive);
        if alive {
            if let Some(agent) = self.agents.get(&worker)
                && agent.turn.is_some()
            {
                self.git.write(agent.attempt);
            }
        } else {
            self.counters.count(Fault::AgentZombie);
        }
        self.speak(worker, dice);
    }

    fn speak(&mut self, worker: WorkerId, dice: &mut Dice) {
        // A worker and its attempt are opened together and have the same number.
        let attempt = AttemptId(worker.0);
        // Otherwise few requests would reach a parent.
        if self.ledger.is_child(worker) && dice.one_in(2) {
            return self.ask_permission(worker, dice);
        }
        if !dice.one_in(3) && self.speak_of_theme(worker, dice) {
            return;
        }
        let at_parents = self.ledger.at_parents();
        let is_asked = self.is_asked(attempt);
        if is_asked && dice.one_in(4) {
            // A grant may be revoked between a request and its decision.
            self.somebody_revokes(dice);
        }
        if is_asked && dice.one_in(2) || !at_parents.is_empty() && dice.one_in(4) {
            let command = self.decide_for_child(attempt, dice);
            return self.by_worker(worker, command);
        }
        let claims =
            [Claim::Success, Claim::Success, Claim::Success, Claim::Partial, Claim::Failed];
        let claim = dice.pick(&claims).expect("a claim");
        let message = any_words(dice);
        let (to, reply_to) = self.addressed(worker, dice);
        let note = |kind, message| Command::Notify { attempt, kind, message, to, reply_to };
        let other = [NoteKind::Completion, NoteKind::Error, NoteKind::Answer, NoteKind::Answer];
        if self.is_queried(worker) && dice.one_in(2) {
            let reply = note(NoteKind::Answer, message);
            return self.by_worker(worker, reply);
        }
        let command = match dice.below(20) {
            19 => self.order_child(attempt, dice),
            16.. => any_query(attempt, dice),
            15 => self.decide_for_child(attempt, dice),
            12..15 => self.delegate(attempt, dice),
            0..4 if self.theme != Theme::Anything => note(NoteKind::Status, message),
            0..5 => Command::CompleteTask { attempt, claim, summary: message, output: None },
            10 | 11 => note(dice.pick(&other).expect("a kind"), message),
            5 => note(NoteKind::Question, message),
            6 => note(NoteKind::Question, any_question(dice)),
            7 => note(NoteKind::Status, message),
            8 if dice.one_in(2) => return self.signal(Signal::Activity { worker, note: message }),
            8 => return self.tell_usage(worker, dice),
            9 if dice.one_in(2) => return self.reach_out(worker, dice),
            _ => return self.ask_permission(worker, dice),
        };
        let nonce = dice.below(5).to_string();
        let once = || Command::Once { nonce, order: Box::new(command.clone()) };
        let command = if dice.one_in(3) { once() } else { command };
        if dice.one_in(15) {
            // The bridge lost the answer and repeats the call.
            self.counters.count(Fault::SaidTwice);
            self.by_worker(worker, command.clone());
        }
        self.by_worker(worker, command);
    }

    /// Reports something about the theme of the schedule, if possible.
    fn speak_of_theme(&mut self, worker: WorkerId, dice: &mut Dice) -> bool {
        let attempt = AttemptId(worker.0);
        match self.theme {
            Theme::Anything => return false,
            Theme::Code => {
                let asked = self.ledger.mail.letters.iter().zip(1..);
                let asked = asked
                    .filter(|it| it.0.reader == Some(worker) && it.0.kind == MessageKind::Query);
                let asked: Vec<MessageId> = asked.map(|it| MessageId(it.1)).collect();
                let command = match dice.pick(&asked) {
                    Some(message) => Command::Notify {
                        attempt,
                        kind: NoteKind::Answer,
                        message: any_words(dice),
                        to: Addressee::Orchestrator,
                        reply_to: Some(message),
                    },
                    None => self.query_of_others(attempt, dice),
                };
                self.by_worker(worker, command);
            }
            Theme::Rights => {
                let has_children = !self.children_of(attempt).is_empty();
                let command = match dice.below(4) {
                    0 => self.delegate(attempt, dice),
                    1 if has_children => self.order_child(attempt, dice),
                    _ if has_children || self.ledger.is_child(worker) => {
                        self.ask_permission(worker, dice);
                        return true;
                    }
                    _ => self.delegate(attempt, dice),
                };
                self.by_worker(worker, command);
            }
        }
        true
    }

    /// Chooses an addressee, and a message to answer: mostly one that it received.
    fn addressed(&self, worker: WorkerId, dice: &mut Dice) -> (Addressee, Option<MessageId>) {
        let alive = self.agents.iter().filter(|it| it.1.alive && *it.0 != worker);
        let others: Vec<WorkerId> = alive.map(|it| *it.0).collect();
        let to = match (dice.pick(&others), dice.below(5)) {
            (Some(other), 0..3) => Addressee::Worker(other),
            (_, 3) if dice.one_in(4) => Addressee::Parent,
            (Some(_) | None, _) => Addressee::Orchestrator,
        };
        let letters = self.ledger.mail.letters.iter().zip(1..);
        let mine = letters.filter(|it| it.0.reader == Some(worker)).map(|it| MessageId(it.1));
        let mine: Vec<MessageId> = mine.collect();
        let reply_to = match dice.pick(&mine) {
            Some(message) if !dice.one_in(8) => Some(message),
            Some(_) | None if dice.one_in(8) => Some(MessageId(dice.below(9))),
            Some(_) | None => None,
        };
        (to, reply_to)
    }

    /// Returns the sub-tasks of an attempt, even one that never existed.
    fn children_of(&self, attempt: AttemptId) -> &[TaskId] {
        let place = usize::try_from(attempt.0).unwrap_or(0).wrapping_sub(1);
        self.ledger.attempts.get(place).map_or(&[], |it| &it.children)
    }

    /// Creates sub-tasks, waits for them, or pulls their changes.
    fn delegate(&mut self, attempt: AttemptId, dice: &mut Dice) -> Command {
        let children = self.children_of(attempt).to_vec();
        let some = dice.pick(&children).unwrap_or(TaskId(1 + dice.below(9)));
        let place = |it: &TaskId| usize::try_from(it.0).expect("ids fit") - 1;
        let done = |it: &&TaskId| {
            let row = &self.ledger.tasks[place(it)];
            let ended = matches!(row.status, TaskStatus::Completed | TaskStatus::Partial);
            ended && !row.borrows()
        };
        let done = children.iter().find(done).copied();
        match dice.below(6) {
            0 | 3 if done.is_some() => Command::PullSubtask { attempt, task: done.unwrap_or(some) },
            0 => Command::PullSubtask { attempt, task: some },
            1 | 2 if !children.is_empty() => {
                let tasks = if dice.one_in(2) { Vec::new() } else { vec![some] };
                Command::AwaitSubtasks { attempt, tasks, timeout_ms: dice.below(5_000) }
            }
            _ => {
                let subtasks = (0..=dice.below(3)).map(|_| any_subtask(dice)).collect();
                let wait_ms = dice.one_in(2).then(|| dice.below(20_000));
                let nonce = dice.below(1_000).to_string();
                Command::SpawnSubtasks { attempt, subtasks, wait_ms, nonce }
            }
        }
    }

    /// Queries the code of another worker.
    fn query_of_others(&self, attempt: AttemptId, dice: &mut Dice) -> Command {
        let place = usize::try_from(attempt.0).unwrap_or(0).wrapping_sub(1);
        let task = self.ledger.attempts.get(place).map(|it| self.ledger.task_of_row(it));
        let is_one = task.is_some_and(|it| it.files.iter().any(|it| it.contains("core/a/x")));
        let via = if dice.one_in(3) { QueryVia::Need } else { QueryVia::Tool };
        Command::AskQuery {
            attempt,
            nonce: dice.below(40).to_string(),
            symbol: if is_one { "Three" } else { "One" }.into(),
            context: "core".into(),
            via,
        }
    }

    /// Cancels or retries a sub-task, its own or another one.
    fn order_child(&self, attempt: AttemptId, dice: &mut Dice) -> Command {
        let own = dice.pick(self.children_of(attempt));
        let any = TaskId(1 + dice.below(self.ledger.tasks.len() as u64 + 1));
        let task = if dice.one_in(3) { any } else { own.unwrap_or(any) };
        if dice.one_in(3) {
            return Command::CancelTask { task };
        }
        Command::RetryTasks { tasks: vec![task], freshness: Freshness::Continue }
    }

    /// Returns whether a query without an answer is or was in its prompt.
    fn is_queried(&self, worker: WorkerId) -> bool {
        let letters = self.ledger.mail.letters.iter();
        letters.filter(|it| it.reader == Some(worker)).any(|it| it.kind == MessageKind::Query)
    }

    fn is_asked(&self, attempt: AttemptId) -> bool {
        self.ledger.asked_of(attempt).next().is_some()
    }

    /// Decides mostly its own requests, and sometimes those of others.
    fn decide_for_child(&mut self, attempt: AttemptId, dice: &mut Dice) -> Command {
        let own: Vec<RequestId> = self.ledger.asked_of(attempt).collect();
        let any = RequestId(1 + dice.below(self.ledger.requests.len() as u64 + 1));
        let others = self.ledger.at_parents();
        let requests = match dice.below(5) {
            0 => Vec::new(),
            1 => vec![any],
            2 => dice.pick(&others).into_iter().collect(),
            _ => dice.pick(&own).into_iter().collect(),
        };
        let verdict = if dice.one_in(3) { Verdict::Deny } else { Verdict::Approve };
        Command::DecideForChild { attempt, requests, verdict, reason: None }
    }

    fn tell_usage(&mut self, worker: WorkerId, dice: &mut Dice) {
        let agent = self.agents.get_mut(&worker).filter(|it| it.alive && it.turn.is_some());
        let reported = agent.as_ref().map_or(Usage::NONE, |it| it.reported);
        let usage = any_usage(dice, reported);
        let fault = match agent {
            Some(agent) => {
                agent.reported = usage;
                if usage.tokens_in == u64::MAX { Fault::UsageLies } else { Fault::UsageTold }
            }
            None => Fault::UsageLate,
        };
        self.counters.count(fault);
        // Like a reader of the record after a restart: repeats known decisions.
        let attempt = AttemptId(worker.0);
        let plan = PlanId(1 + dice.below(self.ledger.plans.len() as u64 + 1));
        let whose = if dice.one_in(3) { EgressOf::Plan(plan) } else { EgressOf::Attempt(attempt) };
        self.signal(Signal::EgressDecided(EgressDecision {
            whose,
            host: "a.example".into(),
            port: 443,
            allowed: usage.tokens_out.is_multiple_of(2),
            reason: String::new(),
            count: 1,
            offset: usage.tokens_in % 500,
        }));
        self.signal(Signal::UsageReported { worker, usage });
    }

    /// Accesses a file outside its zone, sometimes repeatedly, sometimes with a repeated signal.
    fn reach_out(&mut self, worker: WorkerId, dice: &mut Dice) {
        let Some(agent) = self.agents.get_mut(&worker) else { return };
        if !dice.one_in(4) {
            agent.calls_count += 1;
        }
        let place = u64::from(agent.calls_count);
        if dice.one_in(2) {
            let (nonce, symbol) = (format!("need-{place}"), "Thing".into());
            let context = "core".into();
            return self.signal(Signal::NeedLine { worker, nonce, symbol, context });
        }
        let access = if dice.one_in(3) { Access::Write } else { Access::Read };
        let path = String::from(dice.pick(&["core/a", "core/b"]).expect("a path"));
        let bytes_saved = dice.below(1_000);
        self.signal(Signal::AccessBlocked { worker, place, access, path, bytes_saved });
    }

    fn by_worker(&mut self, worker: WorkerId, command: Command) {
        self.say(Actor::Worker(worker), InputBody::Command(command));
    }

    fn ask_permission(&mut self, worker: WorkerId, dice: &mut Dice) {
        let roll = self.some_wish(worker, dice);
        let call = match self.agents.get_mut(&worker).filter(|it| it.alive && it.turn.is_some()) {
            Some(agent) => {
                agent.calls_count += 1;
                let call = format!("call-{}", agent.calls_count);
                agent.calls.push((call.clone(), roll));
                agent.wanted.push(roll);
                call
            }
            None => return,
        };
        self.signal(permission(worker, call, roll));
    }

    /// Often an action that others requested before, and for a sub-task one of its parent.
    fn some_wish(&self, worker: WorkerId, dice: &mut Dice) -> u64 {
        let above = self.ledger.parent(worker).and_then(|it| self.agents.get(&it));
        let above = above.and_then(|it| dice.pick(&it.wanted)).filter(|_| !dice.one_in(3));
        above.unwrap_or_else(|| if dice.one_in(2) { dice.below(8) } else { dice.next() })
    }

    /// The process exits by itself.
    pub fn somebody_dies(&mut self, dice: &mut Dice) {
        // An exit during the start is a failure of the start.
        let starting = |worker: WorkerId| {
            let mut running = self.running.values();
            running.any(
                |it| matches!(it.effect, Effect::StartAgent { worker: it, .. } if it == worker),
            )
        };
        let alive = self.agents.iter().filter(|it| it.1.alive && !starting(*it.0));
        let alive: Vec<WorkerId> = alive.map(|it| *it.0).collect();
        let Some(worker) = dice.pick(&alive) else { return };
        let agent = self.agents.get_mut(&worker).expect("it is known");
        agent.die();
        self.counters.count(Fault::AgentDied);
        let stderr = String::new();
        let exit = match dice.below(3) {
            0 => Exit { code: Some(0), signal: None, stderr },
            1 => Exit { code: Some(1), signal: None, stderr },
            _ => Exit { code: None, signal: Some(9), stderr },
        };
        self.signal(Signal::AgentExited { worker, exit });
    }
}
