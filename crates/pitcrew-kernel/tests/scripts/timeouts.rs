//! Timeouts, and the time that does not count.

use crate::script::check;
use expect_test::expect;

/// S2-053: every attempt has a time limit.
#[test]
fn a_time_out_ends_the_attempt() {
    check(
        "
            ~ plan demo | a timeout=10s attempts=1
            ~ prepared plan-1
            ~ start task-1
            tick +9s
            tick +1s
        ",
        &expect![[r#"
            > tick +9s
              nothing
            > tick +1s
              attempt-1 ended: timeout (timed out after 10 s)
              worker-1 running -> killed (timed out after 10 s)
              => stop worker-1
              task-1 running -> failed (timed out after 10 s)
              plan-1 active -> failed (0 of 1 tasks are completed)
        "#]],
    );
}

#[test]
fn the_start_of_the_agent_counts_but_not_the_checkout() {
    check(
        "
            ~ plan demo | a timeout=10s attempts=1
            ~ prepared plan-1
            tick +60s
            checkout attempt-1
            tick +9s
            tick +1s
            stopped worker-1
            fail-start worker-1 protocol late
        ",
        &expect![[r#"
            > tick +60s
              nothing
            > checkout attempt-1
              worker-1 created -> starting
              => start agent worker-1
            > tick +9s
              nothing
            > tick +1s
              attempt-1 ended: timeout (timed out after 10 s)
              worker-1 starting -> killed (timed out after 10 s)
              => stop worker-1
              task-1 starting -> failed (timed out after 10 s)
              plan-1 active -> failed (0 of 1 tasks are completed)
            > stopped worker-1
              => save work of attempt-1
            > fail-start worker-1 protocol late
              nothing
        "#]],
    );
}

#[test]
fn an_agent_that_starts_slowly_has_the_rest_of_its_time() {
    check(
        "
            ~ plan demo | a timeout=10s attempts=1
            ~ prepared plan-1
            ~ checkout attempt-1
            ~ tick +8s
            ~ ready worker-1
            tick +1s
            tick +1s
        ",
        &expect![[r#"
            > tick +1s
              nothing
            > tick +1s
              attempt-1 ended: timeout (timed out after 10 s)
              worker-1 running -> killed (timed out after 10 s)
              => stop worker-1
              task-1 running -> failed (timed out after 10 s)
              plan-1 active -> failed (0 of 1 tasks are completed)
        "#]],
    );
}

#[test]
fn a_worker_that_is_done_in_time_is_not_timed_out_while_it_stops() {
    check(
        "
            ~ plan demo | a timeout=10s
            ~ prepared plan-1
            ~ start task-1
            ~ complete attempt-1 did it
            ~ turn worker-1 end_turn
            tick +20s
            stopped worker-1
        ",
        &expect![[r#"
            > tick +20s
              nothing
            > stopped worker-1
              worker-1 running -> completed
              task-1 running -> verifying
              => collect work of attempt-1
        "#]],
    );
}

#[test]
fn waiting_for_a_person_does_not_count() {
    check(
        "
            ~ plan demo | a timeout=10s
            ~ prepared plan-1
            ~ start task-1
            ~ tick +6s
            ~ ask attempt-1 which?
            ~ turn worker-1 end_turn
            tick +3600s
            answer request-1 this
            tick +3s
            tick +1s
        ",
        &expect![[r#"
            > tick +3600s
              nothing
            > answer request-1 this
              request-1 at_user -> answered (this)
              worker-1 waiting_input -> running (a slot is free)
              => prompt worker-1 (answer)
            > tick +3s
              nothing
            > tick +1s
              attempt-1 ended: timeout (timed out after 10 s)
              worker-1 running -> killed (timed out after 10 s)
              => stop worker-1
              task-1 running -> pending (timed out after 10 s; again at 3610077 ms)
        "#]],
    );
}

/// A reattached agent has as much time left as when the orchestrator ended.
#[test]
fn time_without_an_orchestrator_does_not_count() {
    check(
        "
            ~ plan demo | a timeout=10s attempts=1
            ~ prepared plan-1
            ~ start task-1
            ~ tick +4s
            reattached worker-1 60000
            tick +65s
            tick +1s
            reattached worker-1 60000
        ",
        &expect![[r#"
            > reattached worker-1 60000
              worker-1 worked on for 60000 ms
            > tick +65s
              nothing
            > tick +1s
              attempt-1 ended: timeout (timed out after 10 s)
              worker-1 running -> killed (timed out after 10 s)
              => stop worker-1
              task-1 running -> failed (timed out after 10 s)
              plan-1 active -> failed (0 of 1 tasks are completed)
            > reattached worker-1 60000
              nothing
        "#]],
    );
}
