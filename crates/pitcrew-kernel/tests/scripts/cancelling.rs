//! Cancelling, from every state, and what remains.

use crate::script::check;
use expect_test::expect;

/// S0-132, S1-014: pending and queued.
#[test]
fn a_waiting_task_is_cancelled_at_once() {
    check(
        "
            ~ slots 1
            ~ plan demo | a | b | c after a
            ~ prepared plan-1
            cancel task-2
            cancel task-3
            cancel task-2
        ",
        &expect![[r#"
            > cancel task-2
              task-2 queued -> cancelled (cancelled)
            > cancel task-3
              task-3 pending -> cancelled (cancelled)
            > cancel task-2
              rejected: task-2 is already cancelled; `pitcrew retry task-2` starts it again
        "#]],
    );
}

/// S0-132: while spawning.
#[test]
fn cancel_while_the_checkout_is_made() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            cancel task-1
            checkout attempt-1
            retry task-1
        ",
        &expect![[r#"
            > cancel task-1
              attempt-1 ended: cancelled (cancelled by person)
              worker-1 created -> killed (cancelled by person)
              task-1 starting -> cancelled (cancelled by person)
              plan-1 active -> failed (0 of 1 tasks are completed)
            > checkout attempt-1
              nothing
            > retry task-1
              plan-1 failed -> active (retry)
              task-1 is granted one more attempt
              task-1 cancelled -> pending (a person asked for a retry)
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-2 opened: task-1 #2 from base
              => prepare checkout attempt-2
        "#]],
    );
}

/// S0-132: while spawning.
#[test]
fn cancel_while_the_agent_starts() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ checkout attempt-1
            cancel task-1
            ready worker-1
            stopped worker-1
            saved attempt-1
        ",
        &expect![[r#"
            > cancel task-1
              attempt-1 ended: cancelled (cancelled by person)
              worker-1 starting -> killed (cancelled by person)
              => stop worker-1
              task-1 starting -> cancelled (cancelled by person)
              plan-1 active -> failed (0 of 1 tasks are completed)
            > ready worker-1
              nothing
            > stopped worker-1
              => save work of attempt-1
            > saved attempt-1
              nothing
        "#]],
    );
}

/// S0-132: while running. Dependents are blocked, and the work is saved.
#[test]
fn cancel_while_it_runs() {
    check(
        "
            ~ plan demo | a | b after a
            ~ prepared plan-1
            ~ start task-1
            cancel task-1
            turn worker-1 cancelled
            stopped worker-1
            saved attempt-1
        ",
        &expect![[r#"
            > cancel task-1
              attempt-1 ended: cancelled (cancelled by person)
              worker-1 running -> killed (cancelled by person)
              => stop worker-1
              task-1 running -> cancelled (cancelled by person)
              task-2 pending -> blocked (task-1 is cancelled)
              plan-1 active -> failed (0 of 2 tasks are completed)
            > turn worker-1 cancelled
              nothing
            > stopped worker-1
              => save work of attempt-1
            > saved attempt-1
              nothing
        "#]],
    );
}

#[test]
fn cancel_while_it_waits_for_an_answer() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ ask attempt-1 which?
            ~ turn worker-1 end_turn
            cancel task-1
            answer request-1 this
        ",
        &expect![[r#"
            > cancel task-1
              attempt-1 ended: cancelled (cancelled by person)
              request-1 at_user -> withdrawn
              worker-1 waiting_input -> killed (cancelled by person)
              => stop worker-1
              task-1 running -> cancelled (cancelled by person)
              plan-1 active -> failed (0 of 1 tasks are completed)
            > answer request-1 this
              rejected: request-1 is withdrawn: it is no longer needed; `pitcrew inbox` lists the open requests
        "#]],
    );
}

#[test]
fn cancel_while_it_stops() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ complete attempt-1 did it
            ~ turn worker-1 end_turn
            cancel task-1
            stopped worker-1
            saved attempt-1
        ",
        &expect![[r#"
            > cancel task-1
              attempt-1 ended: cancelled (cancelled by person)
              worker-1 running -> killed (cancelled by person)
              task-1 running -> cancelled (cancelled by person)
              plan-1 active -> failed (0 of 1 tasks are completed)
            > stopped worker-1
              => save work of attempt-1
            > saved attempt-1
              nothing
        "#]],
    );
}

#[test]
fn cancel_while_its_work_is_collected() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ finish task-1
            cancel task-1
            saved attempt-1
        ",
        &expect![[r#"
            > cancel task-1
              attempt-1 ended: cancelled (cancelled by person)
              => save work of attempt-1
              task-1 verifying -> cancelled (cancelled by person)
              plan-1 active -> failed (0 of 1 tasks are completed)
            > saved attempt-1
              nothing
        "#]],
    );
}

#[test]
fn cancel_while_it_is_verified_lets_the_next_one_in() {
    check(
        "
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ start task-1
            ~ finish task-1
            ~ start task-2
            ~ finish task-2
            collected attempt-1
            collected attempt-2
            cancel task-1
            verified attempt-1
        ",
        &expect![[r#"
            > collected attempt-1
              => verify attempt-1: work-1 onto base
            > collected attempt-2
              nothing
            > cancel task-1
              attempt-1 ended: cancelled (cancelled by person)
              task-1 verifying -> cancelled (cancelled by person)
            > verified attempt-1
              => verify attempt-2: work-2 onto base
        "#]],
    );
}

#[test]
fn cancel_while_it_waits_to_be_verified() {
    check(
        "
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ start task-1
            ~ finish task-1
            ~ start task-2
            ~ finish task-2
            ~ collected attempt-1
            ~ collected attempt-2
            cancel task-2
            ~ verified attempt-1
            integrated attempt-1
        ",
        &expect![[r#"
            > cancel task-2
              attempt-2 ended: cancelled (cancelled by person)
              task-2 verifying -> cancelled (cancelled by person)
            > integrated attempt-1
              attempt-1 ended: success
              task-1 integrating -> completed
              plan-1 active -> partial (1 of 2 tasks are completed)
        "#]],
    );
}

#[test]
fn a_task_that_is_being_integrated_is_not_cancelled() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ finish task-1
            ~ collected attempt-1
            ~ verified attempt-1
            cancel task-1
            cancel plan-1
            integrated attempt-1
        ",
        &expect![[r#"
            > cancel task-1
              rejected: task-1 is being integrated and can no longer be cancelled
            > cancel plan-1
              plan-1 active -> cancelled (cancelled)
            > integrated attempt-1
              attempt-1 ended: success
              task-1 integrating -> completed
        "#]],
    );
}

/// Even though its task is integrating again when the old result comes.
#[test]
fn a_cancelled_attempt_is_never_integrated() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ finish task-1
            ~ collected attempt-1
            cancel task-1
            ~ retry task-1
            ~ start task-1
            ~ complete attempt-2 partial half of it
            ~ turn worker-2 end_turn
            ~ stopped worker-2
            ~ collected attempt-2
            accept task-1
            verified attempt-1
            verified attempt-2
        ",
        &expect![[r#"
            > cancel task-1
              attempt-1 ended: cancelled (cancelled by person)
              task-1 verifying -> cancelled (cancelled by person)
              plan-1 active -> failed (0 of 1 tasks are completed)
            > accept task-1
              plan-1 partial -> active (a partial task is accepted)
              task-1 partial -> integrating (a person accepted it as it is)
            > verified attempt-1
              => verify attempt-2: work-2 onto base
            > verified attempt-2
              => integrate attempt-2: base becomes merged-2
        "#]],
    );
}

/// S0-071: completed is final.
#[test]
fn a_completed_task_is_not_cancelled() {
    check(
        "
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ work task-1
            cancel task-1
            cancel task-9
        ",
        &expect![[r#"
            > cancel task-1
              rejected: task-1 is completed and integrated and cannot be cancelled
            > cancel task-9
              rejected: there is no task-9; `pitcrew status --all` lists the tasks
        "#]],
    );
}

#[test]
fn a_failed_task_can_still_be_cancelled() {
    check(
        "
            ~ plan demo | a attempts=1 | b after a | c
            ~ prepared plan-1
            ~ fail attempt-1 git x
            ~ start task-3
            ~ complete attempt-2 partial half of it
            ~ turn worker-2 end_turn
            ~ stopped worker-2
            collected attempt-2
            cancel task-1
            cancel task-2
            cancel task-3
        ",
        &expect![[r#"
            > collected attempt-2
              attempt-2 ended: partial
              task-3 verifying -> partial
              plan-1 active -> partial (0 of 3 tasks are completed)
            > cancel task-1
              task-1 failed -> cancelled (cancelled)
            > cancel task-2
              task-2 blocked -> cancelled (cancelled)
            > cancel task-3
              task-3 partial -> cancelled (cancelled)
        "#]],
    );
}

/// S0-132, S1-014: all states at once; completed tasks stay.
#[test]
fn cancelling_a_plan_cancels_all_its_tasks() {
    check(
        "
            ~ plan demo | a | b | c after a | d
            ~ prepared plan-1
            ~ start task-1
            ~ checkout attempt-2
            ~ work task-4
            cancel plan-1
            stopped worker-1
            cancel plan-1
            retry task-1
        ",
        &expect![[r#"
            > cancel plan-1
              plan-1 active -> cancelled (cancelled)
              attempt-1 ended: cancelled (cancelled by person)
              worker-1 running -> killed (cancelled by person)
              => stop worker-1
              task-1 running -> cancelled (cancelled by person)
              attempt-2 ended: cancelled (cancelled by person)
              worker-2 starting -> killed (cancelled by person)
              => stop worker-2
              task-2 starting -> cancelled (cancelled by person)
              task-3 pending -> cancelled (cancelled)
            > stopped worker-1
              => save work of attempt-1
            > cancel plan-1
              rejected: plan-1 is already cancelled; to start over, run its file again
            > retry task-1
              rejected: the work of the last attempt of task-1 is still being saved; try again in a moment
        "#]],
    );
}

#[test]
fn a_plan_is_cancelled_before_it_runs() {
    check(
        "
            ~ plan demo ask | a
            cancel plan-1
            approve request-1
        ",
        &expect![[r#"
            > cancel plan-1
              request-1 at_user -> withdrawn
              plan-1 awaiting_approval -> cancelled (cancelled)
              task-1 pending -> cancelled (cancelled)
            > approve request-1
              rejected: request-1 is withdrawn: it is no longer needed; `pitcrew inbox` lists the open requests
        "#]],
    );
}

#[test]
fn a_plan_is_cancelled_while_it_is_prepared() {
    check(
        "
            ~ plan demo | a check=make
            cancel plan-1
            prepared plan-1
        ",
        &expect![[r#"
            > cancel plan-1
              plan-1 active -> cancelled (cancelled)
              task-1 pending -> cancelled (cancelled)
            > prepared plan-1
              nothing
        "#]],
    );
}

#[test]
fn a_paused_plan_is_cancelled() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ pause plan-1
            cancel plan-1
        ",
        &expect![[r#"
            > cancel plan-1
              plan-1 paused -> cancelled (cancelled)
              attempt-1 ended: cancelled (cancelled by person)
              worker-1 paused -> killed (cancelled by person)
              => stop worker-1
              task-1 running -> cancelled (cancelled by person)
        "#]],
    );
}

#[test]
fn results_count_once() {
    check(
        "
            ~ plan demo | a
            prepared plan-1
            repeat
            checkout attempt-1
            repeat
        ",
        &expect![[r#"
            > prepared plan-1
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-1 opened: task-1 #1 from base
              => prepare checkout attempt-1
            > repeat
              rejected: effect-5 is not open: it already has a result
            > checkout attempt-1
              worker-1 created -> starting
              => start agent worker-1
            > repeat
              rejected: effect-9 is not open: it already has a result
        "#]],
    );
}
