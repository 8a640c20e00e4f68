//! Landing integrated work, and removing what is no longer needed.

use crate::script::check;
use expect_test::expect;

#[test]
fn landing_is_requested_approved_and_cleaned_up() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            land plan-1 ask
            ~ work task-1
            land plan-1 ask
            land plan-1 ask
            approve request-1
            land plan-1
            landed plan-1
            removed attempt-1
            land plan-1
        ",
        &expect![[r#"
            > land plan-1 ask
              rejected: plan-1 is active; a plan can be landed when all tasks have ended and at least one is completed
            > land plan-1 ask
              plan-1 landing none -> review
              request-1: may it be merged?
            > land plan-1 ask
              rejected: plan-1 is waiting for your approval to land: `pitcrew approve plan-1`
            > approve request-1
              request-1 at_user -> approved
              plan-1 landing review -> merging
              => land plan-1: merged-1
            > land plan-1
              rejected: plan-1 is being landed; try again in a moment
            > landed plan-1
              plan-1 landing merging -> merged
              => remove checkout attempt-1
            > removed attempt-1
              plan-1 landing merged -> cleaned (the checkouts are removed)
            > land plan-1
              rejected: plan-1 has already landed
        "#]],
    );
}

#[test]
fn a_denied_landing_can_be_requested_again() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ work task-1
            ~ land plan-1 ask
            deny request-1 not yet
            land plan-1 ask
            land plan-1
        ",
        &expect![[r#"
            > deny request-1 not yet
              request-1 at_user -> denied (not yet)
              plan-1 landing review -> none (not yet)
            > land plan-1 ask
              plan-1 landing none -> review
              request-2: may it be merged?
            > land plan-1
              request-2 at_user -> approved
              plan-1 landing review -> merging
              => land plan-1: merged-1
        "#]],
    );
}

#[test]
fn a_landing_that_conflicts_is_retried() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ work task-1
            ~ land plan-1
            not-landed plan-1 conflict src/a
            land plan-1 ask
            not-landed plan-1 git the disk is full
            land plan-1
        ",
        &expect![[r#"
            > not-landed plan-1 conflict src/a
              plan-1 landing merging -> conflict (conflict in src/a)
            > land plan-1 ask
              plan-1 landing conflict -> merging
              => land plan-1: merged-1
            > not-landed plan-1 git the disk is full
              plan-1 landing merging -> none (git: the disk is full)
            > land plan-1
              plan-1 landing none -> merging
              => land plan-1: merged-1
        "#]],
    );
}

