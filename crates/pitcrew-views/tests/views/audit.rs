//! The audit log.

use crate::journal::{Journal, PLAN, commit};
use expect_test::expect;
use pitcrew_model::{
    Actor, AttemptId, Claim, EffectResult, Event, Freshness, RequestId, RequestKind, RequestStatus,
    TaskId, Usage, WorkerId,
};
use pitcrew_views::{AuditLine, audit};

fn lines(journal: &Journal) -> Vec<AuditLine> {
    journal.entries.iter().filter_map(|it| audit(&journal.board, it)).collect()
}

/// S4-131: every operation and decision has an actor, a target and a context.
#[test]
fn every_operation_and_decision_is_a_line() {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    journal.start(1, 1, 1);
    journal.run(1, 1);
    let (worker, attempt) = (WorkerId(1), AttemptId(1));
    journal.push(Event::ActivityNoted { worker, note: "edits".to_owned() });
    journal.push(Event::UsageNoted { worker, usage: Usage::default() });
    journal.push(Event::CallTaken { worker, nonce: "n-1".to_owned() });
    let question = "Which port?\u{1b}[2J".to_owned();
    journal.push(Event::RequestOpened {
        request: RequestId(1),
        plan: PLAN,
        task: Some(TaskId(1)),
        worker: Some(worker),
        kind: RequestKind::Question { question },
    });
    journal.push(Event::RequestMoved {
        request: RequestId(1),
        from: RequestStatus::AtUser,
        to: RequestStatus::Answered,
        text: Some("8080".to_owned()),
        actor: Actor::Person,
    });
    let (claim, summary) = (Claim::Success, "done".to_owned());
    journal.push(Event::CompletionClaimed { attempt, claim, summary });
    journal.push(Event::StopAsked { worker });
    journal.push(Event::SaveAsked { attempt });
    journal.result(EffectResult::WorkSaved { attempt, commit: Some(commit('c')) });
    let freshness = Freshness::Fresh;
    journal.push(Event::RetryGranted { task: TaskId(1), freshness, actor: Actor::Person });
    // The order of keys in a JSON value is unspecified.
    let known = |line: String| line.split(" spec=").next().unwrap_or_default().to_owned();
    let lines_shown: Vec<String> =
        lines(&journal).iter().map(|it| known(it.to_string()) + "\n").collect();
    expect![[r#"
        person       plan_created         plan-1 demo: created, draft
        person       plan_moved           plan-1 demo: draft -> awaiting_approval
        person       plan_moved           plan-1 demo: awaiting_approval -> active (approved)
        orchestrator plan_prepared        plan-1 demo: starts from main at aaaaaaaaaa, with 2 uncommitted paths; the repository is shallow
        orchestrator task_added           task-1 core:
        orchestrator task_moved           task-1 core: pending -> queued
        orchestrator task_moved           task-1 core: queued -> starting (a slot is free)
        orchestrator attempt_opened       task-1 core: attempt 1 by worker-1 from aaaaaaaaaa
        orchestrator checkout_prepared    task-1 core: its checkout is ready
        orchestrator worker_moved         task-1 core: from=created to=starting
        orchestrator agent_start_asked    task-1 core
        orchestrator agent_ready          task-1 core: agent `tester` is ready
        orchestrator worker_moved         task-1 core: from=starting to=running
        orchestrator task_moved           task-1 core: starting -> running
        orchestrator turn_opened          task-1 core: cause={"kind":"start"}
        worker-1     call_taken           task-1 core: nonce=n-1
        worker-1     request_opened       task-1 core: request-1: Which port?\u{1b}[2J
        person       request_moved        task-1 core: request-1 answered: 8080
        worker-1     completion_claimed   task-1 core: says: done: done
        orchestrator stop_asked           task-1 core
        orchestrator save_asked           task-1 core
        orchestrator work_saved           task-1 core: its work is saved as cccccccccc
        person       retry_granted        task-1 core: one more attempt, from the integration head
    "#]].assert_eq(&lines_shown.concat());
    let answer = lines(&journal).into_iter().find(|it| it.kind == "request_moved").expect("it");
    assert_eq!(
        (answer.plan, answer.task, answer.actor),
        (Some(PLAN), Some(TaskId(1)), Actor::Person)
    );
}
