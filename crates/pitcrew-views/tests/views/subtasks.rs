//! Sub-tasks below their parents.

use crate::journal::{Journal, PLAN, spec};
use expect_test::expect;
use pitcrew_model::{
    AttemptId, Claim, Delegation, EffectResult, Event, Failure, Outcome, Reason, StopReason,
    SubtaskKind, TaskId, TaskOutput, TaskStatus, TurnCause, Usage, WorkerId, WorkerStatus,
    WorkspaceMode,
};
use pitcrew_views::Summary;
use std::fmt::Write;

fn hand_out(journal: &mut Journal, parent: u64, task: u64, key: &str, depth: u32) {
    journal.push(Event::SubtaskAdded {
        plan: PLAN,
        task: TaskId(task),
        spec: spec(key, ""),
        delegation: Delegation {
            parent: AttemptId(parent),
            kind: SubtaskKind::Delegate,
            depth,
            workspace: WorkspaceMode::Isolated,
            target_files: Vec::new(),
            blocking: true,
            expected_output: "a plan".to_owned(),
            group: None,
            nonce: "n".to_owned(),
            call: None,
        },
    });
}

/// A turn with some usage.
fn spend(journal: &mut Journal, worker: u64, tokens_in: u64) {
    let usage = Usage { tokens_in, ..Usage::default() };
    let (worker, last_words) = (WorkerId(worker), String::new());
    journal.push(Event::TurnOpened { worker, cause: TurnCause::Reminder });
    journal.result(EffectResult::TurnEnded {
        worker,
        stop: StopReason::EndTurn,
        usage,
        last_words,
    });
}

fn family() -> Journal {
    let mut journal = Journal::active();
    journal.task(1, "architect", "plans", &[]);
    journal.task(2, "other", "ui", &[]);
    journal.start(1, 1, 1);
    journal.run(1, 1);
    for (task, key) in [(3, "backend"), (4, "database")] {
        hand_out(&mut journal, 1, task, key, 1);
    }
    journal.start(3, 3, 1);
    journal.run(3, 3);
    hand_out(&mut journal, 3, 5, "research", 2);
    journal.start(4, 4, 1);
    journal.run(4, 4);
    journal
}

/// S1-007, S4-034, S4-129: sub-tasks are always shown below their parents, with all their fields.
#[test]
fn sub_tasks_are_shown_below_their_parents() {
    let mut journal = family();
    let output = TaskOutput { metadata: Some("{}".to_owned()), ..TaskOutput::default() };
    journal.push(Event::OutputHanded { attempt: AttemptId(4), output });
    let (claim, summary) = (Claim::Failed, "no database".to_owned());
    journal.push(Event::CompletionClaimed { attempt: AttemptId(4), claim, summary });
    journal.fail(4, 4, Failure::NoCompletion, TaskStatus::Failed);
    journal.move_worker(1, WorkerStatus::Running, WorkerStatus::WaitingSubtasks);
    let view = journal.view();
    let mut tree = String::new();
    for task in view.tree_of(PLAN) {
        let depth = task.subtask.as_ref().map_or(0, |it| it.depth as usize);
        let reason = task.reason.as_deref().unwrap_or("-");
        writeln!(tree, "{}{}: {}: {reason}", "  ".repeat(depth), task.name(), task.status)
            .expect("a string");
    }
    expect![[r#"
        task-1 architect: running: waits for its sub-tasks
          subtask-3 backend: running: -
            subtask-5 research: pending: is about to be queued
          subtask-4 database: failed: no completion: two turns ended without a report
        task-2 other: pending: is about to be queued
    "#]]
    .assert_eq(&tree);
    let child = view.task(TaskId(4)).and_then(|it| it.subtask.clone()).expect("a sub-task");
    assert_eq!((child.parent_task, child.parent_worker), (TaskId(1), WorkerId(1)));
    assert_eq!(
        (child.workspace, child.expected_output.as_str()),
        (WorkspaceMode::Isolated, "a plan")
    );
    let result = child.result.expect("it has ended");
    assert_eq!((result.status, result.output.as_str()), (Outcome::Failed, "no database"));
    assert_eq!(result.metadata.as_deref(), Some("{}"));
    assert!(result.error.is_some() && child.ended_at.is_some());
}

/// S1-006: usage of a sub-task counts for its parent; its outcome does not.
#[test]
fn usage_of_sub_tasks_counts_for_their_ancestors() {
    let mut journal = family();
    for (worker, tokens) in [(1, 100), (3, 10), (4, 1)] {
        spend(&mut journal, worker, tokens);
    }
    let view = journal.view();
    let used = |task: u64| {
        let it = view.task(TaskId(task)).expect("a task");
        (it.usage.tokens_in, it.usage_below.tokens_in)
    };
    assert_eq!([used(1), used(3), used(4), used(5)], [(100, 111), (10, 10), (1, 1), (0, 0)]);
    let plan = view.plan(PLAN).expect("the plan");
    assert_eq!(plan.usage.tokens_in, 111);
    assert_eq!(plan.vendors["claude"].tokens_in, 111);
    assert_eq!(plan.tasks, [TaskId(1), TaskId(2)], "a plan is made of its own tasks");
    assert_eq!(plan.counts.values().sum::<u64>(), 2);
}

#[test]
fn a_summary_counts_sub_tasks() {
    let mut journal = family();
    let reason = Reason::Cancelled;
    journal.move_task(5, TaskStatus::Pending, TaskStatus::Cancelled, reason);
    let summary = Summary::of(&journal.view(), PLAN).expect("a summary");
    let counts: Vec<_> =
        summary.tasks.iter().map(|it| (it.subtasks_count, it.subtasks_failed_count)).collect();
    assert_eq!(counts, [(3, 1), (0, 0)]);
    assert_eq!(summary.totals.tasks_count, 2);
}

/// An entry that does not fit leaves the board unchanged.
#[test]
fn a_sub_task_without_a_parent_is_not_shown() {
    let mut journal = Journal::active();
    hand_out(&mut journal, 9, 3, "lost", 1);
    journal.start(3, 3, 1);
    assert!(journal.view().subtasks.is_empty());
}
