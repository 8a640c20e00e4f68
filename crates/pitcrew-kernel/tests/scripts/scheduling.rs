//! Scheduling: slots, dependencies, regions, several plans.

use crate::script::check;
use expect_test::expect;

/// S0-005, S0-010, S0-013, S0-053, S0-054, S0-058, S0-059, S0-061, S1-005, S1-018, S1-019, S1-055,
/// S1-063, S1-085, S2-071: the whole lifecycle, and nothing before the approval.
#[test]
fn a_plan_runs_from_its_approval_to_its_end() {
    check(
        "
            plan demo ask | a
            approve request-1
            prepared plan-1
            checkout attempt-1
            ready worker-1
            complete attempt-1 did it
            turn worker-1 end_turn
            stopped worker-1
            collected attempt-1 src/a
            verified attempt-1
            integrated attempt-1
        ",
        &expect![[r#"
            > plan demo ask | a
              plan-1 = demo
              task-1 = a
              plan-1 draft -> awaiting_approval
              request-1: may the plan run?
            > approve request-1
              request-1 at_user -> approved
              plan-1 awaiting_approval -> active (approved)
              => prepare plan-1
            > prepared plan-1
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-1 opened: task-1 #1 from base
              => prepare checkout attempt-1
            > checkout attempt-1
              worker-1 created -> starting
              => start agent worker-1
            > ready worker-1
              worker-1 starting -> running
              task-1 starting -> running
              => prompt worker-1 (start)
            > complete attempt-1 did it
              attempt-1 claims success: did it
            > turn worker-1 end_turn
              => stop worker-1
            > stopped worker-1
              worker-1 running -> completed
              task-1 running -> verifying
              => collect work of attempt-1
            > collected attempt-1 src/a
              => verify attempt-1: work-1 onto base
            > verified attempt-1
              task-1 verifying -> integrating
              => integrate attempt-1: base becomes merged-1
            > integrated attempt-1
              attempt-1 ended: success
              task-1 integrating -> completed
              plan-1 active -> completed (1 of 1 tasks are completed)
        "#]],
    );
}

/// S0-001, S0-002, S0-014, S0-015, S0-023, S0-024, S2-066: five at the same time, the sixth as
/// soon as one is done.
#[test]
fn a_sixth_task_waits_for_a_slot() {
    check(
        "
            ~ plan demo | a | b | c | d | e | f
            prepared plan-1
            show board
            work task-3
        ",
        &expect![[r#"
            > prepared plan-1
              task-1 pending -> queued
              task-2 pending -> queued
              task-3 pending -> queued
              task-4 pending -> queued
              task-5 pending -> queued
              task-6 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-1 opened: task-1 #1 from base
              => prepare checkout attempt-1
              task-2 queued -> starting (a slot is free)
              attempt-2 opened: task-2 #1 from base
              => prepare checkout attempt-2
              task-3 queued -> starting (a slot is free)
              attempt-3 opened: task-3 #1 from base
              => prepare checkout attempt-3
              task-4 queued -> starting (a slot is free)
              attempt-4 opened: task-4 #1 from base
              => prepare checkout attempt-4
              task-5 queued -> starting (a slot is free)
              attempt-5 opened: task-5 #1 from base
              => prepare checkout attempt-5
            > show board
              plan-1 active | task-1 starting, task-2 starting, task-3 starting, task-4 starting, task-5 starting, task-6 queued
            > work task-3
              task-6 queued -> starting (a slot is free)
              attempt-6 opened: task-6 #1 from base
              task-3 integrating -> completed
        "#]],
    );
}

/// S0-012, S0-016, S0-025: neither the end of the turn nor passed checks are enough.
#[test]
fn a_dependent_starts_only_after_integration() {
    check(
        "
            ~ plan demo | a | b after a
            prepared plan-1
            ~ start task-1
            ~ finish task-1
            collected attempt-1
            verified attempt-1
            integrated attempt-1
        ",
        &expect![[r#"
            > prepared plan-1
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-1 opened: task-1 #1 from base
              => prepare checkout attempt-1
            > collected attempt-1
              => verify attempt-1: work-1 onto base
            > verified attempt-1
              task-1 verifying -> integrating
              => integrate attempt-1: base becomes merged-1
            > integrated attempt-1
              attempt-1 ended: success
              task-1 integrating -> completed
              task-2 pending -> queued (dependencies are integrated)
              task-2 queued -> starting (a slot is free)
              attempt-2 opened: task-2 #1 from merged-1
              => prepare checkout attempt-2
        "#]],
    );
}

/// S0-027: a linear chain, written backwards.
#[test]
fn a_chain_runs_in_order_on_top_of_earlier_work() {
    check(
        "
            ~ plan demo | c after b | b after a | a
            prepared plan-1
            work task-1
            work task-2
            work task-3
        ",
        &expect![[r#"
            > prepared plan-1
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-1 opened: task-1 #1 from base
              => prepare checkout attempt-1
            > work task-1
              task-1 integrating -> completed
              task-2 pending -> queued (dependencies are integrated)
              task-2 queued -> starting (a slot is free)
              attempt-2 opened: task-2 #1 from merged-1
            > work task-2
              task-2 integrating -> completed
              task-3 pending -> queued (dependencies are integrated)
              task-3 queued -> starting (a slot is free)
              attempt-3 opened: task-3 #1 from merged-2
            > work task-3
              task-3 integrating -> completed
              plan-1 active -> completed (3 of 3 tasks are completed)
        "#]],
    );
}

/// S0-027: a diamond.
#[test]
fn a_diamond_opens_and_closes() {
    check(
        "
            ~ plan demo | top | left after top | right after top | bottom after left,right
            prepared plan-1
            work task-1
            work task-3
            work task-2
            work task-4
        ",
        &expect![[r#"
            > prepared plan-1
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-1 opened: task-1 #1 from base
              => prepare checkout attempt-1
            > work task-1
              task-1 integrating -> completed
              task-2 pending -> queued (dependencies are integrated)
              task-3 pending -> queued (dependencies are integrated)
              task-2 queued -> starting (a slot is free)
              attempt-2 opened: task-2 #1 from merged-1
              task-3 queued -> starting (a slot is free)
              attempt-3 opened: task-3 #1 from merged-1
            > work task-3
              task-3 integrating -> completed
            > work task-2
              task-2 integrating -> completed
              task-4 pending -> queued (dependencies are integrated)
              task-4 queued -> starting (a slot is free)
              attempt-4 opened: task-4 #1 from merged-2
            > work task-4
              task-4 integrating -> completed
              plan-1 active -> completed (4 of 4 tasks are completed)
        "#]],
    );
}

/// S0-017, S0-125: there are no batches; a slow task does not block the others.
#[test]
fn a_free_slot_is_used_at_once() {
    check(
        "
            ~ slots 2
            ~ plan demo | slow | quick | next after quick | last after next
            prepared plan-1
            work task-2
            work task-3
            work task-4
            show board
        ",
        &expect![[r#"
            > prepared plan-1
              task-1 pending -> queued
              task-2 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-1 opened: task-1 #1 from base
              => prepare checkout attempt-1
              task-2 queued -> starting (a slot is free)
              attempt-2 opened: task-2 #1 from base
              => prepare checkout attempt-2
            > work task-2
              task-2 integrating -> completed
              task-3 pending -> queued (dependencies are integrated)
              task-3 queued -> starting (a slot is free)
              attempt-3 opened: task-3 #1 from merged-2
            > work task-3
              task-3 integrating -> completed
              task-4 pending -> queued (dependencies are integrated)
              task-4 queued -> starting (a slot is free)
              attempt-4 opened: task-4 #1 from merged-3
            > work task-4
              task-4 integrating -> completed
            > show board
              plan-1 active | task-1 starting, task-2 completed, task-3 completed, task-4 completed
        "#]],
    );
}

/// S0-027: mixed.
#[test]
fn a_mixed_plan_starts_what_it_can() {
    check(
        "
            plan demo | free | needs after free | alone
            prepared plan-1
        ",
        &expect![[r#"
            > plan demo | free | needs after free | alone
              plan-1 = demo
              task-1 = free
              task-2 = needs after task-1
              task-3 = alone
              plan-1 draft -> awaiting_approval
              plan-1 awaiting_approval -> active (approved with the command)
              => prepare plan-1
            > prepared plan-1
              task-1 pending -> queued
              task-3 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-1 opened: task-1 #1 from base
              => prepare checkout attempt-1
              task-3 queued -> starting (a slot is free)
              attempt-2 opened: task-3 #1 from base
              => prepare checkout attempt-2
        "#]],
    );
}

/// S0-022, S0-027, S0-064: an empty plan, a cycle, an unknown dependency, a duplicate, a missing
/// agent.
#[test]
fn invalid_plans_are_rejected_with_the_reason() {
    check(
        "
            plan empty
            plan demo | a after c | b after a | c after b
            plan demo | a after a
            plan demo | a after nobody
            plan demo | a | a
            plan demo | a agent=@architect
        ",
        &expect![[r#"
            > plan empty
              rejected: the plan has no tasks; add at least one
            > plan demo | a after c | b after a | c after b
              rejected: the tasks depend on each other in a cycle: a -> c -> b -> a
            > plan demo | a after a
              rejected: the tasks depend on each other in a cycle: a -> a
            > plan demo | a after nobody
              rejected: task `a` depends on `nobody`, which the plan does not have
            > plan demo | a | a
              rejected: two tasks of the plan have the id `a`; give one of them another `id`
            > plan demo | a agent=@architect
              rejected: task `a` has no agent: name one with `agent = "..."`, or give it a `script` or a `command`
        "#]],
    );
}

/// S0-072, S0-073, S0-124, S0-132, S1-013: dependents do not run, and the order is kept after the
/// retry.
#[test]
fn a_failed_dependency_blocks_with_a_reason_and_a_retry_unblocks() {
    check(
        "
            ~ plan demo | a attempts=1 | b after a | c after b
            ~ prepared plan-1
            ~ start task-1
            ~ complete attempt-1 failed no idea
            turn worker-1 end_turn
            stopped worker-1
            saved attempt-1
            retry task-1
            show board
        ",
        &expect![[r#"
            > turn worker-1 end_turn
              attempt-1 ended: failed (the agent gave up: no idea)
              worker-1 running -> failed (the agent gave up: no idea)
              => stop worker-1
              task-1 running -> failed (the agent gave up: no idea)
              task-2 pending -> blocked (task-1 is failed)
              task-3 pending -> blocked (task-2 is blocked)
              plan-1 active -> failed (0 of 3 tasks are completed)
            > stopped worker-1
              => save work of attempt-1
            > saved attempt-1
              nothing
            > retry task-1
              plan-1 failed -> active (retry)
              task-1 is granted one more attempt
              task-1 failed -> pending (a person asked for a retry)
              task-2 blocked -> pending (what blocked it is gone)
              task-3 blocked -> pending (what blocked it is gone)
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-2 opened: task-1 #2 from saved-1, judged against base
              => prepare checkout attempt-2
            > show board
              plan-1 active | task-1 starting, task-2 pending, task-3 pending
        "#]],
    );
}

/// S0-018, S0-026, S0-060, S0-126: one failure does not abort the other tasks.
#[test]
fn two_of_three_succeed() {
    check(
        "
            ~ plan demo | a attempts=1 | b | c
            ~ prepared plan-1
            work task-2
            ~ start task-1
            ~ complete attempt-1 failed no idea
            ~ turn worker-1 end_turn
            ~ stopped worker-1
            ~ saved attempt-1
            work task-3
            show board
        ",
        &expect![[r#"
            > work task-2
              task-2 integrating -> completed
            > work task-3
              task-3 integrating -> completed
              plan-1 active -> partial (2 of 3 tasks are completed)
            > show board
              plan-1 partial | task-1 failed, task-2 completed, task-3 completed
        "#]],
    );
}

/// S0-132, S2-073: a plan without completed tasks has failed; a missing program is not retried.
#[test]
fn a_plan_without_completed_tasks_has_failed() {
    check(
        "
            ~ plan demo | a attempts=1
            ~ prepared plan-1
            fail attempt-1 missing claude
        ",
        &expect![[r#"
            > fail attempt-1 missing claude
              attempt-1 ended: failed (cannot start agent `claude`: not found)
              worker-1 created -> failed (cannot start agent `claude`: not found)
              task-1 starting -> failed (cannot start agent `claude`: not found)
              plan-1 active -> failed (0 of 1 tasks are completed)
        "#]],
    );
}

/// A limit that a person set by hand stays until the setting itself changes.
#[test]
fn a_limit_set_by_hand_survives_a_restart() {
    check(
        "
            settings 5 20
            slots 1
            settings 5 20
            settings 7 30
        ",
        &expect![[r#"
            > settings 5 20
              nothing
            > slots 1
              slots: 1
            > settings 5 20
              nothing
            > settings 7 30
              settings: 7 slots, 30 processes
              slots: 7
        "#]],
    );
}
