//! Names in other vocabularies.

use crate::journal::{Journal, PLAN};
use expect_test::expect;
use pitcrew_model::{Failure, PlanStatus, Reason, TaskStatus, WorkerStatus};
use pitcrew_views::names;
use std::collections::BTreeSet;

fn run_state(journal: &Journal) -> &'static str {
    let view = journal.view();
    names::run_state(view.plan(PLAN).expect("the plan"), view.tasks_of(PLAN))
}

fn subtask_state(journal: &Journal) -> &'static str {
    names::subtask_state(&journal.view().tasks[0])
}

/// S0-053: every name of a run.
#[test]
fn a_plan_has_a_name_as_a_run() {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    let mut seen = Vec::new();
    for status in PlanStatus::ALL {
        journal.move_plan(PLAN, PlanStatus::Draft, *status, "");
        seen.push(format!("{status} = {}", run_state(&journal)));
    }
    expect![[r#"
        draft = idle
        clarifying = decomposing
        decomposing = decomposing
        awaiting_approval = confirming
        active = spawning
        paused = spawning
        partial = done
        failed = done
        completed = completed
        cancelled = cancelled
    "#]]
    .assert_eq(&(seen.join("\n") + "\n"));
}

/// S0-053: an active plan is spawning, running or retrying.
#[test]
fn an_active_plan_is_named_after_its_tasks() {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    journal.start(1, 1, 1);
    assert_eq!(run_state(&journal), "spawning");
    journal.run(1, 1);
    assert_eq!(run_state(&journal), "running");
    journal.fail(1, 1, Failure::NoCompletion, TaskStatus::Pending);
    assert_eq!(run_state(&journal), "retrying");
    journal.start(1, 2, 2);
    journal.run(1, 2);
    assert_eq!(run_state(&journal), "retrying");
    journal.move_task(1, TaskStatus::Integrating, TaskStatus::Completed, Reason::Progress);
    assert_eq!(run_state(&journal), "running");
}

/// S0-054: every name of a task within a run.
#[test]
fn a_task_has_a_name_within_a_run() {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    assert_eq!(subtask_state(&journal), "pending");
    journal.start(1, 1, 1);
    journal.run(1, 1);
    assert_eq!(subtask_state(&journal), "running");
    journal.fail(1, 1, Failure::NoCompletion, TaskStatus::Pending);
    assert_eq!(subtask_state(&journal), "retrying");
    for (status, name) in [
        (TaskStatus::Completed, "completed"),
        (TaskStatus::Partial, "partial"),
        (TaskStatus::Failed, "failed"),
        (TaskStatus::Cancelled, "failed"),
        (TaskStatus::Blocked, "pending"),
    ] {
        journal.move_task(1, TaskStatus::Running, status, Reason::Progress);
        assert_eq!(subtask_state(&journal), name);
    }
}

/// S1-011, S1-013: our names include those of an editor extension.
#[test]
fn plans_and_tasks_need_no_other_names() {
    let plans: BTreeSet<String> = PlanStatus::ALL.iter().map(ToString::to_string).collect();
    for name in ["draft", "active", "paused", "completed", "failed"] {
        assert!(plans.contains(name), "{name}");
    }
    let tasks: BTreeSet<String> = TaskStatus::ALL.iter().map(ToString::to_string).collect();
    for name in ["pending", "queued", "running", "completed", "failed", "blocked"] {
        assert!(tasks.contains(name), "{name}");
    }
}

/// Every state of a worker maps to a name of the extension, and each name is used.
#[test]
fn a_worker_has_a_name_in_an_editor() {
    let table: Vec<String> =
        WorkerStatus::ALL.iter().map(|it| format!("{it} = {}", names::worker_state(*it))).collect();
    expect![[r#"
        created = created
        starting = created
        running = running
        waiting_input = idle
        waiting_permission = idle
        waiting_quota = idle
        waiting_subtasks = idle
        paused = paused
        completed = completed
        failed = error
        killed = error
    "#]]
    .assert_eq(&(table.join("\n") + "\n"));
}
