//! Any journal can be folded and shown.

use crate::journal::{base, commit, head, spec};
use pitcrew_model::{
    Actor, AttemptId, CheckResult, Claim, CommitId, EffectId, EffectResult, Entry, ErrorCause,
    Event, Exit, Failure, Freshness, LandedAt, Landing, LandingStatus, Message, MessageContext,
    MessageId, MessageKind, MessageStatus, Outcome, Party, PlanId, PlanStatus, Priority, Reason,
    RequestId, RequestKind, RequestStatus, Seq, StopReason, TaskId, TaskStatus, Timestamp, ToolUse,
    TurnCause, Usage, Work, WorkerId, WorkerStatus,
};
use pitcrew_views::{Board, Inbox, MessageFilter, Messages, Scope, Summary, line, names};
use proptest::prelude::*;

const ESCAPE: char = '\u{1b}';

/// Raw material for one event: its kind, its subject, and its content.
#[derive(Clone, Debug)]
struct Dice {
    kind: u8,
    ids: [u64; 3],
    number: u64,
    text: String,
}

fn dice() -> impl Strategy<Value = Dice> {
    let number = prop_oneof![0..10_u64, Just(u64::MAX), any::<u64>()];
    (
        any::<u8>(),
        [0..4_u64, 0..4_u64, 0..4_u64],
        number,
        prop_oneof![any::<String>(), "[a\u{1b}\u{202e}\n]{0,9}"],
    )
        .prop_map(|(kind, ids, number, text)| Dice { kind, ids, number, text })
}

impl Dice {
    fn pick<T: Copy>(&self, all: &[T]) -> T {
        all[usize::try_from(self.ids[1] + self.number % 16).expect("it is small") % all.len()]
    }

    fn plan(&self) -> PlanId {
        PlanId(self.ids[0])
    }

    fn task(&self) -> TaskId {
        TaskId(self.ids[0])
    }

    fn attempt(&self) -> AttemptId {
        AttemptId(self.ids[0])
    }

    fn worker(&self) -> WorkerId {
        WorkerId(self.ids[0])
    }

    fn request(&self) -> RequestId {
        RequestId(self.ids[0])
    }

    fn commit(&self) -> CommitId {
        CommitId(format!("{:040x}", self.number))
    }

    fn failure(&self) -> Failure {
        match self.number % 4 {
            0 => Failure::NoCompletion,
            1 => Failure::GaveUp { summary: self.text.clone() },
            2 => Failure::Conflict { paths: vec![self.text.clone()], with: vec![self.task()] },
            _ => Failure::Cancelled { by: self.text.clone() },
        }
    }

    fn reason(&self) -> Reason {
        let task = TaskId(self.ids[2]);
        match self.number % 5 {
            0 => Reason::Progress,
            1 => Reason::DependencyEnded { task, status: self.pick(TaskStatus::ALL) },
            2 => {
                Reason::Failure { failure: self.failure(), retry_at: Some(Timestamp(self.number)) }
            }
            3 => Reason::Failure { failure: self.failure(), retry_at: None },
            _ => Reason::SlotFree,
        }
    }

    fn request_kind(&self) -> RequestKind {
        let text = || self.text.clone();
        match self.number % 4 {
            0 => RequestKind::PlanExecution,
            1 => RequestKind::BranchMerge,
            2 => RequestKind::Question { question: text() },
            _ => RequestKind::ToolUse {
                tool: ToolUse {
                    title: text(),
                    kind: text(),
                    paths: vec![text()],
                    outside: Vec::new(),
                    command: Some(text()),
                    partial: false,
                },
                call: text(),
                options: Vec::new(),
                action: None,
                actions: [].into(),
            },
        }
    }

    fn exit(&self) -> Exit {
        Exit { code: None, signal: Some(9), stderr: self.text.clone() }
    }

    fn event(&self) -> Event {
        match self.kind % 4 {
            0 => self.plan_or_task_event(),
            1 => self.attempt_event(),
            2 => self.worker_event(),
            _ => Event::EffectEnded { effect: EffectId(self.number), result: self.result() },
        }
    }

