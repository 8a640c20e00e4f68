//! The timeline.

use crate::journal::{Journal, PLAN, commit};
use expect_test::expect;
use pitcrew_model::{
    Actor, AttemptId, CheckFailure, CheckResult, Claim, EffectResult, Event, Exit, Failure,
    FileChange, Freshness, LandedAt, Landing, LandingStatus, PlanStatus, Reason, RequestId,
    RequestKind, RequestStatus, Seq, StopReason, TaskId, TaskStatus, Timestamp, TurnCause, Usage,
    Work, WorkerId, WorkerStatus,
};

fn text(journal: &Journal) -> String {
    let lines: Vec<String> = journal.lines().iter().map(ToString::to_string).collect();
    lines.join("\n") + "\n"
}

/// S0-065: a change of status is one line: subject, from, to and reason.
#[test]
fn a_change_of_state_is_a_line() {
    let mut journal = Journal::active();
    journal.task(3, "core-types", "core", &[]);
    journal.start(3, 1, 1);
    let lines = journal.lines();
    let line = lines.iter().find(|it| it.seq == Seq(7)).expect("the slot was free");
    assert_eq!(
        line.to_string(),
        "[orchestrator] task-3 core-types: queued -> starting (a slot is free)"
    );
    assert_eq!((line.plan, line.task, line.at), (Some(PLAN), Some(TaskId(3)), Timestamp(7_000)));
    assert_eq!((line.subject.as_str(), line.actor), ("task-3 core-types", Actor::Orchestrator));
}

