//! Pausing and resuming plans.

use crate::script::check;
use expect_test::expect;

/// S1-011, S1-057, S1-058, S1-061: paused, interrupted, and back to running.
#[test]
fn a_pause_interrupts_the_turns_and_a_resume_continues_them() {
    check(
        "
            ~ slots 1
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ start task-1
            pause plan-1
            turn worker-1 cancelled
            tick +1s
            pause plan-1
            resume plan-1
            resume plan-1
        ",
        &expect![[r#"
            > pause plan-1
              plan-1 active -> paused
              worker-1 running -> paused (the plan is paused)
              => interrupt worker-1
            > turn worker-1 cancelled
              nothing
            > tick +1s
              nothing
            > pause plan-1
              rejected: plan-1 is paused; only an active plan can be paused
            > resume plan-1
              plan-1 paused -> active
              worker-1 paused -> running (a slot is free)
              => prompt worker-1 (resumed)
            > resume plan-1
              rejected: plan-1 is active; only a paused plan can be resumed
        "#]],
    );
}

/// We stopped an agent that ignored the interruption: in either order of the signals, the attempt
/// does not count.
#[test]
fn an_agent_that_a_pause_stops_is_retried() {
    check(
        "
            ~ plan demo | a attempts=1
            ~ prepared plan-1
            ~ start task-1
            ~ pause plan-1
            exited worker-1 killed
            fail-turn worker-1 exited
            saved attempt-1
            resume plan-1
        ",
        &expect![[r#"
            > exited worker-1 killed
              worker-1 exited: signal 9
              attempt-1 ended: failed (interrupted)
              worker-1 paused -> failed (interrupted)
              => save work of attempt-1
              task-1 running -> pending (interrupted; again at 77 ms)
            > fail-turn worker-1 exited
              nothing
            > saved attempt-1
              nothing
            > resume plan-1
              plan-1 paused -> active
        "#]],
    );
}

#[test]
fn a_resume_waits_for_the_end_of_the_interrupted_turn() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ pause plan-1
            resume plan-1
            turn worker-1 cancelled
        ",
        &expect![[r#"
            > resume plan-1
              plan-1 paused -> active
            > turn worker-1 cancelled
              worker-1 paused -> running (a slot is free)
              => prompt worker-1 (resumed)
        "#]],
    );
}

#[test]
fn a_worker_that_becomes_ready_in_a_pause_starts_after_it() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ pause plan-1
            checkout attempt-1
            ready worker-1
            resume plan-1
        ",
        &expect![[r#"
            > checkout attempt-1
              worker-1 created -> starting
              => start agent worker-1
            > ready worker-1
              worker-1 starting -> running
              task-1 starting -> running
              worker-1 running -> paused (the plan is paused)
            > resume plan-1
              plan-1 paused -> active
              worker-1 paused -> running (a slot is free)
              => prompt worker-1 (start)
        "#]],
    );
}

#[test]
fn a_question_asked_before_the_first_turn_does_not_replace_the_task() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ checkout attempt-1
            ~ pause plan-1
            ask attempt-1 which?
            ~ ready worker-1
            ~ answer request-1 this
            resume plan-1
            turn worker-1 end_turn
        ",
        &expect![[r#"
            > ask attempt-1 which?
              request-1: "which?"
            > resume plan-1
              plan-1 paused -> active
              worker-1 paused -> running (a slot is free)
              => prompt worker-1 (start)
            > turn worker-1 end_turn
              worker-1 running -> waiting_input (it asked a person)
              worker-1 waiting_input -> running (a slot is free)
              => prompt worker-1 (answer)
        "#]],
    );
}

#[test]
fn a_pause_before_the_plan_is_prepared_holds_everything() {
    check(
        "
            ~ plan demo | a
            pause plan-1
            prepared plan-1
            resume plan-1
        ",
        &expect![[r#"
            > pause plan-1
              plan-1 active -> paused
            > prepared plan-1
              nothing
            > resume plan-1
              plan-1 paused -> active
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-1 opened: task-1 #1 from base
              => prepare checkout attempt-1
        "#]],
    );
}

#[test]
fn verification_continues_in_a_pause() {
    check(
        "
            ~ plan demo | a | b after a
            ~ prepared plan-1
            ~ start task-1
            ~ finish task-1
            pause plan-1
            collected attempt-1
            verified attempt-1
            integrated attempt-1
            resume plan-1
        ",
        &expect![[r#"
            > pause plan-1
              plan-1 active -> paused
            > collected attempt-1
              => verify attempt-1: work-1 onto base
            > verified attempt-1
              task-1 verifying -> integrating
              => integrate attempt-1: base becomes merged-1
            > integrated attempt-1
              attempt-1 ended: success
              task-1 integrating -> completed
            > resume plan-1
              plan-1 paused -> active
              task-2 pending -> queued (dependencies are integrated)
              task-2 queued -> starting (a slot is free)
              attempt-2 opened: task-2 #1 from merged-1
              => prepare checkout attempt-2
        "#]],
    );
}

#[test]
fn a_worker_that_has_reported_completion_is_not_interrupted() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ complete attempt-1 did it
            pause plan-1
            turn worker-1 end_turn
        ",
        &expect![[r#"
            > pause plan-1
              plan-1 active -> paused
            > turn worker-1 end_turn
              => stop worker-1
        "#]],
    );
}

#[test]
fn an_answer_in_a_pause_is_kept() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ ask attempt-1 which?
            ~ turn worker-1 end_turn
            ~ pause plan-1
            answer request-1 this
            resume plan-1
        ",
        &expect![[r#"
            > answer request-1 this
              request-1 at_user -> answered (this)
            > resume plan-1
              plan-1 paused -> active
              worker-1 waiting_input -> running (a slot is free)
              => prompt worker-1 (answer)
        "#]],
    );
}

#[test]
fn a_call_that_is_approved_in_a_pause_is_answered_after_it() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ permit worker-1 execute make
            pause plan-1
            approve request-1
            resume plan-1
        ",
        &expect![[r#"
            > pause plan-1
              plan-1 active -> paused
            > approve request-1
              request-1 at_user -> approved
            > resume plan-1
              plan-1 paused -> active
              worker-1 waiting_permission -> running (a slot is free)
              => answer worker-1, call execute make: yes
        "#]],
    );
}

#[test]
fn the_last_task_may_end_in_a_pause() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ finish task-1
            ~ pause plan-1
            ~ collected attempt-1
            ~ verified attempt-1
            integrated attempt-1
        ",
        &expect![[r#"
            > integrated attempt-1
              attempt-1 ended: success
              task-1 integrating -> completed
              plan-1 paused -> completed (1 of 1 tasks are completed)
        "#]],
    );
}

#[test]
fn a_plan_that_does_not_run_is_not_paused() {
    check(
        "
            ~ plan demo ask | a
            pause plan-1
            resume plan-1
            pause plan-9
        ",
        &expect![[r#"
            > pause plan-1
              rejected: plan-1 is awaiting_approval; only an active plan can be paused
            > resume plan-1
              rejected: plan-1 is awaiting_approval; only a paused plan can be resumed
            > pause plan-9
              rejected: there is no plan-9; `pitcrew status --all` lists the plans
        "#]],
    );
}

/// A stopped base check has no result: it runs again after the resume, and nothing is verified
/// before.
#[test]
fn a_stopped_base_check_runs_again() {
    check(
        "
            ~ plan demo manual | a check=test
            prepared plan-1
            pause plan-1
            base-red plan-1 test
            resume plan-1
            base-red plan-1 test
        ",
        &expect![[r#"
            > prepared plan-1
              => check base of plan-1 at base [test]
            > pause plan-1
              plan-1 active -> paused
            > base-red plan-1 test
              nothing
            > resume plan-1
              plan-1 paused -> active
              => check base of plan-1 at base [test]
            > base-red plan-1 test
              nothing
        "#]],
    );
}

/// Even if it has not stopped when the plan is resumed, or the plan has ended meanwhile.
#[test]
fn a_base_check_that_is_being_stopped_runs_again() {
    check(
        "
            ~ plan demo manual | a check=test
            ~ prepared plan-1
            ~ pause plan-1
            resume plan-1
            base-red plan-1 test
            pause plan-1
            base-red plan-1 test
            cancel task-1
            retry task-1
        ",
        &expect![[r#"
            > resume plan-1
              plan-1 paused -> active
            > base-red plan-1 test
              => check base of plan-1 at base [test]
            > pause plan-1
              plan-1 active -> paused
            > base-red plan-1 test
              nothing
            > cancel task-1
              task-1 pending -> cancelled (cancelled)
              plan-1 paused -> failed (0 of 1 tasks are completed)
            > retry task-1
              plan-1 failed -> active (retry)
              => check base of plan-1 at base [test]
              task-1 is granted one more attempt
              task-1 cancelled -> pending (a person asked for a retry)
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-1 opened: task-1 #1 from base
              => prepare checkout attempt-1
        "#]],
    );
}