    fn plan_or_task_event(&self) -> Event {
        let (plan, task, actor, reason) =
            (self.plan(), self.task(), Actor::Person, self.text.clone());
        match self.kind / 4 % 14 {
            0 => Event::AgentsMaxSet { count: u32::try_from(self.number).unwrap_or(u32::MAX) },
            1 => Event::PlanCreated {
                plan,
                head: head(&self.text),
                status: self.pick(PlanStatus::ALL),
                clean_base: true,
                actor,
            },
            2 | 3 => Event::TaskAdded {
                plan: PlanId(self.ids[1]),
                task,
                spec: spec(&self.text, "core"),
                depends_on: vec![TaskId(self.ids[2]), task],
            },
            4 => {
                let to = self.pick(PlanStatus::ALL);
                Event::PlanMoved { plan, from: PlanStatus::Draft, to, reason, actor }
            }
            5 => Event::PlanOpened { plan },
            6 => Event::BaseCheckAsked { plan },
            7 if self.number.is_multiple_of(2) => Event::TaskHeld { task, actor },
            7 => Event::TaskDeployed { task, actor },
            8 => Event::RetryGranted { task, freshness: Freshness::Continue, actor },
            9 => {
                let to = self.pick(LandingStatus::ALL);
                Event::LandingMoved { plan, from: LandingStatus::None, to, reason, actor }
            }
            _ => {
                let to = self.pick(TaskStatus::ALL);
                let from = TaskStatus::Pending;
                Event::TaskMoved { task, from, to, reason: self.reason(), actor }
            }
        }
    }

    fn attempt_event(&self) -> Event {
        let attempt = self.attempt();
        match self.kind / 4 % 10 {
            0..3 => Event::AttemptOpened {
                attempt,
                task: TaskId(self.ids[1]),
                worker: WorkerId(self.ids[2]),
                number: u32::try_from(self.number).unwrap_or(u32::MAX),
                start: self.commit(),
                base: self.commit(),
            },
            3 => Event::AttemptEnded {
                attempt,
                outcome: Outcome::Failed,
                failure: Some(self.failure()),
            },
            4 => Event::CompletionClaimed {
                attempt,
                claim: Claim::Partial,
                summary: self.text.clone(),
            },
            5 => Event::CollectAsked { attempt },
            6 => Event::SaveAsked { attempt },
            7 => Event::VerifyAsked { attempt, onto: self.commit() },
            8 => Event::IntegrateAsked { attempt },
            _ => Event::Abandoned { attempt, actor: Actor::Worker(self.worker()) },
        }
    }

    fn worker_event(&self) -> Event {
        let (worker, note) = (self.worker(), self.text.clone());
        match self.kind / 4 % 16 {
            0 => Event::WorkerMoved {
                worker,
                from: WorkerStatus::Paused,
                to: self.pick(WorkerStatus::ALL),
                reason: note,
            },
            1 => Event::AgentStartAsked { worker },
            2 => Event::TurnOpened { worker, cause: TurnCause::Resumed },
            3 => Event::StopAsked { worker },
            4 => Event::InterruptAsked { worker },
            5 => Event::AgentExited { worker, exit: self.exit() },
            6 => Event::ActivityNoted { worker, note },
            7 => Event::ToolDecided {
                worker,
                call: note.clone(),
                title: note,
                option: None,
                action: None,
                grant: None,
                denied_by: None,
            },
            8 => {
                let (request, option) = (self.request(), None);
                Event::ToolAnswered { request, worker, call: note, option }
            }
            9 => Event::RequestOpened {
                request: self.request(),
                plan: PlanId(self.ids[1]),
                task: Some(TaskId(self.ids[2])),
                worker: Some(WorkerId(self.ids[1])),
                kind: self.request_kind(),
            },
            10 => Event::RequestMoved {
                request: self.request(),
                from: RequestStatus::AtUser,
                to: self.pick(RequestStatus::ALL),
                text: Some(note),
                actor: Actor::Person,
            },
            11 => Event::AgentReattached { worker, away_ms: self.ids[0] },
            12 => Event::CallTaken { worker, nonce: note },
            13 => Event::MessageQueued(self.message()),
            14 => Event::MessageMoved {
                message: MessageId(self.ids[0]),
                task: TaskId(self.ids[1]),
                from: MessageStatus::Queued,
                to: self.pick(MessageStatus::ALL),
                reader: Some(worker),
                reason: note,
            },
            _ => Event::RemovalAsked { attempt: self.attempt() },
        }
    }

    fn message(&self) -> Message {
        let context = MessageContext {
            plan: self.plan(),
            task: TaskId(self.ids[1]),
            worker: None,
            worktree: Some(self.text.clone()),
            parent: None,
            subtask: None,
            depth: 0,
        };
        Message {
            id: MessageId(self.ids[0]),
            from: Party::Worker(self.worker()),
            to: self.pick(&[Party::Orchestrator, Party::Person, Party::Task(TaskId(1))]),
            kind: MessageKind::Question,
            priority: self.pick(Priority::ALL),
            context,
            content: self.text.clone(),
            thread: MessageId(self.ids[2]),
            reply_to: None,
            key: None,
            expires_at: None,
        }
    }

