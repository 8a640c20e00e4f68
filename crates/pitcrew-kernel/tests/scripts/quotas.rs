//! Provider limits: a worker that reaches one waits, and with it the whole backend.

use crate::script::check;
use expect_test::{Expect, expect};

/// One worker, in its first turn.
const ONE: &str = "
    ~ plan demo | a
    ~ prepared plan-1
    ~ start task-1
";

fn check_one(script: &str, expected: &Expect) {
    check(&format!("{ONE}{script}"), expected);
}

/// It keeps its session and its checkout, and frees its slot for a task of another backend.
#[test]
fn a_worker_waits_for_the_end_of_a_limit_and_continues() {
    check(
        "
            ~ slots 1
            ~ plan demo | a timeout=10s | b | c agent=codex
            ~ prepared plan-1
            ~ start task-1
            ~ tick +4s
            turn worker-1 quota 1000000
            ~ tick +600s
            ~ start task-3
            ~ finish task-3
            tick +395s
            tick +1s
            tick +5s
            tick +2s
        ",
        &expect![[r#"
            > turn worker-1 quota 1000000
              claude is held until 1000000 ms (usage limit reached)
              worker-1 running -> waiting_quota (claude has reached a provider limit)
              task-3 queued -> starting (a slot is free)
              attempt-2 opened: task-3 #1 from base
              => prepare checkout attempt-2
            > tick +395s
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
              task-1 running -> pending (timed out after 10 s; again at 1007077 ms)
              task-2 queued -> starting (a slot is free)
              attempt-3 opened: task-2 #1 from base
              => prepare checkout attempt-3
        "#]],
    );
}

#[test]
fn an_unknown_wait_doubles_until_a_turn_succeeds() {
    check_one(
        "
            turn worker-1 quota
            tick +300s
            turn worker-1 quota
            tick +600s
            turn worker-1 quota
            ~ tick +1200s
            ~ turn worker-1 quota
            ~ tick +2400s
            turn worker-1 quota
            tick +3600s
            ask attempt-1 which way?
            turn worker-1
            answer request-1 that way
            turn worker-1 quota
        ",
        &expect![[r#"
            > turn worker-1 quota
              claude is held until 300000 ms (usage limit reached)
              worker-1 running -> waiting_quota (claude has reached a provider limit)
            > tick +300s
              claude is released
              worker-1 waiting_quota -> running (a slot is free)
              => prompt worker-1 (the limit is over)
            > turn worker-1 quota
              claude is held until 900000 ms (usage limit reached)
              worker-1 running -> waiting_quota (claude has reached a provider limit)
            > tick +600s
              claude is released
              worker-1 waiting_quota -> running (a slot is free)
              => prompt worker-1 (the limit is over)
            > turn worker-1 quota
              claude is held until 2100000 ms (usage limit reached)
              worker-1 running -> waiting_quota (claude has reached a provider limit)
            > turn worker-1 quota
              claude is held until 8100000 ms (usage limit reached)
              worker-1 running -> waiting_quota (claude has reached a provider limit)
            > tick +3600s
              claude is released
              worker-1 waiting_quota -> running (a slot is free)
              => prompt worker-1 (the limit is over)
            > ask attempt-1 which way?
              request-1: "which way?"
            > turn worker-1
              worker-1 running -> waiting_input (it asked a person)
            > answer request-1 that way
              request-1 at_user -> answered (that way)
              worker-1 waiting_input -> running (a slot is free)
              => prompt worker-1 (answer)
            > turn worker-1 quota
              claude is held until 8400000 ms (usage limit reached)
              worker-1 running -> waiting_quota (claude has reached a provider limit)
        "#]],
    );
}

#[test]
fn an_absurd_reset_time_is_ignored() {
    check_one(
        "
            ~ tick +5s
            turn worker-1 quota 4000
            tick +300s
            turn worker-1 quota 99999999999999
        ",
        &expect![[r#"
            > turn worker-1 quota 4000
              claude is held until 305000 ms (usage limit reached)
              worker-1 running -> waiting_quota (claude has reached a provider limit)
            > tick +300s
              claude is released
              worker-1 waiting_quota -> running (a slot is free)
              => prompt worker-1 (the limit is over)
            > turn worker-1 quota 99999999999999
              claude is held until 691505000 ms (usage limit reached)
              worker-1 running -> waiting_quota (claude has reached a provider limit)
        "#]],
    );
}

/// Two workers reach the same limit; the later time counts.
#[test]
fn a_second_worker_at_the_limit_waits_with_the_first() {
    check(
        "
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            turn worker-1 quota 60000
            turn worker-2 quota
            tick +60s
            turn worker-1 quota 100000
            turn worker-2 quota 200000
            tick +40s
            tick +100s
        ",
        &expect![[r#"
            > turn worker-1 quota 60000
              claude is held until 60000 ms (usage limit reached)
              worker-1 running -> waiting_quota (claude has reached a provider limit)
            > turn worker-2 quota
              worker-2 running -> waiting_quota (claude has reached a provider limit)
            > tick +60s
              claude is released
              worker-1 waiting_quota -> running (a slot is free)
              => prompt worker-1 (the limit is over)
              worker-2 waiting_quota -> running (a slot is free)
              => prompt worker-2 (the limit is over)
            > turn worker-1 quota 100000
              claude is held until 100000 ms (usage limit reached)
              worker-1 running -> waiting_quota (claude has reached a provider limit)
            > turn worker-2 quota 200000
              claude is held until 200000 ms (usage limit reached)
              worker-2 running -> waiting_quota (claude has reached a provider limit)
            > tick +40s
              nothing
            > tick +100s
              claude is released
              worker-1 waiting_quota -> running (a slot is free)
              => prompt worker-1 (the limit is over)
              worker-2 waiting_quota -> running (a slot is free)
              => prompt worker-2 (the limit is over)
        "#]],
    );
}

#[test]
fn a_person_can_retry_before_the_limit_ends() {
    check(
        "
            ~ slots 1
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ start task-1
            ~ turn worker-1 quota
            retry task-2
            retry task-2
        ",
        &expect![[r#"
            > retry task-2
              claude is released
              worker-1 waiting_quota -> running (a slot is free)
              => prompt worker-1 (the limit is over)
            > retry task-2
              rejected: task-2 cannot be retried: it is queued; cancel it first with `pitcrew cancel task-2`
        "#]],
    );
}

#[test]
fn a_worker_that_waits_for_a_limit_can_be_cancelled() {
    check(
        "
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ start task-1
            ~ turn worker-1 quota
            cancel task-1
            cancel plan-1
        ",
        &expect![[r#"
            > cancel task-1
              attempt-1 ended: cancelled (cancelled by person)
              worker-1 waiting_quota -> killed (cancelled by person)
              => stop worker-1
              task-1 running -> cancelled (cancelled by person)
            > cancel plan-1
              plan-1 active -> cancelled (cancelled)
              attempt-2 ended: cancelled (cancelled by person)
              worker-2 created -> killed (cancelled by person)
              task-2 starting -> cancelled (cancelled by person)
        "#]],
    );
}

/// An agent that exits during the wait was interrupted, at the cost of no attempt.
#[test]
fn an_agent_that_exits_during_a_limit_is_retried_after_it() {
    check(
        "
            ~ plan demo | a attempts=1
            ~ prepared plan-1
            ~ start task-1
            turn worker-1 quota
            exited worker-1 killed
            saved attempt-1
            tick +1s
            tick +300s
        ",
        &expect![[r#"
            > turn worker-1 quota
              claude is held until 300000 ms (usage limit reached)
              worker-1 running -> waiting_quota (claude has reached a provider limit)
            > exited worker-1 killed
              worker-1 exited: signal 9
              attempt-1 ended: failed (interrupted)
              worker-1 waiting_quota -> failed (interrupted)
              => save work of attempt-1
              task-1 running -> pending (interrupted; again at 77 ms)
            > saved attempt-1
              nothing
            > tick +1s
              task-1 pending -> queued
            > tick +300s
              claude is released
              task-1 queued -> starting (a slot is free)
              attempt-2 opened: task-1 #2 from saved-1, judged against base
              => prepare checkout attempt-2
        "#]],
    );
}

#[test]
fn a_limit_that_ends_in_a_pause_is_noticed_at_the_resume() {
    check(
        "
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ turn worker-1 quota
            pause plan-1
            turn worker-2 quota
            tick +300s
            resume plan-1
        ",
        &expect![[r#"
            > pause plan-1
              plan-1 active -> paused
              worker-2 running -> paused (the plan is paused)
              => interrupt worker-2
            > turn worker-2 quota
              nothing
            > tick +300s
              claude is released
            > resume plan-1
              plan-1 paused -> active
              worker-1 waiting_quota -> running (a slot is free)
              => prompt worker-1 (the limit is over)
              worker-2 paused -> running (a slot is free)
              => prompt worker-2 (resumed)
        "#]],
    );
}

#[test]
fn an_answer_waits_for_the_limit_too() {
    check_one(
        "
            ask attempt-1 which way?
            turn worker-1 quota
            answer request-1 that way
            tick +300s
        ",
        &expect![[r#"
            > ask attempt-1 which way?
              request-1: "which way?"
            > turn worker-1 quota
              claude is held until 300000 ms (usage limit reached)
              worker-1 running -> waiting_input (it asked a person)
            > answer request-1 that way
              request-1 at_user -> answered (that way)
            > tick +300s
              claude is released
              worker-1 waiting_input -> running (a slot is free)
              => prompt worker-1 (answer)
        "#]],
    );
}

#[test]
fn requests_of_the_turn_that_reached_the_limit_are_withdrawn() {
    check_one(
        "
            permit worker-1 execute make
            turn worker-1 quota
            tick +300s
        ",
        &expect![[r#"
            > permit worker-1 execute make
              request-1: may it execute make?
              worker-1 running -> waiting_permission (it requests a permission)
            > turn worker-1 quota
              request-1 at_user -> withdrawn
              claude is held until 300000 ms (usage limit reached)
              worker-1 waiting_permission -> waiting_quota (claude has reached a provider limit)
            > tick +300s
              claude is released
              worker-1 waiting_quota -> running (a slot is free)
              => prompt worker-1 (the limit is over)
        "#]],
    );
}
