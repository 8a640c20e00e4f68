//! Summaries of plans.

use crate::journal::{Journal, PLAN, commit};
use expect_test::expect;
use pitcrew_model::{
    AttemptId, Claim, EffectResult, Event, Failure, LandedAt, Landing, Outcome, PlanId, PlanStatus,
    Reason, TaskId, TaskStatus, Work,
};
use pitcrew_views::Summary;

/// Three tasks: one completed at its second attempt, one failed, one blocked by that.
fn partial() -> Journal {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    journal.task(2, "api", "api", &[]);
    journal.task(3, "user-interface", "ui", &[2]);
    journal.start(1, 1, 1);
    journal.run(1, 1);
    journal.fail(1, 1, Failure::NoCompletion, TaskStatus::Pending);
    journal.start(1, 2, 2);
    journal.run(1, 2);
    let attempt = AttemptId(2);
    let (claim, summary) = (Claim::Success, "Wrote the types.".to_owned());
    journal.push(Event::CompletionClaimed { attempt, claim, summary });
    let files = Vec::new();
    let commit = commit('c');
    let work = Work { commit, files_count: 2, insertions: 10, deletions: 3, files };
    journal.result(EffectResult::WorkCollected { attempt, work });
    journal.push(Event::AttemptEnded { attempt, outcome: Outcome::Success, failure: None });
    let (from, to) = (TaskStatus::Integrating, TaskStatus::Completed);
    journal.move_task(1, from, to, Reason::Progress);
    journal.start(2, 3, 1);
    let program = "claude".to_owned();
    let message = "not found".to_owned();
    journal.fail(2, 3, Failure::AgentMissing { program, message }, TaskStatus::Failed);
    let reason = Reason::DependencyEnded { task: TaskId(2), status: TaskStatus::Failed };
    journal.move_task(3, TaskStatus::Pending, TaskStatus::Blocked, reason);
    journal.move_plan(PLAN, PlanStatus::Active, PlanStatus::Partial, "1 of 3 tasks are completed");
    journal
}

/// S0-067, S2-079: at the end there is a line for each task with its status, and a reason for each
/// failure. S4-109: and a summary of the changes.
#[test]
fn every_task_has_a_line_and_every_failure_a_reason() {
    let journal = partial();
    let summary = Summary::of(&journal.view(), PLAN).expect("the plan is shown");
    expect![[r#"
        plan-1 demo: partial
          task-1 core            completed     2 attempts      18 s    2 files  +10 -3
          task-2 api             failed        1 attempt      1.0 s    0 files  +0 -0
          task-3 user-interface  blocked       0 attempts     0.0 s    0 files  +0 -0
          total: 1 of 3 completed, 3 attempts, 41 s, 2 files, +10 -3
          task-2 api is failed: cannot start agent `claude`: not found
          task-3 user-interface is blocked: task-2 api is failed
    "#]]
    .assert_eq(&summary.to_string());
    assert_eq!(summary.tasks[0].said.as_deref(), Some("Wrote the types."));
    assert_eq!(Summary::of(&journal.view(), PlanId(9)), None);
}

#[test]
fn the_time_of_a_running_plan_is_counted_up_to_now() {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    journal.start(1, 1, 1);
    let view = journal.board.view(journal.now().plus(7_400_000), pitcrew_views::Scope::All);
    let summary = Summary::of(&view, PLAN).expect("the plan is shown");
    assert_eq!(summary.tasks[0].took_ms, 7_400_000);
    expect![[r#"
        plan-1 demo: active
          task-1 core  starting      1 attempt   2 h 3 min    0 files  +0 -0
          total: 0 of 1 completed, 1 attempt, 2 h 3 min, 0 files, +0 -0
          task-1 core is starting: its checkout is being created
    "#]]
    .assert_eq(&summary.to_string());
}

#[test]
fn landed_changes_are_counted_as_they_landed() {
    let mut journal = partial();
    let at = LandedAt::Base { branch: "main".to_owned() };
    let commit = commit('e');
    let landing = Landing {
        commit,
        at,
        files_count: 1,
        insertions: 9,
        deletions: 2,
        commits_count: 1,
        before: None,
    };
    journal.result(EffectResult::Landed { plan: PLAN, landing });
    let totals = Summary::of(&journal.view(), PLAN).expect("the plan is shown").totals;
    assert_eq!((totals.files_count, totals.insertions, totals.deletions), (1, 9, 2));
}
