//! Several plans, manually deployed plans, plans that cannot start.

use crate::script::check;
use expect_test::expect;

/// S4-013: two plans at once.
#[test]
fn several_plans_share_the_slots() {
    check(
        "
            ~ slots 2
            ~ plan one | a | b
            ~ plan two | c | d
            ~ prepared plan-2
            prepared plan-1
            work task-3
            show board
        ",
        &expect![[r#"
            > prepared plan-1
              task-1 pending -> queued
              task-2 pending -> queued
            > work task-3
              task-1 queued -> starting (a slot is free)
              attempt-3 opened: task-1 #1 from base
              task-3 integrating -> completed
            > show board
              plan-1 active, plan-2 active | task-1 starting, task-2 queued, task-3 completed, task-4 starting
        "#]],
    );
}

#[test]
fn more_slots_start_more_at_once() {
    check(
        "
            ~ slots 1
            ~ plan demo | a | b | c
            ~ prepared plan-1
            slots 3
            slots 0
            slots 3
        ",
        &expect![[r#"
            > slots 3
              slots: 3
              task-2 queued -> starting (a slot is free)
              attempt-2 opened: task-2 #1 from base
              => prepare checkout attempt-2
              task-3 queued -> starting (a slot is free)
              attempt-3 opened: task-3 #1 from base
              => prepare checkout attempt-3
            > slots 0
              rejected: max_agents must be between 1 and 1000
            > slots 3
              nothing
        "#]],
    );
}

/// S1-016: a person deploys each task; a dependency still comes first.
#[test]
fn a_manual_plan_waits_for_deploy() {
    check(
        "
            ~ plan demo manual | a | b after a
            prepared plan-1
            deploy task-1
            deploy task-1
            ~ work task-1
            deploy task-2
        ",
        &expect![[r#"
            > prepared plan-1
              nothing
            > deploy task-1
              task-1 deployed
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-1 opened: task-1 #1 from base
              => prepare checkout attempt-1
            > deploy task-1
              rejected: task-1 is starting and cannot be deployed; `pitcrew status` shows what it waits for
            > deploy task-2
              task-2 deployed
              task-2 pending -> queued (dependencies are integrated)
              task-2 queued -> starting (a slot is free)
              attempt-2 opened: task-2 #1 from merged-1
              => prepare checkout attempt-2
        "#]],
    );
}

#[test]
fn a_task_may_be_deployed_before_its_dependency_is_done() {
    check(
        "
            ~ plan demo manual | a | b after a
            ~ prepared plan-1
            deploy task-2
            ~ deploy task-1
            work task-1
        ",
        &expect![[r#"
            > deploy task-2
              task-2 deployed
            > work task-1
              task-1 integrating -> completed
              task-2 pending -> queued (dependencies are integrated)
              task-2 queued -> starting (a slot is free)
              attempt-2 opened: task-2 #1 from merged-1
        "#]],
    );
}

#[test]
fn an_automatic_plan_needs_no_deploy() {
    check(
        "
            ~ plan demo | a | b after a
            ~ prepared plan-1
            deploy task-2
            deploy task-1
            deploy task-9
        ",
        &expect![[r#"
            > deploy task-2
              rejected: task-2 starts by itself: its plan has `deploy = "auto"`
            > deploy task-1
              rejected: task-1 is starting and cannot be deployed; `pitcrew status` shows what it waits for
            > deploy task-9
              rejected: there is no task-9; `pitcrew status --all` lists the tasks
        "#]],
    );
}

/// S0-132: a planning error has its transition.
#[test]
fn a_plan_that_cannot_be_prepared_fails_and_can_be_retried() {
    check(
        "
            ~ plan demo | a | b
            not-prepared plan-1 git no such branch
            retry task-1 task-2
            prepared plan-1
        ",
        &expect![[r#"
            > not-prepared plan-1 git no such branch
              plan-1 active -> failed (git: no such branch)
              task-1 pending -> cancelled (git: no such branch)
              task-2 pending -> cancelled (git: no such branch)
            > retry task-1 task-2
              plan-1 failed -> active (retry)
              => prepare plan-1
              task-1 is granted one more attempt
              task-1 cancelled -> pending (a person asked for a retry)
              task-2 is granted one more attempt
              task-2 cancelled -> pending (a person asked for a retry)
            > prepared plan-1
              task-1 pending -> queued
              task-2 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-1 opened: task-1 #1 from base
              => prepare checkout attempt-1
              task-2 queued -> starting (a slot is free)
              attempt-2 opened: task-2 #1 from base
              => prepare checkout attempt-2
        "#]],
    );
}

/// S0-055, S0-056: an intent is decomposed, then approved.
#[test]
fn an_intent_passes_through_decomposing() {
    check(
        "
            plan demo intent ask | a
        ",
        &expect![[r#"
            > plan demo intent ask | a
              plan-1 = demo
              task-1 = a
              plan-1 decomposing -> awaiting_approval
              request-1: may the plan run?
        "#]],
    );
}