    fn result(&self) -> EffectResult {
        let (plan, attempt, worker) = (self.plan(), self.attempt(), self.worker());
        match self.kind / 4 % 18 {
            0 => EffectResult::PlanPrepared { plan, base: base() },
            1 => EffectResult::PlanNotPrepared { plan, failure: self.failure() },
            2 => EffectResult::BaseChecked { plan, checks: vec![self.check()] },
            3 => EffectResult::CheckoutPrepared {
                attempt,
                path: self.text.clone(),
                notes: vec![self.text.clone()],
            },
            4 => {
                let (agent, session) = (self.text.clone(), self.text.clone());
                EffectResult::AgentReady { worker, agent, session }
            }
            5 => EffectResult::TurnEnded {
                worker,
                stop: StopReason::Error { cause: ErrorCause::Other, message: self.text.clone() },
                usage: Usage {
                    tokens_in: self.number,
                    cost_micros: self.number,
                    ..Usage::default()
                },
                last_words: self.text.clone(),
            },
            6 => EffectResult::PermissionAnswered { worker },
            7 => EffectResult::TurnInterrupted { worker },
            8 => EffectResult::AgentStopped { worker, exit: self.exit() },
            9 => EffectResult::WorkCollected { attempt, work: self.work() },
            10 => EffectResult::WorkSaved { attempt, commit: Some(self.commit()) },
            11 => {
                let checks = vec![self.check()];
                EffectResult::Verified { attempt, merged: self.commit(), checks }
            }
            12 => EffectResult::Integrated { attempt, head: self.commit() },
            13 => EffectResult::Landed { plan, landing: self.landing() },
            14 => EffectResult::NotLanded { plan, failure: self.failure() },
            15 => EffectResult::CheckoutRemoved { attempt },
            16 => EffectResult::CheckoutKept { attempt, reason: self.text.clone() },
            _ => EffectResult::AttemptFailed { attempt, failure: self.failure() },
        }
    }

    fn check(&self) -> CheckResult {
        let code = (!self.number.is_multiple_of(2)).then_some(0);
        let (command, output) = (self.text.clone(), self.text.clone());
        CheckResult { command, code, output, took_ms: self.number }
    }

    fn work(&self) -> Work {
        let (count, files) = (self.number, Vec::new());
        let commit = self.commit();
        Work { commit, files_count: count, insertions: count, deletions: count, files }
    }

    fn landing(&self) -> Landing {
        let count = self.number;
        let at = LandedAt::Base { branch: self.text.clone() };
        Landing {
            commit: commit('e'),
            at,
            files_count: count,
            insertions: count,
            deletions: count,
            commits_count: 1,
            before: None,
        }
    }
}

proptest! {
    #[test]
    fn any_journal_can_be_folded_and_shown(rolls in prop::collection::vec((dice(), any::<u64>()), 0..120)) {
        let (mut board, mut inbox) = (Board::default(), Inbox::default());
        let mut messages = Messages::default();
        for (index, (dice, at)) in rolls.iter().enumerate() {
            let entry = Entry { seq: Seq(index as u64), at: Timestamp(*at), event: dice.event() };
            board.fold(&entry);
            inbox.fold(&entry);
            messages.fold(&entry);
            if let Some(line) = line(&board, &entry) {
                prop_assert!(!line.to_string().contains(ESCAPE));
            }
        }
        for now in [0, 1, u64::MAX] {
            let view = board.view(Timestamp(now), Scope::All);
            let text = serde_json::to_string(&view).expect("it can be encoded");
            prop_assert_eq!(&view, &serde_json::from_str(&text).expect("it can be read"));
            for plan in &view.plans {
                let summary = Summary::of(&view, plan.id).expect("the plan is shown");
                prop_assert_eq!(summary.tasks.len(), plan.tasks.len());
                prop_assert_eq!(plan.counts.values().sum::<u64>(), plan.tasks.len() as u64);
                let named = names::run_state(plan, view.tasks_of(plan.id));
                prop_assert!(!named.is_empty() && !summary.to_string().contains(ESCAPE));
            }
        }
        let shown = inbox.view(&board);
        prop_assert_eq!(shown.open.len(), inbox.open_count());
        let shown = messages.view(&board, &MessageFilter::default());
        let text = serde_json::to_string(&shown).expect("it can be encoded");
        prop_assert_eq!(&shown, &serde_json::from_str(&text).expect("it can be read"));
        prop_assert!(shown.messages.iter().all(|it| !it.message.content.contains(ESCAPE)));
    }
}
