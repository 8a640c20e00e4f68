//! Caps: a warning when little is left, and a request to a person at the end.

use crate::script::check;
use expect_test::expect;

/// S0-009: the turn is interrupted, the work is saved, and a person grants the same amount again.
#[test]
fn a_task_at_its_cap_waits_for_a_person_and_continues_after_a_grant() {
    check(
        "
            ~ slots 1
            ~ plan demo | a tokens=100 timeout=10s | b
            ~ prepared plan-1
            ~ start task-1
            ~ tick +4s
            uses worker-1 40
            uses worker-1 80
            uses worker-1 90
            uses worker-1 104
            turn worker-1 cancelled using 110
            ~ tick +600s
            approve request-1
            ~ work task-2
            tick +1s
            uses worker-1 60
            uses worker-1 99
            uses worker-1 101
        ",
        &expect![[r#"
            > uses worker-1 40
              worker-1 has used 20 + 20 tokens, 0 cached, $0.00
            > uses worker-1 80
              worker-1 has used 40 + 40 tokens, 0 cached, $0.00
              little is left: task-1 has used 80 of 100 tokens
            > uses worker-1 90
              worker-1 has used 45 + 45 tokens, 0 cached, $0.00
            > uses worker-1 104
              worker-1 has used 52 + 52 tokens, 0 cached, $0.00
              worker-1 running -> waiting_permission (task-1 has used 104 of 100 tokens)
              => interrupt worker-1
              request-1: task-1 has used 104 of 100 tokens: as much once more?
              task-2 queued -> starting (a slot is free)
              attempt-2 opened: task-2 #1 from base
              => prepare checkout attempt-2
            > turn worker-1 cancelled using 110
              nothing
            > approve request-1
              request-1 at_user -> approved
            > tick +1s
              nothing
            > uses worker-1 60
              worker-1 has used 30 + 30 tokens, 0 cached, $0.00
            > uses worker-1 99
              worker-1 has used 49 + 50 tokens, 0 cached, $0.00
              little is left: task-1 has used 209 of 210 tokens
            > uses worker-1 101
              worker-1 has used 50 + 51 tokens, 0 cached, $0.00
              worker-1 running -> waiting_permission (task-1 has used 211 of 210 tokens)
              => interrupt worker-1
              request-2: task-1 has used 211 of 210 tokens: as much once more?
        "#]],
    );
}

#[test]
fn a_denied_grant_ends_the_attempt_and_saves_its_work() {
    check(
        "
            ~ plan demo | a tokens=100
            ~ prepared plan-1
            ~ start task-1
            ~ uses worker-1 100
            deny request-1 enough
            turn worker-1 cancelled using 100
            stopped worker-1
            saved attempt-1
            retry task-1
            approve request-2
            approve request-2
        ",
        &expect![[r#"
            > deny request-1 enough
              request-1 at_user -> denied (enough)
              attempt-1 ended: failed (task-1 has used 100 of 100 tokens, and the cap was not raised)
              worker-1 waiting_permission -> failed (task-1 has used 100 of 100 tokens, and the cap was not raised)
              => stop worker-1
              task-1 running -> failed (task-1 has used 100 of 100 tokens, and the cap was not raised)
              plan-1 active -> failed (0 of 1 tasks are completed)
            > turn worker-1 cancelled using 100
              nothing
            > stopped worker-1
              => save work of attempt-1
            > saved attempt-1
              nothing
            > retry task-1
              plan-1 failed -> active (retry)
              task-1 is granted one more attempt
              task-1 failed -> pending (a person asked for a retry)
              request-2: task-1 has used 100 of 100 tokens: as much once more?
              task-1 pending -> queued
            > approve request-2
              request-2 at_user -> approved
              task-1 queued -> starting (a slot is free)
              attempt-2 opened: task-1 #2 from saved-1, judged against base
              => prepare checkout attempt-2
            > approve request-2
              rejected: request-2 is already approved; `pitcrew inbox` lists the open requests
        "#]],
    );
}

/// All workers are parked, nothing starts, and commands continue.
#[test]
fn a_plan_at_its_cap_stops_all_its_workers_with_one_request() {
    check(
        "
            ~ slots 3
            ~ plan demo cost=2 | a | b | c agent=builtin command=make | d | e agent=builtin command=make
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            uses worker-1 $1
            uses worker-2 $1
            turn worker-1 cancelled using $1
            turn worker-2 cancelled using $1
            approve request-1
        ",
        &expect![[r#"
            > uses worker-1 $1
              worker-1 has used 0 + 0 tokens, 0 cached, $1.00
            > uses worker-2 $1
              worker-2 has used 0 + 0 tokens, 0 cached, $1.00
              worker-1 running -> waiting_permission (plan-1 has cost $2.00 of $2.00)
              => interrupt worker-1
              worker-2 running -> waiting_permission (plan-1 has cost $2.00 of $2.00)
              => interrupt worker-2
              request-1: plan-1 has cost $2.00 of $2.00: as much once more?
              task-5 queued -> starting (a slot is free)
              attempt-4 opened: task-5 #1 from base
              => prepare checkout attempt-4
            > turn worker-1 cancelled using $1
              nothing
            > turn worker-2 cancelled using $1
              nothing
            > approve request-1
              request-1 at_user -> approved
              worker-1 waiting_permission -> running (a slot is free)
              => prompt worker-1 (resumed)
        "#]],
    );
}

#[test]
fn a_denied_grant_for_a_plan_ends_what_would_use_more() {
    check(
        "
            ~ slots 2
            ~ plan demo tokens=100 | a | b | c | d after c
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ complete attempt-2 done
            uses worker-1 100
            deny request-1
            turn worker-2
        ",
        &expect![[r#"
            > uses worker-1 100
              worker-1 has used 50 + 50 tokens, 0 cached, $0.00
              worker-1 running -> waiting_permission (plan-1 has used 100 of 100 tokens)
              => interrupt worker-1
              request-1: plan-1 has used 100 of 100 tokens: as much once more?
            > deny request-1
              request-1 at_user -> denied
              attempt-1 ended: failed (plan-1 has used 100 of 100 tokens, and the cap was not raised)
              worker-1 waiting_permission -> failed (plan-1 has used 100 of 100 tokens, and the cap was not raised)
              => stop worker-1
              task-1 running -> failed (plan-1 has used 100 of 100 tokens, and the cap was not raised)
              task-3 queued -> failed (plan-1 has used 100 of 100 tokens, and the cap was not raised)
              task-4 pending -> failed (plan-1 has used 100 of 100 tokens, and the cap was not raised)
            > turn worker-2
              => stop worker-2
        "#]],
    );
}

/// The usage of earlier attempts counts, and of turns that reported nothing until their end.
#[test]
fn no_attempt_begins_over_the_cap() {
    check(
        "
            ~ plan demo | a tokens=100
            ~ prepared plan-1
            ~ start task-1
            turn worker-1 error broken using 150
            stopped worker-1
            saved attempt-1
            tick +1s
            approve request-1
        ",
        &expect![[r#"
            > turn worker-1 error broken using 150
              attempt-1 ended: failed (protocol error: broken)
              worker-1 running -> failed (protocol error: broken)
              => stop worker-1
              task-1 running -> pending (protocol error: broken; again at 77 ms)
              request-1: task-1 has used 150 of 100 tokens: as much once more?
            > stopped worker-1
              => save work of attempt-1
            > saved attempt-1
              nothing
            > tick +1s
              task-1 pending -> queued
            > approve request-1
              request-1 at_user -> approved
              task-1 queued -> starting (a slot is free)
              attempt-2 opened: task-1 #2 from saved-1, judged against base
              => prepare checkout attempt-2
        "#]],
    );
}

#[test]
fn an_agent_that_is_ready_over_the_cap_gets_no_turn() {
    check(
        "
            ~ plan demo tokens=100 | a | b
            ~ prepared plan-1
            ~ checkout attempt-2
            ~ start task-1
            uses worker-1 100
            ready worker-2
            approve request-1
        ",
        &expect![[r#"
            > uses worker-1 100
              worker-1 has used 50 + 50 tokens, 0 cached, $0.00
              worker-1 running -> waiting_permission (plan-1 has used 100 of 100 tokens)
              => interrupt worker-1
              request-1: plan-1 has used 100 of 100 tokens: as much once more?
            > ready worker-2
              worker-2 starting -> running
              task-2 starting -> running
              worker-2 running -> waiting_permission (a cap is reached)
            > approve request-1
              request-1 at_user -> approved
              worker-2 waiting_permission -> running (a slot is free)
              => prompt worker-2 (start)
        "#]],
    );
}

/// Even if it asked something before its first prompt.
#[test]
fn an_agent_that_is_ready_over_the_cap_starts_with_its_task() {
    check(
        "
            ~ plan demo tokens=100 | a | b
            ~ prepared plan-1
            ~ checkout attempt-2
            ~ start task-1
            ~ ask attempt-2 which port?
            ~ uses worker-1 100
            ~ ready worker-2
            answer request-1 8080
            approve request-2
            turn worker-2 end_turn
        ",
        &expect![[r#"
            > answer request-1 8080
              request-1 at_user -> answered (8080)
            > approve request-2
              request-2 at_user -> approved
              worker-2 waiting_permission -> running (a slot is free)
              => prompt worker-2 (start)
            > turn worker-2 end_turn
              worker-2 running -> waiting_input (it asked a person)
              worker-2 waiting_input -> running (a slot is free)
              => prompt worker-2 (answer)
        "#]],
    );
}

#[test]
fn a_finished_worker_causes_no_request_for_more() {
    check(
        "
            ~ plan demo | a tokens=100
            ~ prepared plan-1
            ~ start task-1
            complete attempt-1 done
            uses worker-1 200
            turn worker-1 using 200
        ",
        &expect![[r#"
            > complete attempt-1 done
              attempt-1 claims success: done
            > uses worker-1 200
              worker-1 has used 100 + 100 tokens, 0 cached, $0.00
            > turn worker-1 using 200
              => stop worker-1
        "#]],
    );
}

#[test]
fn a_request_for_more_is_withdrawn_with_its_worker() {
    check(
        "
            ~ plan demo tokens=100 | a
            ~ prepared plan-1
            ~ start task-1
            uses worker-1 100
            cancel task-1
            ~ plan demo | b tokens=100
            ~ prepared plan-2
            ~ start task-2
            ~ uses worker-2 100
            cancel plan-2
        ",
        &expect![[r#"
            > uses worker-1 100
              worker-1 has used 50 + 50 tokens, 0 cached, $0.00
              worker-1 running -> waiting_permission (plan-1 has used 100 of 100 tokens)
              => interrupt worker-1
              request-1: plan-1 has used 100 of 100 tokens: as much once more?
            > cancel task-1
              attempt-1 ended: cancelled (cancelled by person)
              worker-1 waiting_permission -> killed (cancelled by person)
              => stop worker-1
              task-1 running -> cancelled (cancelled by person)
              request-1 at_user -> withdrawn
              plan-1 active -> failed (0 of 1 tasks are completed)
            > cancel plan-2
              plan-2 active -> cancelled (cancelled)
              attempt-2 ended: cancelled (cancelled by person)
              worker-2 waiting_permission -> killed (cancelled by person)
              => stop worker-2
              task-2 running -> cancelled (cancelled by person)
              request-2 at_user -> withdrawn
        "#]],
    );
}

#[test]
fn no_agent_grants_itself_more() {
    check(
        "
            ~ plan demo | a tokens=100
            ~ prepared plan-1
            ~ start task-1
            ~ uses worker-1 100
            self-approve request-1
            answer request-1 yes
        ",
        &expect![[r#"
            > self-approve request-1
              rejected: only a person may decide request-1
            > answer request-1 yes
              rejected: request-1 is not a question: use `pitcrew approve request-1` or `pitcrew deny request-1`
        "#]],
    );
}

#[test]
fn an_agent_that_ignores_the_interruption_at_its_cap_is_retried() {
    check(
        "
            ~ plan demo | a tokens=100 attempts=1
            ~ prepared plan-1
            ~ start task-1
            ~ uses worker-1 100
            exited worker-1 killed
            saved attempt-1
            tick +1s
            approve request-1
        ",
        &expect![[r#"
            > exited worker-1 killed
              worker-1 exited: signal 9
              attempt-1 ended: failed (interrupted)
              worker-1 waiting_permission -> failed (interrupted)
              => save work of attempt-1
              task-1 running -> pending (interrupted; again at 77 ms)
            > saved attempt-1
              nothing
            > tick +1s
              task-1 pending -> queued
            > approve request-1
              request-1 at_user -> approved
              task-1 queued -> starting (a slot is free)
              attempt-2 opened: task-1 #2 from saved-1, judged against base
              => prepare checkout attempt-2
        "#]],
    );
}

#[test]
fn an_approved_call_waits_for_the_cap_too() {
    check(
        "
            ~ plan demo tokens=100 | a | b
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            permit worker-1 execute make
            uses worker-2 100
            approve request-1
            approve request-2
        ",
        &expect![[r#"
            > permit worker-1 execute make
              request-1: may it execute make?
              worker-1 running -> waiting_permission (it requests a permission)
            > uses worker-2 100
              worker-2 has used 50 + 50 tokens, 0 cached, $0.00
              worker-2 running -> waiting_permission (plan-1 has used 100 of 100 tokens)
              => interrupt worker-2
              request-2: plan-1 has used 100 of 100 tokens: as much once more?
            > approve request-1
              request-1 at_user -> approved
            > approve request-2
              request-2 at_user -> approved
              worker-1 waiting_permission -> running (a slot is free)
              => answer worker-1, call execute make: yes
        "#]],
    );
}

/// The grant comes before the agent has ended its turn, and the turn ends badly.
#[test]
fn an_early_grant_is_used_after_the_interrupted_turn() {
    check(
        "
            ~ plan demo | a tokens=100
            ~ prepared plan-1
            ~ start task-1
            ~ uses worker-1 100
            approve request-1
            turn worker-1 error interrupted using 100
        ",
        &expect![[r#"
            > approve request-1
              request-1 at_user -> approved
            > turn worker-1 error interrupted using 100
              worker-1 waiting_permission -> running (a slot is free)
              => prompt worker-1 (resumed)
        "#]],
    );
}

/// The report exceeds the cap: open calls are still answered.
#[test]
fn a_worker_that_is_done_may_finish_over_its_cap() {
    check(
        "
            ~ plan demo | a tokens=100
            ~ prepared plan-1
            ~ start task-1
            ~ permit worker-1 execute make
            complete attempt-1 done
            uses worker-1 200
            approve request-1
        ",
        &expect![[r#"
            > complete attempt-1 done
              attempt-1 claims success: done
            > uses worker-1 200
              worker-1 has used 100 + 100 tokens, 0 cached, $0.00
            > approve request-1
              request-1 at_user -> approved
              worker-1 waiting_permission -> running (a slot is free)
              => answer worker-1, call execute make: yes
        "#]],
    );
}
