//! The output for journals made by hand.

use super::*;
use expect_test::expect;
use pitcrew_api::EventLine;
use pitcrew_model::{
    Actor, AgentRef, AttemptId, CheckFailure, Claim, CommitId, Deploy, EffectId, EffectResult,
    Effort, Entry, Event, Failure, Outcome, Overlap, PlanBase, PlanHead, PlanId, PlanStatus,
    Reason, RepoPath, RequestId, RequestKind, Seq, TaskId, TaskSpec, TaskStatus, TaskWork,
    Timestamp, Work, WorkerId, WorkerStatus,
};
use pitcrew_views::{Board, BoardView, Inbox, InboxView, Scope, Summary};
use std::path::Path;

const PLAN: PlanId = PlanId(1);

/// A journal with one entry per second.
#[derive(Default)]
struct Journal {
    board: Board,
    inbox: Inbox,
    entries: Vec<Entry>,
}

impl Journal {
    fn push(&mut self, event: Event) {
        let number = self.entries.len() as u64 + 1;
        let entry = Entry { seq: Seq(number), at: Timestamp(number * 1_000), event };
        self.board.fold(&entry);
        self.inbox.fold(&entry);
        self.entries.push(entry);
    }

    fn result(&mut self, result: EffectResult) {
        self.push(Event::EffectEnded { effect: EffectId(self.entries.len() as u64), result });
    }

    fn move_plan(&mut self, from: PlanStatus, to: PlanStatus) {
        let (plan, reason, actor) = (PLAN, String::new(), Actor::Person);
        self.push(Event::PlanMoved { plan, from, to, reason, actor });
    }

    fn move_task(&mut self, task: u64, from: TaskStatus, to: TaskStatus, reason: Reason) {
        let (task, actor) = (TaskId(task), Actor::Orchestrator);
        self.push(Event::TaskMoved { task, from, to, reason, actor });
    }

    fn start(&mut self, task: u64, attempt: u64, number: u32) {
        self.move_task(task, TaskStatus::Pending, TaskStatus::Queued, Reason::Progress);
        self.move_task(task, TaskStatus::Queued, TaskStatus::Starting, Reason::SlotFree);
        self.push(Event::AttemptOpened {
            attempt: AttemptId(attempt),
            task: TaskId(task),
            worker: WorkerId(attempt),
            number,
            start: commit(),
            base: commit(),
        });
        let path = format!("/checkouts/task-{task}");
        self.result(EffectResult::CheckoutPrepared {
            attempt: AttemptId(attempt),
            path,
            notes: Vec::new(),
        });
        let (worker, reason) = (WorkerId(attempt), String::new());
        let (from, to) = (WorkerStatus::Starting, WorkerStatus::Running);
        self.push(Event::WorkerMoved { worker, from, to, reason });
        self.move_task(task, TaskStatus::Starting, TaskStatus::Running, Reason::Progress);
    }

    fn end(&mut self, attempt: u64, outcome: Outcome, failure: Option<Failure>) {
        let attempt = AttemptId(attempt);
        self.push(Event::AttemptEnded { attempt, outcome, failure });
    }

    fn fail(&mut self, task: u64, attempt: u64, to: TaskStatus) {
        let failure = Failure::Checks {
            failed: vec![CheckFailure {
                command: "make test".into(),
                code: Some(1),
                output: "one is not two".into(),
                red_on_base: false,
            }],
        };
        self.end(attempt, Outcome::Failed, Some(failure.clone()));
        let retry_at = (to == TaskStatus::Pending).then_some(Timestamp(99_000));
        self.move_task(task, TaskStatus::Running, to, Reason::Failure { failure, retry_at });
    }

