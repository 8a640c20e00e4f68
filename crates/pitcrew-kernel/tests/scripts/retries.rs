//! Attempts after the first: when, from what, how many.

use crate::script::check;
use expect_test::expect;

/// S0-066, S0-072: back-off first, then a second attempt on top of the first one's work.
#[test]
fn a_failed_check_is_retried_from_the_same_work() {
    check(
        "
            ~ plan demo | a check=make
            ~ prepared plan-1
            ~ start task-1
            ~ finish task-1
            ~ collected attempt-1
            fail attempt-1 checks make
            tick +50ms
            tick +50ms
        ",
        &expect![[r#"
            > fail attempt-1 checks make
              attempt-1 ended: failed (check `make` failed with exit code 1)
              task-1 verifying -> pending (check `make` failed with exit code 1; again at 77 ms)
            > tick +50ms
              nothing
            > tick +50ms
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-2 opened: task-1 #2 from work-1, judged against base
              => prepare checkout attempt-2
        "#]],
    );
}

#[test]
fn a_check_that_also_fails_on_the_base_is_marked() {
    check(
        "
            ~ plan demo | a check=make
            prepared plan-1
            base-red plan-1 make
            ~ start task-1
            ~ finish task-1
            ~ collected attempt-1
            fail attempt-1 checks make
        ",
        &expect![[r#"
            > prepared plan-1
              => check base of plan-1 at base [make]
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-1 opened: task-1 #1 from base
              => prepare checkout attempt-1
            > base-red plan-1 make
              nothing
            > fail attempt-1 checks make
              attempt-1 ended: failed (check `make` failed with exit code 1 (it also fails on the base))
              task-1 verifying -> pending (check `make` failed with exit code 1 (it also fails on the base); again at 77 ms)
        "#]],
    );
}

#[test]
fn a_conflict_names_the_other_task_and_starts_fresh() {
    check(
        "
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ finish task-1
            ~ finish task-2
            ~ collected attempt-1 src/lib
            collected attempt-2 src/lib
            ~ verified attempt-1
            integrated attempt-1
            fail attempt-2 conflict src/lib
            tick +1s
        ",
        &expect![[r#"
            > collected attempt-2 src/lib
              nothing
            > integrated attempt-1
              attempt-1 ended: success
              task-1 integrating -> completed
              => verify attempt-2: work-2 onto merged-1
            > fail attempt-2 conflict src/lib
              attempt-2 ended: failed (conflict in src/lib with task-1)
              task-2 verifying -> pending (conflict in src/lib with task-1; again at 96 ms)
            > tick +1s
              task-2 pending -> queued
              task-2 queued -> starting (a slot is free)
              attempt-3 opened: task-2 #2 from merged-1
              => prepare checkout attempt-3
        "#]],
    );
}

#[test]
fn refused_work_is_not_continued() {
    check(
        "
            ~ plan demo | a in core
            ~ prepared plan-1
            ~ start task-1
            ~ finish task-1
            fail attempt-1 gate ui/x
            saved attempt-1
            tick +1s
        ",
        &expect![[r#"
            > fail attempt-1 gate ui/x
              attempt-1 ended: failed (refused at the gate: ui/x is outside the region)
              => save work of attempt-1
              task-1 verifying -> pending (refused at the gate: ui/x is outside the region; again at 77 ms)
            > saved attempt-1
              nothing
            > tick +1s
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-2 opened: task-1 #2 from base
              => prepare checkout attempt-2
        "#]],
    );
}

/// S0-122, S2-051, S2-057: three attempts, then it waits for a person.
#[test]
fn back_off_grows_and_attempts_run_out() {
    check(
        "
            ~ plan demo | a | b after a
            ~ prepared plan-1
            fail attempt-1 git no space
            ~ tick +1s
            fail attempt-2 git no space
            ~ tick +1s
            fail attempt-3 git no space
            show board
        ",
        &expect![[r#"
            > fail attempt-1 git no space
              attempt-1 ended: failed (git: no space)
              worker-1 created -> failed (git: no space)
              task-1 starting -> pending (git: no space; again at 77 ms)
            > fail attempt-2 git no space
              attempt-2 ended: failed (git: no space)
              worker-2 created -> failed (git: no space)
              task-1 starting -> pending (git: no space; again at 1170 ms)
            > fail attempt-3 git no space
              attempt-3 ended: failed (git: no space)
              worker-3 created -> failed (git: no space)
              task-1 starting -> failed (git: no space)
              task-2 pending -> blocked (task-1 is failed)
              plan-1 active -> failed (0 of 2 tasks are completed)
            > show board
              plan-1 failed | task-1 failed, task-2 blocked
        "#]],
    );
}

/// S2-051: at 5 seconds.
#[test]
fn back_off_is_capped() {
    check(
        "
            ~ plan demo | a attempts=20
            ~ prepared plan-1
            ~ fail attempt-1 git x
            ~ tick +10s
            ~ fail attempt-2 git x
            ~ tick +10s
            ~ fail attempt-3 git x
            ~ tick +10s
            ~ fail attempt-4 git x
            ~ tick +10s
            ~ fail attempt-5 git x
            ~ tick +10s
            ~ fail attempt-6 git x
            ~ tick +10s
            fail attempt-7 git x
            ~ tick +10s
            fail attempt-8 git x
        ",
        &expect![[r#"
            > fail attempt-7 git x
              attempt-7 ended: failed (git: x)
              worker-7 created -> failed (git: x)
              task-1 starting -> pending (git: x; again at 65000 ms)
            > fail attempt-8 git x
              attempt-8 ended: failed (git: x)
              worker-8 created -> failed (git: x)
              task-1 starting -> pending (git: x; again at 74150 ms)
        "#]],
    );
}

/// S0-062, S0-063, S0-068, S2-056: only failed tasks run again; completed work is kept.
#[test]
fn a_person_may_retry_on_top() {
    check(
        "
            ~ plan demo | a attempts=1 | b
            ~ prepared plan-1
            ~ work task-2
            fail attempt-1 git no space
            retry task-1
            retry task-2
            work task-1
        ",
        &expect![[r#"
            > fail attempt-1 git no space
              attempt-1 ended: failed (git: no space)
              worker-1 created -> failed (git: no space)
              task-1 starting -> failed (git: no space)
              plan-1 active -> partial (1 of 2 tasks are completed)
            > retry task-1
              plan-1 partial -> active (retry)
              task-1 is granted one more attempt
              task-1 failed -> pending (a person asked for a retry)
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-3 opened: task-1 #2 from merged-2
              => prepare checkout attempt-3
            > retry task-2
              rejected: task-2 cannot be retried: it is completed; it has nothing left to do
            > work task-1
              task-1 integrating -> completed
              plan-1 active -> completed (2 of 2 tasks are completed)
        "#]],
    );
}

/// S0-122: a person's retry is one more attempt, not a new budget.
#[test]
fn a_retry_grants_one_attempt_at_a_time() {
    check(
        "
            ~ plan demo | a attempts=1
            ~ prepared plan-1
            ~ fail attempt-1 git no space
            ~ retry task-1
            fail attempt-2 git no space
            retry task-1
            show board
        ",
        &expect![[r#"
            > fail attempt-2 git no space
              attempt-2 ended: failed (git: no space)
              worker-2 created -> failed (git: no space)
              task-1 starting -> failed (git: no space)
              plan-1 active -> failed (0 of 1 tasks are completed)
            > retry task-1
              plan-1 failed -> active (retry)
              task-1 is granted one more attempt
              task-1 failed -> pending (a person asked for a retry)
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-3 opened: task-1 #3 from base
              => prepare checkout attempt-3
            > show board
              plan-1 active | task-1 starting
        "#]],
    );
}

#[test]
fn a_fresh_retry_starts_from_the_integration_head() {
    check(
        "
            ~ plan demo | a attempts=1 check=make | b
            ~ prepared plan-1
            ~ work task-2
            ~ start task-1
            ~ finish task-1
            ~ collected attempt-1
            ~ fail attempt-1 checks make
            retry task-1 fresh
        ",
        &expect![[r#"
            > retry task-1 fresh
              plan-1 partial -> active (retry)
              task-1 is granted one more attempt
              task-1 failed -> pending (a person asked for a retry)
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-3 opened: task-1 #2 from merged-2
              => prepare checkout attempt-3
        "#]],
    );
}

#[test]
fn a_retry_without_fresh_continues() {
    check(
        "
            ~ plan demo | a attempts=1 check=make
            ~ prepared plan-1
            ~ start task-1
            ~ finish task-1
            ~ collected attempt-1
            ~ fail attempt-1 checks make
            retry task-1
        ",
        &expect![[r#"
            > retry task-1
              plan-1 failed -> active (retry)
              task-1 is granted one more attempt
              task-1 failed -> pending (a person asked for a retry)
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-2 opened: task-1 #2 from work-1, judged against base
              => prepare checkout attempt-2
        "#]],
    );
}

#[test]
fn an_interruption_does_not_count_as_an_attempt() {
    check(
        "
            ~ plan demo | a attempts=1
            ~ prepared plan-1
            ~ start task-1
            exited worker-1 lost
            saved attempt-1
            tick +1s
            ~ start task-1
            exited worker-2 killed
        ",
        &expect![[r#"
            > exited worker-1 lost
              worker-1 exited: lost
              attempt-1 ended: failed (interrupted)
              worker-1 running -> failed (interrupted)
              => save work of attempt-1
              task-1 running -> pending (interrupted; again at 77 ms)
            > saved attempt-1
              nothing
            > tick +1s
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-2 opened: task-1 #2 from saved-1, judged against base
              => prepare checkout attempt-2
            > exited worker-2 killed
              worker-2 exited: signal 9
              attempt-2 ended: failed (the agent exited during its turn: signal 9)
              worker-2 running -> failed (the agent exited during its turn: signal 9)
              => save work of attempt-2
              task-1 running -> failed (the agent exited during its turn: signal 9)
              plan-1 active -> failed (0 of 1 tasks are completed)
        "#]],
    );
}

#[test]
fn the_next_attempt_waits_until_the_last_one_is_saved() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            fail attempt-1 protocol garbage
            tick +5s
            stopped worker-1
            retry task-1
            saved attempt-1
        ",
        &expect![[r#"
            > fail attempt-1 protocol garbage
              attempt-1 ended: failed (protocol error: garbage)
              worker-1 running -> failed (protocol error: garbage)
              => stop worker-1
              task-1 running -> pending (protocol error: garbage; again at 77 ms)
            > tick +5s
              nothing
            > stopped worker-1
              => save work of attempt-1
            > retry task-1
              rejected: task-1 cannot be retried: it is pending; cancel it first with `pitcrew cancel task-1`
            > saved attempt-1
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-2 opened: task-1 #2 from saved-1, judged against base
              => prepare checkout attempt-2
        "#]],
    );
}

#[test]
fn a_cancelled_task_can_be_retried_once_it_is_saved() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            cancel task-1
            retry task-1
            ~ stopped worker-1
            ~ saved attempt-1
            retry task-1
        ",
        &expect![[r#"
            > cancel task-1
              attempt-1 ended: cancelled (cancelled by person)
              worker-1 running -> killed (cancelled by person)
              => stop worker-1
              task-1 running -> cancelled (cancelled by person)
              plan-1 active -> failed (0 of 1 tasks are completed)
            > retry task-1
              rejected: the work of the last attempt of task-1 is still being saved; try again in a moment
            > retry task-1
              plan-1 failed -> active (retry)
              task-1 is granted one more attempt
              task-1 cancelled -> pending (a person asked for a retry)
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-2 opened: task-1 #2 from saved-1, judged against base
              => prepare checkout attempt-2
        "#]],
    );
}

/// S0-064, S0-071: illegal transitions are rejected and change nothing.
#[test]
fn a_task_that_has_not_ended_cannot_be_retried() {
    check(
        "
            ~ plan demo | a | b after a
            ~ prepared plan-1
            retry task-1
            retry task-2
            ~ work task-1
            retry task-1
            retry task-9
        ",
        &expect![[r#"
            > retry task-1
              rejected: task-1 cannot be retried: it is starting; cancel it first with `pitcrew cancel task-1`
            > retry task-2
              rejected: task-2 cannot be retried: it is pending; cancel it first with `pitcrew cancel task-2`
            > retry task-1
              rejected: task-1 cannot be retried: it is completed; it has nothing left to do
            > retry task-9
              rejected: there is no task-9; `pitcrew status --all` lists the tasks
        "#]],
    );
}

/// The report of the agent reaches the next prompt, even if it exits right after it.
#[test]
fn an_agent_that_gives_up_and_exits_has_reported() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ complete attempt-1 failed there is no database
            exited worker-1
        ",
        &expect![[r#"
            > exited worker-1
              worker-1 exited: exit code 1
              attempt-1 ended: failed (the agent gave up: there is no database)
              worker-1 running -> failed (the agent gave up: there is no database)
              => save work of attempt-1
              task-1 running -> pending (the agent gave up: there is no database; again at 77 ms)
        "#]],
    );
}