#[test]
fn the_lines_of_a_task_are_its_history() {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    journal.task(2, "api", "api", &[1]);
    journal.push(Event::BaseCheckAsked { plan: PLAN });
    journal.result(EffectResult::BaseChecked { plan: PLAN, checks: vec![check(Some(1))] });
    journal.start(1, 1, 1);
    journal.run(1, 1);
    let worker = WorkerId(1);
    journal.push(Event::ActivityNoted { worker, note: "edits core/a.rs".to_owned() });
    let title = "edit core/a.rs".to_owned();
    let (call, option) = ("call-1".to_owned(), Some("allow".to_owned()));
    journal.push(Event::ToolDecided {
        worker,
        call,
        title,
        option,
        action: None,
        grant: None,
        denied_by: None,
    });
    journal.push(Event::TurnOpened { worker, cause: TurnCause::Reminder });
    let attempt = AttemptId(1);
    let (claim, summary) = (Claim::Success, "Wrote it.\nAll of it.".to_owned());
    journal.push(Event::CompletionClaimed { attempt, claim, summary });
    journal.result(EffectResult::WorkCollected { attempt, work: work() });
    let failed = CheckFailure {
        command: "make test".to_owned(),
        code: Some(2),
        output: String::new(),
        red_on_base: true,
    };
    journal.fail(1, 1, Failure::Checks { failed: vec![failed] }, TaskStatus::Pending);
    journal.result(EffectResult::WorkSaved { attempt, commit: Some(commit('c')) });
    journal.start(1, 2, 2);
    finish(&mut journal, AttemptId(2));
    expect![[r#"
        [person] plan-1 demo: created, draft
        [person] plan-1 demo: draft -> awaiting_approval
        [person] plan-1 demo: awaiting_approval -> active (approved)
        [orchestrator] plan-1 demo: starts from main at aaaaaaaaaa, with 2 uncommitted paths; the repository is shallow
        [orchestrator] plan-1 demo: checks run on the base
        [orchestrator] plan-1 demo: already fails on the base: `make test`
        [orchestrator] task-1 core: pending -> queued
        [orchestrator] task-1 core: queued -> starting (a slot is free)
        [orchestrator] task-1 core: attempt 1 by worker-1 from aaaaaaaaaa
        [orchestrator] task-1 core: its checkout is ready
        [orchestrator] task-1 core: agent `tester` is ready
        [orchestrator] task-1 core: starting -> running
        [worker-1] task-1 core: edits core/a.rs
        [orchestrator] task-1 core: `edit core/a.rs` answered by rule: allow
        [orchestrator] task-1 core: reminded to report completion
        [worker-1] task-1 core: says: done: Wrote it. All of it.
        [orchestrator] task-1 core: changed 1 file, +10 -3
        [orchestrator] task-1 core: running -> pending (check `make test` failed with exit code 2 (it also fails on the base); next attempt in 7.0 s)
        [orchestrator] task-1 core: its work is saved as cccccccccc
        [orchestrator] task-1 core: pending -> queued
        [orchestrator] task-1 core: queued -> starting (a slot is free)
        [orchestrator] task-1 core: attempt 2 by worker-2 from aaaaaaaaaa
        [orchestrator] task-1 core: 1 check passed on the merged tree
        [orchestrator] task-1 core: integrated as dddddddddd
        [orchestrator] task-1 core: integrating -> completed
        [person] plan-1 demo: active -> partial (1 of 2 tasks are completed)
        [person] plan-1 demo: landing none -> merging
        [orchestrator] plan-1 demo: merged at pitcrew/plan-1 as eeeeeeeeee: main is dirty
        [orchestrator] task-1 core: checkout removed
    "#]].assert_eq(&text(&journal));
}

#[test]
fn decisions_and_failures_have_lines() {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    journal.task(2, "api", "api", &[1]);
    journal.start(1, 1, 1);
    let (worker, actor) = (WorkerId(1), Actor::Person);
    let question = "Which port?".to_owned();
    journal.ask(1, Some((1, 1)), RequestKind::Question { question });
    journal.move_worker(1, WorkerStatus::Running, WorkerStatus::WaitingInput);
    journal.push(Event::RequestMoved {
        request: RequestId(1),
        from: RequestStatus::AtUser,
        to: RequestStatus::Answered,
        text: Some("8080".to_owned()),
        actor,
    });
    journal.move_worker(1, WorkerStatus::WaitingInput, WorkerStatus::Running);
    let (question, answer) = ("Which port?".to_owned(), "8080".to_owned());
    journal.push(Event::TurnOpened { worker, cause: TurnCause::Answer { question, answer } });
    journal.result(EffectResult::TurnEnded {
        worker,
        stop: StopReason::MaxTokens,
        usage: Usage::default(),
        last_words: String::new(),
    });
    let exit = Exit { code: Some(3), signal: None, stderr: String::new() };
    journal.push(Event::AgentExited { worker, exit });
    let exit = "exit code 3".to_owned();
    let output = "no login\n".to_owned();
    journal.fail(1, 1, Failure::AgentExited { exit, output }, TaskStatus::Failed);
    let reason = Reason::DependencyEnded { task: TaskId(1), status: TaskStatus::Failed };
    journal.move_task(2, TaskStatus::Pending, TaskStatus::Blocked, reason);
    let (task, freshness) = (TaskId(1), Freshness::Fresh);
    journal.push(Event::RetryGranted { task, freshness, actor });
    journal.push(Event::TaskDeployed { task, actor });
    journal.push(Event::AgentsMaxSet { count: 3 });
    journal.push(Event::Abandoned { attempt: AttemptId(1), actor });
    let (attempt, reason) = (AttemptId(1), "a process uses it".to_owned());
    journal.result(EffectResult::CheckoutKept { attempt, reason });
    journal.ask(2, None, RequestKind::BranchMerge);
    journal.result(EffectResult::NotLanded {
        plan: PLAN,
        failure: Failure::Conflict { paths: vec!["core/a.rs".to_owned()], with: Vec::new() },
    });
    let lines = text(&journal);
    let (_, lines_shown) = lines.split_once("attempt 1 by worker-1").expect("the attempt begins");
    expect![[r#"
         from aaaaaaaaaa
        [worker-1] task-1 core: request-1: Which port?
        [orchestrator] task-1 core: worker-1 running -> waiting_input
        [person] task-1 core: request-1 answered: 8080
        [orchestrator] task-1 core: worker-1 waiting_input -> running
        [orchestrator] task-1 core: gets the answer
        [orchestrator] task-1 core: the turn ended: no tokens left
        [orchestrator] task-1 core: its agent exited by itself: exit code 3
        [orchestrator] task-1 core: running -> failed (the agent exited during its turn: exit code 3 (no login))
        [orchestrator] task-2 api: pending -> blocked (task-1 core is failed)
        [person] task-1 core: one more attempt, from the integration head
        [person] task-1 core: deployed
        [person] workspace: max_agents is 3
        [person] task-1 core: attempt 1 abandoned
        [orchestrator] task-1 core: checkout kept: a process uses it
        [orchestrator] plan-1 demo: request-2: merge the result?
        [orchestrator] plan-1 demo: not landed: conflict in core/a.rs
    "#]].assert_eq(lines_shown);
}

#[test]
fn a_line_of_an_unknown_subject_has_its_id() {
    let mut journal = Journal::default();
    journal.move_task(4, TaskStatus::Pending, TaskStatus::Queued, Reason::Progress);
    journal.push(Event::Abandoned { attempt: AttemptId(5), actor: Actor::Person });
    expect![[r#"
        [orchestrator] task-4: pending -> queued
        [person] attempt-5: attempt abandoned
    "#]]
    .assert_eq(&text(&journal));
}

fn finish(journal: &mut Journal, attempt: AttemptId) {
    journal.result(EffectResult::Verified {
        attempt,
        merged: commit('d'),
        checks: vec![check(Some(0))],
    });
    journal.result(EffectResult::Integrated { attempt, head: commit('d') });
    let (from, to) = (TaskStatus::Integrating, TaskStatus::Completed);
    journal.move_task(1, from, to, Reason::Progress);
    journal.move_plan(PLAN, PlanStatus::Active, PlanStatus::Partial, "1 of 2 tasks are completed");
    journal.push(Event::LandingMoved {
        plan: PLAN,
        from: LandingStatus::None,
        to: LandingStatus::Merging,
        reason: String::new(),
        actor: Actor::Person,
    });
    let landing = Landing {
        commit: commit('e'),
        at: LandedAt::Side {
            branch: "pitcrew/plan-1".to_owned(),
            reason: "main is dirty".to_owned(),
        },
        files_count: 1,
        insertions: 1,
        deletions: 0,
        commits_count: 1,
        before: None,
    };
    journal.result(EffectResult::Landed { plan: PLAN, landing });
    journal.result(EffectResult::CheckoutRemoved { attempt });
}

fn check(code: Option<i32>) -> CheckResult {
    CheckResult { command: "make test".to_owned(), code, output: String::new(), took_ms: 5 }
}

fn work() -> Work {
    let files = vec![FileChange { path: "core/a.rs".to_owned(), change: 'M' }];
    Work { commit: commit('c'), files_count: 1, insertions: 10, deletions: 3, files }
}