    fn complete(&mut self, task: u64, attempt: u64) {
        let (claim, summary) = (Claim::Success, "added \u{1b}[31mit".to_owned());
        self.push(Event::CompletionClaimed { attempt: AttemptId(attempt), claim, summary });
        let work = Work {
            commit: commit(),
            files_count: 2,
            insertions: 10,
            deletions: 1,
            files: Vec::new(),
        };
        self.result(EffectResult::WorkCollected { attempt: AttemptId(attempt), work });
        self.move_task(task, TaskStatus::Running, TaskStatus::Verifying, Reason::Progress);
        self.move_task(task, TaskStatus::Verifying, TaskStatus::Integrating, Reason::Progress);
        self.end(attempt, Outcome::Success, None);
        self.move_task(task, TaskStatus::Integrating, TaskStatus::Completed, Reason::Progress);
    }

    fn view(&self) -> BoardView {
        let now = self.entries.last().map_or(Timestamp(0), |it| it.at);
        self.board.view(now, Scope::All)
    }

    fn waiting(&self) -> InboxView {
        self.inbox.view(&self.board)
    }

    /// The progress lines of a run without a live display.
    fn progress_text(&self) -> String {
        let (board, inbox) = (self.view(), self.waiting());
        let line = |entry: &Entry| EventLine {
            seq: entry.seq,
            at: entry.at,
            plan: Some(PLAN),
            task: None,
            text: None,
            entry: entry.clone().into(),
        };
        let progress_text = self
            .entries
            .iter()
            .filter_map(|it| progress(&line(it), &board, &inbox.open, Style::plain(), false));
        progress_text
            .flat_map(|it| it.lines().map(|it| format!("|{it}\n")).collect::<Vec<_>>())
            .collect()
    }
}

fn commit() -> CommitId {
    CommitId("a".repeat(40))
}

fn spec(key: &str) -> TaskSpec {
    TaskSpec {
        key: key.to_owned(),
        work: TaskWork::Command { prompt: String::new(), command: format!("make {key}") },
        region: vec![RepoPath::parse_prefix(key).expect("a path")],
        depends_on: Vec::new(),
        agent: AgentRef::backend("command"),
        checks: vec!["make test".to_owned()],
        expected_files: Vec::new(),
        criteria: Vec::new(),
        attempts_max: 2,
        timeout_ms: 60_000,
        caps: pitcrew_model::Caps::NONE,
        model: None,
    }
}

/// A plan with one completed task, one in its second attempt, one with a question and one pending.
fn journal() -> Journal {
    let mut journal = Journal::default();
    let head = PlanHead {
        name: "tidy up".to_owned(),
        description: String::new(),
        base: None,
        deploy: Deploy::Auto,
        overlap: Overlap::Wait,
        effort: Effort::Medium,
        shared: Vec::new(),
        setup: vec!["make deps".to_owned()],
        setup_inputs: Vec::new(),
        caps: pitcrew_model::Caps::NONE,
        denied: Vec::new(),
        reads: pitcrew_model::Reads::Guided,
        include: Vec::new(),
        agents_max: None,
    };
    let (status, actor) = (PlanStatus::Draft, Actor::Person);
    journal.push(Event::PlanCreated { plan: PLAN, head, status, clean_base: false, actor });
    for (number, key) in ["core", "api", "ui", "docs"].into_iter().enumerate() {
        let depends_on = if key == "docs" { vec![TaskId(2)] } else { Vec::new() };
        let task = TaskId(number as u64 + 1);
        journal.push(Event::TaskAdded { plan: PLAN, task, spec: spec(key), depends_on });
    }
    journal.move_plan(PlanStatus::AwaitingApproval, PlanStatus::Active);
    let base = PlanBase {
        branch: Some("main".to_owned()),
        tip: commit(),
        start: commit(),
        dirty_count: 1,
        notes: vec!["the repository is a shallow clone".to_owned()],
        left_behind: pitcrew_model::LeftBehind::default(),
    };
    journal.result(EffectResult::PlanPrepared { plan: PLAN, base });
    journal.start(1, 1, 1);
    journal.start(2, 2, 1);
    journal.start(3, 3, 1);
    journal.complete(1, 1);
    journal.fail(2, 2, TaskStatus::Pending);
    journal.start(2, 4, 2);
    let note = "writes api/\u{202e}lib.rs".to_owned();
    journal.push(Event::ActivityNoted { worker: WorkerId(4), note });
    journal.push(Event::RequestOpened {
        request: RequestId(1),
        plan: PLAN,
        task: Some(TaskId(3)),
        worker: Some(WorkerId(3)),
        kind: RequestKind::Question { question: "which port?\nthe old one?".to_owned() },
    });
    journal
}

