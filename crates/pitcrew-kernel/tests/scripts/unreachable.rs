//! Providers that cannot be reached: a worker waits, and with it the backend; one task tries first.

use crate::script::check;
use expect_test::expect;

#[test]
fn a_worker_without_a_network_waits_and_costs_no_attempt() {
    check(
        "
            ~ plan demo | a attempts=1
            ~ prepared plan-1
            ~ start task-1
            turn worker-1 unreachable
            tick +14s
            tick +1s
            turn worker-1 unreachable
            tick +30s
            turn worker-1
        ",
        &expect![[r#"
            > turn worker-1 unreachable
              claude is held until 15000 ms (cannot reach api.example.com)
              worker-1 running -> waiting_quota (cannot reach api.example.com)
            > tick +14s
              nothing
            > tick +1s
              claude is released
              worker-1 waiting_quota -> running (a slot is free)
              => prompt worker-1 (the limit is over)
            > turn worker-1 unreachable
              claude is held until 45000 ms (cannot reach api.example.com)
              worker-1 running -> waiting_quota (cannot reach api.example.com)
            > tick +30s
              claude is released
              worker-1 waiting_quota -> running (a slot is free)
              => prompt worker-1 (the limit is over)
            > turn worker-1
              => prompt worker-1 (reminder)
        "#]],
    );
}

#[test]
fn one_task_tries_first_and_the_others_follow_when_its_turn_ends() {
    check(
        "
            ~ plan demo | a | b | c
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ start task-3
            turn worker-2 unreachable
            turn worker-1 unreachable
            turn worker-3 unreachable
            tick +15s
            turn worker-1 unreachable
            tick +30s
            turn worker-1
        ",
        &expect![[r#"
            > turn worker-2 unreachable
              claude is held until 15000 ms (cannot reach api.example.com)
              worker-2 running -> waiting_quota (cannot reach api.example.com)
            > turn worker-1 unreachable
              worker-1 running -> waiting_quota (cannot reach api.example.com)
            > turn worker-3 unreachable
              worker-3 running -> waiting_quota (cannot reach api.example.com)
            > tick +15s
              claude is probed by task-1
              worker-1 waiting_quota -> running (a slot is free)
              => prompt worker-1 (the limit is over)
            > turn worker-1 unreachable
              claude is held until 45000 ms (cannot reach api.example.com)
              worker-1 running -> waiting_quota (cannot reach api.example.com)
            > tick +30s
              claude is probed by task-1
              worker-1 waiting_quota -> running (a slot is free)
              => prompt worker-1 (the limit is over)
            > turn worker-1
              claude is released
              worker-2 waiting_quota -> running (a slot is free)
              => prompt worker-2 (the limit is over)
              worker-3 waiting_quota -> running (a slot is free)
              => prompt worker-3 (the limit is over)
              => prompt worker-1 (reminder)
        "#]],
    );
}

#[test]
fn the_others_follow_when_the_model_answers_or_the_trial_takes_long() {
    check(
        "
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ turn worker-1 unreachable
            ~ turn worker-2 unreachable
            tick +15s
            uses worker-1 4
            turn worker-1 unreachable
            turn worker-2 unreachable
            tick +15s
            tick +119s
            tick +1s
        ",
        &expect![[r#"
            > tick +15s
              claude is probed by task-1
              worker-1 waiting_quota -> running (a slot is free)
              => prompt worker-1 (the limit is over)
            > uses worker-1 4
              worker-1 has used 2 + 2 tokens, 0 cached, $0.00
              claude is released
              worker-2 waiting_quota -> running (a slot is free)
              => prompt worker-2 (the limit is over)
            > turn worker-1 unreachable
              claude is held until 30000 ms (cannot reach api.example.com)
              worker-1 running -> waiting_quota (cannot reach api.example.com)
            > turn worker-2 unreachable
              worker-2 running -> waiting_quota (cannot reach api.example.com)
            > tick +15s
              claude is probed by task-1
              worker-1 waiting_quota -> running (a slot is free)
              => prompt worker-1 (the limit is over)
            > tick +119s
              nothing
            > tick +1s
              claude is released
              worker-2 waiting_quota -> running (a slot is free)
              => prompt worker-2 (the limit is over)
        "#]],
    );
}

#[test]
fn a_start_without_a_network_costs_no_attempt() {
    check(
        "
            ~ plan demo | a attempts=1
            ~ prepared plan-1
            ~ checkout attempt-1
            fail-start worker-1 unreachable
            ~ stopped worker-1
            ~ saved attempt-1
            tick +1s
            tick +14s
        ",
        &expect![[r#"
            > fail-start worker-1 unreachable
              attempt-1 ended: failed (cannot reach api.example.com)
              worker-1 starting -> failed (cannot reach api.example.com)
              => stop worker-1
              claude is held until 15000 ms (cannot reach api.example.com)
              task-1 starting -> pending (cannot reach api.example.com; again at 77 ms)
            > tick +1s
              task-1 pending -> queued
            > tick +14s
              claude is released
              task-1 queued -> starting (a slot is free)
              attempt-2 opened: task-1 #2 from saved-1, judged against base
              => prepare checkout attempt-2
        "#]],
    );
}

#[test]
fn a_retry_tries_at_once() {
    check(
        "
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ turn worker-1 unreachable
            ~ turn worker-2 unreachable
            retry task-1
        ",
        &expect![[r#"
            > retry task-1
              claude is released
              worker-1 waiting_quota -> running (a slot is free)
              => prompt worker-1 (the limit is over)
              worker-2 waiting_quota -> running (a slot is free)
              => prompt worker-2 (the limit is over)
        "#]],
    );
}

#[test]
fn a_cancelled_trial_stops_no_other_task() {
    check(
        "
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ turn worker-1 unreachable
            ~ turn worker-2 unreachable
            ~ tick +15s
            cancel task-1
        ",
        &expect![[r#"
            > cancel task-1
              attempt-1 ended: cancelled (cancelled by person)
              worker-1 running -> killed (cancelled by person)
              => stop worker-1
              task-1 running -> cancelled (cancelled by person)
              claude is released
              worker-2 waiting_quota -> running (a slot is free)
              => prompt worker-2 (the limit is over)
        "#]],
    );
}