#[test]
fn a_partial_plan_lands_what_is_completed() {
    check(
        "
            ~ plan demo | a check=one | b attempts=1 check=two
            ~ prepared plan-1
            ~ work task-1
            ~ fail attempt-2 git x
            land plan-1
            landed plan-1
        ",
        &expect![[r#"
            > land plan-1
              plan-1 landing none -> merging
              => land plan-1: merged-1 [one]
            > landed plan-1
              plan-1 landing merging -> merged
              => remove checkout attempt-1
        "#]],
    );
}

#[test]
fn a_plan_with_nothing_completed_is_not_landed() {
    check(
        "
            ~ plan demo | a attempts=1
            ~ prepared plan-1
            ~ fail attempt-1 git x
            land plan-1
        ",
        &expect![[r#"
            > land plan-1
              rejected: plan-1 is failed; a plan can be landed when all tasks have ended and at least one is completed
        "#]],
    );
}

#[test]
fn a_retry_withdraws_the_landing() {
    check(
        "
            ~ plan demo | a | b attempts=1
            ~ prepared plan-1
            ~ work task-1
            ~ fail attempt-2 git x
            ~ land plan-1 ask
            retry task-2
            approve request-1
        ",
        &expect![[r#"
            > retry task-2
              request-1 at_user -> withdrawn
              plan-1 landing review -> none (retry)
              plan-1 partial -> active (retry)
              task-2 is granted one more attempt
              task-2 failed -> pending (a person asked for a retry)
              task-2 pending -> queued
              task-2 queued -> starting (a slot is free)
              attempt-3 opened: task-2 #2 from merged-1
              => prepare checkout attempt-3
            > approve request-1
              rejected: request-1 is withdrawn: it is no longer needed; `pitcrew inbox` lists the open requests
        "#]],
    );
}

#[test]
fn nothing_is_retried_in_the_middle_of_a_landing() {
    check(
        "
            ~ plan demo | a | b attempts=1
            ~ prepared plan-1
            ~ work task-1
            ~ fail attempt-2 git x
            ~ land plan-1
            retry task-2
        ",
        &expect![[r#"
            > retry task-2
              rejected: plan-1 is being landed; try again in a moment
        "#]],
    );
}

#[test]
fn a_cancelled_plan_leaves_no_review() {
    check(
        "
            ~ plan demo | a | b attempts=1
            ~ prepared plan-1
            ~ work task-1
            ~ fail attempt-2 git x
            ~ land plan-1 ask
            cancel plan-1
        ",
        &expect![[r#"
            > cancel plan-1
              request-1 at_user -> withdrawn
              plan-1 landing review -> none (cancelled)
              plan-1 partial -> cancelled (cancelled)
        "#]],
    );
}

#[test]
fn a_checkout_that_is_in_use_is_kept() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ work task-1
            ~ land plan-1
            ~ landed plan-1
            kept attempt-1 a shell is in it
            gc
            removed attempt-1
            gc
        ",
        &expect![[r#"
            > kept attempt-1 a shell is in it
              plan-1 landing merged -> cleaned (1 checkouts could not be removed; see `pitcrew gc`)
            > gc
              => remove checkout attempt-1
              => tidy the vault
            > removed attempt-1
              nothing
            > gc
              nothing
        "#]],
    );
}

#[test]
fn abandoned_work_may_be_removed() {
    check(
        "
            ~ plan demo | a attempts=1
            ~ prepared plan-1
            ~ start task-1
            abandon task-1
            ~ exited worker-1
            abandon task-1
            ~ saved attempt-1
            gc
            abandon task-1
            removed attempt-1
            abandon task-1
        ",
        &expect![[r#"
            > abandon task-1
              rejected: task-1 is running; only a task that ended without completion can be abandoned
            > abandon task-1
              rejected: the work of the last attempt of task-1 is still being saved; try again in a moment
            > gc
              => tidy the vault
            > abandon task-1
              attempt-1 abandoned
              => remove checkout attempt-1
            > removed attempt-1
              nothing
            > abandon task-1
              nothing
        "#]],
    );
}

#[test]
fn an_abandoned_plan_can_still_be_landed() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            abandon plan-1
            ~ work task-1
            ~ land plan-1 ask
            abandon plan-1
            abandon plan-1
            land plan-1
            abandon plan-1
        ",
        &expect![[r#"
            > abandon plan-1
              nothing
            > abandon plan-1
              request-1 at_user -> withdrawn
              plan-1 landing review -> abandoned
            > abandon plan-1
              nothing
            > land plan-1
              plan-1 landing abandoned -> merging
              => land plan-1: merged-1
            > abandon plan-1
              rejected: plan-1 is being landed; try again in a moment
        "#]],
    );
}

#[test]
fn abandoning_a_plan_keeps_completed_work() {
    check(
        "
            ~ plan demo | a | b attempts=1
            ~ prepared plan-1
            ~ work task-1
            ~ start task-2
            ~ exited worker-2
            ~ saved attempt-2
            abandon plan-1
            gc
        ",
        &expect![[r#"
            > abandon plan-1
              plan-1 landing none -> abandoned
              attempt-2 abandoned
              => remove checkout attempt-2
            > gc
              => remove checkout attempt-1
              => tidy the vault
        "#]],
    );
}

/// S0-054, S0-060: partial is a state of its own.
#[test]
fn a_person_accepts_partial_work() {
    check(
        "
            ~ plan demo | a check=make
            ~ prepared plan-1
            ~ start task-1
            ~ complete attempt-1 partial half of it
            ~ turn worker-1 end_turn
            ~ stopped worker-1
            collected attempt-1
            accept task-1
            verified attempt-1
            integrated attempt-1
            accept task-1
        ",
        &expect![[r#"
            > collected attempt-1
              attempt-1 ended: partial
              task-1 verifying -> partial
              plan-1 active -> partial (0 of 1 tasks are completed)
            > accept task-1
              plan-1 partial -> active (a partial task is accepted)
              task-1 partial -> integrating (a person accepted it as it is)
              => verify attempt-1: work-1 onto base
            > verified attempt-1
              => integrate attempt-1: base becomes merged-1
            > integrated attempt-1
              task-1 integrating -> completed
              plan-1 active -> completed (1 of 1 tasks are completed)
            > accept task-1
              rejected: task-1 is completed and cannot become integrating; see `pitcrew status`
        "#]],
    );
}

#[test]
fn partial_work_that_does_not_merge_fails() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ complete attempt-1 partial half of it
            ~ turn worker-1 end_turn
            ~ stopped worker-1
            ~ collected attempt-1
            ~ accept task-1
            fail attempt-1 conflict src/a
        ",
        &expect![[r#"
            > fail attempt-1 conflict src/a
              task-1 integrating -> failed (conflict in src/a)
              plan-1 active -> failed (0 of 1 tasks are completed)
        "#]],
    );
}

/// S0-068: partial tasks are retried too.
#[test]
fn partial_work_can_be_retried() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ complete attempt-1 partial half of it
            ~ turn worker-1 end_turn
            ~ stopped worker-1
            ~ collected attempt-1
            retry task-1
        ",
        &expect![[r#"
            > retry task-1
              plan-1 partial -> active (retry)
              task-1 is granted one more attempt
              task-1 partial -> pending (a person asked for a retry)
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-2 opened: task-1 #2 from work-1, judged against base
              => prepare checkout attempt-2
        "#]],
    );
}

#[test]
fn accepting_withdraws_the_landing() {
    check(
        "
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ work task-1
            ~ start task-2
            ~ complete attempt-2 partial half of it
            ~ turn worker-2 end_turn
            ~ stopped worker-2
            ~ collected attempt-2
            ~ land plan-1 ask
            accept task-2
        ",
        &expect![[r#"
            > accept task-2
              request-1 at_user -> withdrawn
              plan-1 landing review -> none (a partial task is accepted)
              plan-1 partial -> active (a partial task is accepted)
              task-2 partial -> integrating (a person accepted it as it is)
              => verify attempt-2: work-2 onto merged-1
        "#]],
    );
}
