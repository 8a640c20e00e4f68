//! The slots of one plan.

use crate::script::check;
use expect_test::expect;

#[test]
fn a_plan_with_one_slot_runs_one_task_beside_other_plans() {
    check(
        "
            plan small slots=1 | a | b
            prepared plan-1
            plan other | c | d
            prepared plan-2
            ~ start task-1
            finish task-1
        ",
        &expect![[r#"
            > plan small slots=1 | a | b
              plan-1 = small
              task-1 = a
              task-2 = b
              plan-1 draft -> awaiting_approval
              plan-1 awaiting_approval -> active (approved with the command)
              => prepare plan-1
            > prepared plan-1
              task-1 pending -> queued
              task-2 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-1 opened: task-1 #1 from base
              => prepare checkout attempt-1
            > plan other | c | d
              plan-2 = other
              task-3 = c
              task-4 = d
              plan-2 draft -> awaiting_approval
              plan-2 awaiting_approval -> active (approved with the command)
              => prepare plan-2
            > prepared plan-2
              task-3 pending -> queued
              task-4 pending -> queued
              task-3 queued -> starting (a slot is free)
              attempt-2 opened: task-3 #1 from base
              => prepare checkout attempt-2
              task-4 queued -> starting (a slot is free)
              attempt-3 opened: task-4 #1 from base
              => prepare checkout attempt-3
            > finish task-1
              task-2 queued -> starting (a slot is free)
              attempt-4 opened: task-2 #1 from base
        "#]],
    );
}

#[test]
fn a_parked_worker_returns_to_a_free_slot_of_its_plan() {
    check(
        "
            ~ plan small slots=1 | a | b
            ~ prepared plan-1
            ~ start task-1
            ask attempt-1 which way?
            turn worker-1
            answer request-1 that way
            ~ start task-2
            finish task-2
        ",
        &expect![[r#"
            > ask attempt-1 which way?
              request-1: "which way?"
            > turn worker-1
              worker-1 running -> waiting_input (it asked a person)
              task-2 queued -> starting (a slot is free)
              attempt-2 opened: task-2 #1 from base
              => prepare checkout attempt-2
            > answer request-1 that way
              request-1 at_user -> answered (that way)
            > finish task-2
              worker-1 waiting_input -> running (a slot is free)
        "#]],
    );
}
