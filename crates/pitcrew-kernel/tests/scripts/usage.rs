//! Reported usage: early, late and wrong.

use crate::script::check;
use expect_test::expect;

/// Reported usage may be wrong, and must not break anything.
#[test]
fn repeated_late_or_smaller_usage_is_counted_once() {
    check(
        "
            ~ plan demo | a tokens=1000
            ~ prepared plan-1
            uses worker-1 5
            ~ start task-1
            uses worker-1 700
            uses worker-1 700
            uses worker-1 300
            turn worker-1 using 20
            uses worker-1 200
            ~ turn worker-1 error broken using 60
            ~ stopped worker-1
            ~ saved attempt-1
            uses worker-1 150
            ~ tick +1s
            ~ start task-1
            uses worker-2 max
            approve request-1
        ",
        &expect![[r#"
            > uses worker-1 5
              nothing
            > uses worker-1 700
              worker-1 has used 350 + 350 tokens, 0 cached, $0.00
            > uses worker-1 700
              nothing
            > uses worker-1 300
              nothing
            > turn worker-1 using 20
              => prompt worker-1 (reminder)
            > uses worker-1 200
              worker-1 has used 100 + 100 tokens, 0 cached, $0.00
              little is left: task-1 has used 900 of 1000 tokens
            > uses worker-1 150
              nothing
            > uses worker-2 max
              worker-2 has used 18446744073709551615 + 0 tokens, 0 cached, $0.00
              worker-2 running -> waiting_permission (task-1 has used 18446744073709551615 of 1000 tokens)
              => interrupt worker-2
              request-1: task-1 has used 18446744073709551615 of 1000 tokens: as much once more?
            > approve request-1
              request-1 at_user -> approved
              little is left: task-1 has used 18446744073709551615 of 18446744073709551615 tokens
        "#]],
    );
}

/// The warning is about the last fifth of the last grant, not of the total.
#[test]
fn the_warning_is_about_the_last_grant() {
    check(
        "
            ~ plan demo | a tokens=100
            ~ prepared plan-1
            ~ start task-1
            ~ uses worker-1 100
            ~ approve request-1
            ~ turn worker-1 cancelled using 100
            ~ uses worker-1 100
            ~ approve request-2
            ~ turn worker-1 cancelled using 100
            uses worker-1 60
            uses worker-1 79
            uses worker-1 80
        ",
        &expect![[r#"
            > uses worker-1 60
              worker-1 has used 30 + 30 tokens, 0 cached, $0.00
            > uses worker-1 79
              worker-1 has used 39 + 40 tokens, 0 cached, $0.00
            > uses worker-1 80
              worker-1 has used 40 + 40 tokens, 0 cached, $0.00
              little is left: task-1 has used 280 of 300 tokens
        "#]],
    );
}

/// S0-009: usage of an agent that is being stopped counts.
#[test]
fn usage_after_the_end_of_a_turn_is_counted_once() {
    check(
        "
            ~ plan demo | a tokens=1000
            ~ prepared plan-1
            ~ start task-1
            ~ uses worker-1 100
            ~ complete attempt-1 done
            turn worker-1 using 300
            uses worker-1 300
            uses worker-1 850
            stopped worker-1
            uses worker-1 850
            uses worker-1 860
        ",
        &expect![[r#"
            > turn worker-1 using 300
              => stop worker-1
            > uses worker-1 300
              nothing
            > uses worker-1 850
              worker-1 has used 425 + 425 tokens, 0 cached, $0.00
              little is left: task-1 has used 850 of 1000 tokens
            > stopped worker-1
              worker-1 running -> completed
              task-1 running -> verifying
              => collect work of attempt-1
            > uses worker-1 850
              nothing
            > uses worker-1 860
              worker-1 has used 430 + 430 tokens, 0 cached, $0.00
        "#]],
    );
}

/// S4-124, S4-155: usage of a sub-task counts for its parent and its plan, and stops both.
#[test]
fn usage_of_a_child_counts_for_all_ancestors() {
    check(
        "
            ~ plan demo tokens=1000 | a tokens=100
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 wait=60s | look
            ~ start subtask-2
            uses worker-2 90
            uses worker-2 120
            turn worker-2 cancelled using 120
            approve request-1
        ",
        &expect![[r#"
            > uses worker-2 90
              worker-2 has used 45 + 45 tokens, 0 cached, $0.00
              little is left: task-1 has used 90 of 100 tokens
            > uses worker-2 120
              worker-2 has used 60 + 60 tokens, 0 cached, $0.00
              worker-2 running -> waiting_permission (task-1 has used 120 of 100 tokens)
              => interrupt worker-2
              request-1: task-1 has used 120 of 100 tokens: as much once more?
            > turn worker-2 cancelled using 120
              nothing
            > approve request-1
              request-1 at_user -> approved
              worker-2 waiting_permission -> running (a slot is free)
              => prompt worker-2 (resumed)
        "#]],
    );
}

/// A denied grant ends everything that would use it.
#[test]
fn a_cap_that_is_not_raised_ends_the_parent_and_its_children() {
    check(
        "
            ~ plan demo tokens=100 | a
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 wait=60s | look
            ~ start subtask-2
            ~ uses worker-2 120
            deny request-1
        ",
        &expect![[r#"
            > deny request-1
              request-1 at_user -> denied
              attempt-1 ended: failed (plan-1 has used 120 of 100 tokens, and the cap was not raised)
              worker-1 waiting_subtasks -> failed (plan-1 has used 120 of 100 tokens, and the cap was not raised)
              => stop worker-1
              task-1 running -> failed (plan-1 has used 120 of 100 tokens, and the cap was not raised)
              attempt-2 ended: failed (plan-1 has used 120 of 100 tokens, and the cap was not raised)
              worker-2 waiting_permission -> failed (plan-1 has used 120 of 100 tokens, and the cap was not raised)
              => stop worker-2
              task-2 running -> failed (plan-1 has used 120 of 100 tokens, and the cap was not raised)
              worker-1 is answered: its turn has ended
              plan-1 active -> failed (0 of 1 tasks are completed)
        "#]],
    );
}