#[test]
fn progress_has_one_line_per_event() {
    expect![[r#"
        |    Running plan-1 tidy up
        |       Base main at aaaaaaaaaa, with 1 uncommitted file
        |       Note the repository is a shallow clone
        |   Starting task-1 core: in core (command)
        |   Starting task-2 api: in api (command)
        |   Starting task-3 ui: in ui (command)
        |  Completed task-1 core: 20 s, 2 files, +10 -1
        |   Retrying task-2 api: check `make test` failed with exit code 1; attempt 2 of 2
        |              | one is not two
        |   Starting task-2 api: in api (command)
        |    Waiting request-1 task-3 ui: which port? the old one?
        |            pitcrew answer request-1 "..."
    "#]]
    .assert_eq(&journal().progress_text());
}

/// Events that were not shown at once, because the orchestrator was slow to answer.
#[test]
fn progress_counts_the_attempts_of_its_time() {
    let mut journal = journal();
    journal.fail(2, 4, TaskStatus::Failed);
    let text = journal.progress_text();
    assert!(text.contains("failed with exit code 1; attempt 2 of 2\n"), "{text}");
}

/// S4-130: requests that wait for a person have a panel below the workers.
#[test]
fn live_display_has_one_line_per_worker() {
    let journal = journal();
    let (board, inbox) = (journal.view(), journal.waiting());
    let now = board.at.plus(2_000);
    let lines = live(&board, &[PLAN], &inbox.open, now, Style::plain());
    expect![[r#"
        plan-1 tidy up: active for 42 s (1 of 4 done, 2 active, 1 waiting)
          task-2 api (attempt 2)  api  7.0 s  writes api/\u{202e}lib.rs
          task-3 ui               ui    21 s  running
          1 waiting for you: pitcrew inbox
            request-1  ui  2.0 s  which port? the old one?
    "#]]
    .assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn board_shows_what_each_task_waits_for() {
    expect![[r#"
        plan-1 tidy up: active, 1 of 4 completed, 40 s
          from main at aaaaaaaaaa, with 1 uncommitted file
          the repository is a shallow clone
          completed  task-1 core  core  1/2  20 s  added \u{1b}[31mit
          running    task-2 api   api   2/2  21 s  writes api/\u{202e}lib.rs
          running    task-3 ui    ui    1/2  19 s
          pending    task-4 docs  docs             waits for task-2 api

        1 request is waiting for you: pitcrew inbox
    "#]]
    .assert_eq(&board(&journal().view(), 1, usize::MAX, Style::plain()));
}

#[test]
fn board_fits_a_narrow_terminal() {
    let mut journal = journal();
    journal.fail(2, 4, TaskStatus::Failed);
    let text = board(&journal.view(), 1, 48, Style::plain());
    assert!(text.lines().all(|it| it.chars().count() <= 48), "{text}");
    expect![[r#"
        plan-1 tidy up: active, 1 of 4 completed, 42 s
          from main at aaaaaaaaaa, with 1 uncommitted
            file
          the repository is a shallow clone
          completed  task-1 core  core  1/2  20 s
              added \u{1b}[31mit
          failed     task-2 api   api   2/2  22 s
              check `make test` failed with exit code 1
                | one is not two
          running    task-3 ui    ui    1/2  21 s
          pending    task-4 docs  docs
              waits for task-2 api

        1 request is waiting for you: pitcrew inbox
    "#]]
    .assert_eq(&text);
}

#[test]
fn long_boards_are_capped() {
    let mut journal = journal();
    for number in 10..2_010 {
        let (task, spec) = (TaskId(number), spec(&format!("file-{number}")));
        journal.push(Event::TaskAdded { plan: PLAN, task, spec, depends_on: Vec::new() });
    }
    let text = board(&journal.view(), 1, usize::MAX, Style::plain());
    assert!(text.lines().count() < 50, "{} lines", text.lines().count());
    assert!(text.contains("running  task-2 api"), "{text}");
    assert!(text.contains("and 1964 more tasks: "), "{text}");
    assert!(text.contains("1 completed"), "{text}");
}

#[test]
fn inbox_shows_how_to_answer() {
    let journal = journal();
    let text = inbox(&journal.waiting(), &Details::new(), journal.view().at, false, Style::plain());
    expect![[r#"
        request-1 task-3 ui, 0.0 s ago
          which port?
          the old one?
          asked by worker-3, for plan-1 tidy up
          pitcrew answer request-1 "..."
    "#]]
    .assert_eq(&text);
}

/// A person who approves a plan sees every command verbatim.
#[test]
fn waiting_plan_shows_what_it_executes() {
    let mut journal = journal();
    let kind = RequestKind::PlanExecution;
    let (request, plan) = (RequestId(2), PLAN);
    journal.push(Event::RequestOpened { request, plan, task: None, worker: None, kind });
    let mut waiting = journal.waiting();
    waiting.open.retain(|it| it.id == RequestId(2));
    let text = inbox(&waiting, &Details::new(), journal.view().at, false, Style::plain());
    for shown in ["make deps", "make core", "make test", "pitcrew approve request-2"] {
        assert!(text.contains(shown), "{shown} in\n{text}");
    }
}

/// S0-067, S4-109: the summary has one line per task with state and reason, and totals.
#[test]
fn summary_lists_failures_and_next_steps() {
    let mut journal = journal();
    journal.fail(2, 4, TaskStatus::Failed);
    let reason = Reason::DependencyEnded { task: TaskId(2), status: TaskStatus::Failed };
    journal.move_task(4, TaskStatus::Pending, TaskStatus::Blocked, reason);
    journal.complete(3, 3);
    journal.move_plan(PlanStatus::Active, PlanStatus::Partial);
    let view = journal.view();
    let text = Summary::of(&view, PLAN).expect("the plan is there");
    expect![[r#"
        plan-1 tidy up: partial
          completed  task-1 core   1 attempt   20 s  2 files  +10 -1
          failed     task-2 api   2 attempts   22 s  0 files  +0 -0
          completed  task-3 ui     1 attempt   27 s  2 files  +10 -1
          blocked    task-4 docs  0 attempts  0.0 s  0 files  +0 -0
          2 of 4 completed, 4 attempts, 50 s, 4 files, +20 -2

        not completed:
          failed task-2 api: check `make test` failed with exit code 1
              | one is not two
            pitcrew logs task-2; pitcrew retry task-2
          blocked task-4 docs: task-2 api is failed

        journal    /state
        next       pitcrew diff plan-1
        next       pitcrew land plan-1
        next       pitcrew retry plan-1
    "#]]
    .assert_eq(&summary(&text, &view, Path::new("/state"), Style::plain()));
}

#[test]
fn agent_escapes_never_reach_the_terminal() {
    let journal = journal();
    let (view, waiting) = (journal.view(), journal.waiting());
    let live = live(&view, &[PLAN], &waiting.open, view.at, Style::plain()).join("\n");
    let board = board(&view, 1, usize::MAX, Style::plain());
    for text in [journal.progress_text(), live, board] {
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    }
}
