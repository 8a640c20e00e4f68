//! Provider limits that repeat.

use crate::script::check;
use expect_test::expect;

fn ten_waits() -> String {
    let wait = |it| format!("~ turn worker-1 quota {}\n~ tick +9000s\n", it * 9_000_000);
    (1..=10).map(wait).collect()
}

/// Ten times, and for more than a day. A second task of that backend does not start the count
/// again.
#[test]
fn a_limit_that_does_not_end_fails_and_a_person_may_retry() {
    let waits = ten_waits();
    check(
        &format!(
            "
            ~ slots 1
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ start task-1
            {waits}
            turn worker-1 quota
            stopped worker-1
            saved attempt-1
            retry task-1
            ~ start task-1
            turn worker-2 quota
            "
        ),
        &expect![[r#"
            > turn worker-1 quota
              attempt-1 ended: failed (the limit of claude has not ended: usage limit reached; waited 10 times in 25 hours; retry with `pitcrew retry`)
              worker-1 running -> failed (the limit of claude has not ended: usage limit reached; waited 10 times in 25 hours; retry with `pitcrew retry`)
              => stop worker-1
              task-1 running -> failed (the limit of claude has not ended: usage limit reached; waited 10 times in 25 hours; retry with `pitcrew retry`)
              task-2 queued -> failed (the limit of claude has not ended: usage limit reached; waited 10 times in 25 hours; retry with `pitcrew retry`)
              plan-1 active -> failed (0 of 2 tasks are completed)
            > stopped worker-1
              => save work of attempt-1
            > saved attempt-1
              nothing
            > retry task-1
              plan-1 failed -> active (retry)
              task-1 is granted one more attempt
              task-1 failed -> pending (a person asked for a retry)
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-2 opened: task-1 #2 from saved-1, judged against base
              => prepare checkout attempt-2
            > turn worker-2 quota
              claude is held until 93600000 ms (usage limit reached)
              worker-2 running -> waiting_quota (claude has reached a provider limit)
        "#]],
    );
}

/// Progress between two limits resets the count.
#[test]
fn a_model_that_answers_in_between_may_wait_any_number_of_times() {
    let waits = ten_waits();
    check(
        &format!(
            "
            ~ slots 1
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            {waits}
            turn worker-1 quota using 10
            tick +300s
            turn worker-1 quota
            "
        ),
        &expect![[r#"
            > turn worker-1 quota using 10
              claude is held until 90300000 ms (usage limit reached)
              worker-1 running -> waiting_quota (claude has reached a provider limit)
            > tick +300s
              claude is released
              worker-1 waiting_quota -> running (a slot is free)
              => prompt worker-1 (the limit is over)
            > turn worker-1 quota
              claude is held until 90900000 ms (usage limit reached)
              worker-1 running -> waiting_quota (claude has reached a provider limit)
        "#]],
    );
}

/// A provider that reports one second every time is not retried every second.
#[test]
fn wrong_reset_times_lengthen_the_wait() {
    check(
        "
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            turn worker-1 quota 1
            turn worker-2 quota 400000
            ~ tick +400s
            turn worker-1 quota 400001
            ~ tick +2s
            turn worker-1 quota 402001
            ~ tick +4s
            turn worker-1 quota 406001
        ",
        &expect![[r#"
            > turn worker-1 quota 1
              claude is held until 1000 ms (usage limit reached)
              worker-1 running -> waiting_quota (claude has reached a provider limit)
            > turn worker-2 quota 400000
              claude is held until 400000 ms (usage limit reached)
              worker-2 running -> waiting_quota (claude has reached a provider limit)
            > turn worker-1 quota 400001
              claude is held until 402000 ms (usage limit reached)
              worker-1 running -> waiting_quota (claude has reached a provider limit)
            > turn worker-1 quota 402001
              claude is held until 406000 ms (usage limit reached)
              worker-1 running -> waiting_quota (claude has reached a provider limit)
            > turn worker-1 quota 406001
              claude is held until 414000 ms (usage limit reached)
              worker-1 running -> waiting_quota (claude has reached a provider limit)
        "#]],
    );
}
