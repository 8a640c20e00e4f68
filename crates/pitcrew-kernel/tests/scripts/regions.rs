//! Regions: one task at a time in a part of the tree.

use crate::script::check;
use expect_test::expect;

/// S0-020, S0-129: one attempt at a time in a part of the tree, oldest first.
#[test]
fn overlapping_regions_wait() {
    check(
        "
            ~ plan demo | a in core | b in core/api | c in ui | d in core
            prepared plan-1
            work task-1
            work task-2
        ",
        &expect![[r#"
            > prepared plan-1
              task-1 pending -> queued
              task-2 pending -> queued
              task-3 pending -> queued
              task-4 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-1 opened: task-1 #1 from base
              => prepare checkout attempt-1
              task-3 queued -> starting (a slot is free)
              attempt-2 opened: task-3 #1 from base
              => prepare checkout attempt-2
            > work task-1
              task-1 integrating -> completed
              task-2 queued -> starting (a slot is free)
              attempt-3 opened: task-2 #1 from merged-1
            > work task-2
              task-2 integrating -> completed
              task-4 queued -> starting (a slot is free)
              attempt-4 opened: task-4 #1 from merged-3
        "#]],
    );
}

#[test]
fn overlapping_regions_run_together_if_the_plan_allows_it() {
    check(
        "
            ~ plan demo overlap | a in core | b in core/api
            prepared plan-1
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
        "#]],
    );
}

#[test]
fn tasks_without_a_region_are_not_exclusive() {
    check(
        "
            ~ plan demo | a | b | c in core
            prepared plan-1
        ",
        &expect![[r#"
            > prepared plan-1
              task-1 pending -> queued
              task-2 pending -> queued
              task-3 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-1 opened: task-1 #1 from base
              => prepare checkout attempt-1
              task-2 queued -> starting (a slot is free)
              attempt-2 opened: task-2 #1 from base
              => prepare checkout attempt-2
              task-3 queued -> starting (a slot is free)
              attempt-3 opened: task-3 #1 from base
              => prepare checkout attempt-3
        "#]],
    );
}

#[test]
fn shared_paths_do_not_count_as_overlap() {
    check(
        "
            ~ plan demo shared=Cargo.lock | a in core,Cargo.lock | b in ui,Cargo.lock
            prepared plan-1
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
        "#]],
    );
}

#[test]
fn regions_hold_across_plans() {
    check(
        "
            ~ plan one | a in core
            ~ plan two | b in core
            ~ prepared plan-1
            prepared plan-2
            work task-1
        ",
        &expect![[r#"
            > prepared plan-2
              task-2 pending -> queued
            > work task-1
              task-1 integrating -> completed
              task-2 queued -> starting (a slot is free)
              attempt-2 opened: task-2 #1 from base
              plan-1 active -> completed (1 of 1 tasks are completed)
        "#]],
    );
}
