//! Provider limits at a start, and across restarts.

use crate::script::check;
use expect_test::expect;

#[test]
fn an_agent_that_is_ready_during_a_limit_waits_before_its_first_turn() {
    check(
        "
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ checkout attempt-2
            ~ start task-1
            ~ turn worker-1 quota
            ready worker-2
            tick +300s
        ",
        &expect![[r#"
            > ready worker-2
              worker-2 starting -> running
              task-2 starting -> running
              worker-2 running -> waiting_quota (claude has reached a provider limit)
            > tick +300s
              claude is released
              worker-1 waiting_quota -> running (a slot is free)
              => prompt worker-1 (the limit is over)
              worker-2 waiting_quota -> running (a slot is free)
              => prompt worker-2 (start)
        "#]],
    );
}

#[test]
fn a_limit_at_the_start_costs_no_attempt() {
    check(
        "
            ~ plan demo | a attempts=1
            ~ prepared plan-1
            ~ checkout attempt-1
            fail-start worker-1 quota 90000
            stopped worker-1
            saved attempt-1
            tick +1s
            tick +89s
        ",
        &expect![[r#"
            > fail-start worker-1 quota 90000
              attempt-1 ended: failed (provider limit: usage limit reached)
              worker-1 starting -> failed (provider limit: usage limit reached)
              => stop worker-1
              claude is held until 90000 ms (usage limit reached)
              task-1 starting -> pending (provider limit: usage limit reached; again at 77 ms)
            > stopped worker-1
              => save work of attempt-1
            > saved attempt-1
              nothing
            > tick +1s
              task-1 pending -> queued
            > tick +89s
              claude is released
              task-1 queued -> starting (a slot is free)
              attempt-2 opened: task-1 #2 from saved-1, judged against base
              => prepare checkout attempt-2
        "#]],
    );
}

#[test]
fn commands_do_not_wait_for_provider_limits() {
    check(
        "
            ~ slots 1
            ~ plan demo | a agent=builtin command=make
            ~ prepared plan-1
            ~ start task-1
            turn worker-1 quota 90000
        ",
        &expect![[r#"
            > turn worker-1 quota 90000
              attempt-1 ended: failed (provider limit: usage limit reached)
              worker-1 running -> failed (provider limit: usage limit reached)
              => stop worker-1
              task-1 running -> pending (provider limit: usage limit reached; again at 77 ms)
        "#]],
    );
}

/// A restart during the wait: the agent is reattached, is not prompted before the limit ends, and
/// the time without an orchestrator counts for neither.
#[test]
fn a_restart_neither_ends_nor_prolongs_the_wait() {
    check(
        "
            ~ plan demo | a timeout=10s | b
            ~ prepared plan-1
            ~ start task-1
            ~ cancel task-2
            ~ tick +4s
            turn worker-1 quota 100000
            ~ away +60s
            reattached worker-1 60000
            tick +35s
            tick +1s
            tick +5s
            tick +2s
        ",
        &expect![[r#"
            > turn worker-1 quota 100000
              claude is held until 100000 ms (usage limit reached)
              worker-1 running -> waiting_quota (claude has reached a provider limit)
            > reattached worker-1 60000
              worker-1 worked on for 60000 ms
            > tick +35s
              nothing
            > tick +1s
              claude is released
              worker-1 waiting_quota -> running (a slot is free)
              => prompt worker-1 (the limit is over)
            > tick +5s
              nothing
            > tick +2s
              attempt-1 ended: timeout (timed out after 10 s)
              worker-1 running -> killed (timed out after 10 s)
              => stop worker-1
              task-1 running -> pending (timed out after 10 s; again at 107077 ms)
        "#]],
    );
}

/// The limit ends without an orchestrator: after the restart the worker continues at once, with one
/// prompt.
#[test]
fn a_limit_that_ended_without_an_orchestrator_is_over_at_the_restart() {
    check(
        "
            ~ plan demo | a attempts=1 | b
            ~ prepared plan-1
            ~ start task-1
            ~ cancel task-2
            turn worker-1 quota 60000
            ~ away +600s
            reattached worker-1 600000
            tick +0s
            turn worker-1
        ",
        &expect![[r#"
            > turn worker-1 quota 60000
              claude is held until 60000 ms (usage limit reached)
              worker-1 running -> waiting_quota (claude has reached a provider limit)
            > reattached worker-1 600000
              worker-1 worked on for 600000 ms
              claude is released
              worker-1 waiting_quota -> running (a slot is free)
              => prompt worker-1 (the limit is over)
            > tick +0s
              nothing
            > turn worker-1
              => prompt worker-1 (reminder)
        "#]],
    );
}
