//! Nothing starts with a weaker sandbox than required.

use crate::script::check;
use expect_test::expect;

#[test]
fn a_plan_is_rejected_if_the_required_tier_is_unavailable() {
    check(
        "
            sandbox T2 min=T3
            plan demo | a
            sandbox T3 min=T3
            ~ plan demo | a
            ~ prepared plan-1
        ",
        &expect![[r#"
            > sandbox T2 min=T3
              sandbox: T2 available
            > plan demo | a
              rejected: tier T3 is required, but this machine offers T2: no bubblewrap: install it
            > sandbox T3 min=T3
              sandbox: T3 available
        "#]],
    );
}

#[test]
fn without_a_sandbox_a_person_has_to_agree_once() {
    check(
        "
            sandbox T1
            plan demo | a
            client accept-tier T1
            accept-tier T1
            accept-tier T1
            ~ plan demo | a
            ~ prepared plan-1
            confined worker-1 T1
        ",
        &expect![[r#"
            > sandbox T1
              sandbox: T1 available
            > plan demo | a
              rejected: no OS sandbox is available (tier T1): no bubblewrap: install it; to run agents unconfined, agree once with `--accept-tier T1`
            > client accept-tier T1
              rejected: only a person may do this, not client
            > accept-tier T1
              T1 accepted
            > accept-tier T1
              nothing
            > confined worker-1 T1
              worker-1 confined by T1
        "#]],
    );
}

/// Landlock leaves root the modes of its files, so tier T2 is less for root than for other users.
#[test]
fn root_in_t2_has_to_agree_once() {
    check(
        "
            sandbox T2
            plan demo | a
            sandbox T2 root
            plan demo | b
            client accept-tier T2
            accept-tier T2
            ~ plan demo | b
            sandbox T1 root
            plan demo | c
        ",
        &expect![[r#"
            > sandbox T2
              sandbox: T2 available
            > plan demo | a
              plan-1 = demo
              task-1 = a
              plan-1 draft -> awaiting_approval
              plan-1 awaiting_approval -> active (approved with the command)
              => prepare plan-1
            > sandbox T2 root
              sandbox: T2 available
            > plan demo | b
              rejected: agents would run as root with Landlock and seccomp only (tier T2), which do not protect the modes and times of files of root: no bubblewrap: install it; run pitcrew as an ordinary user, or accept this once with `--accept-tier T2`
            > client accept-tier T2
              rejected: only a person may do this, not client
            > accept-tier T2
              T2 accepted
            > sandbox T1 root
              sandbox: T1 available
            > plan demo | c
              rejected: no OS sandbox is available (tier T1): no bubblewrap: install it; to run agents unconfined, agree once with `--accept-tier T1`
        "#]],
    );
}

#[test]
fn root_in_t3_needs_no_consent() {
    check(
        "
            sandbox T3 root
            ~ plan demo | a
            sandbox T2 root consent
            ~ plan demo | b
            ~ accept-tier T1
            sandbox T2 root
            ~ plan demo | c
        ",
        &expect![[r#"
            > sandbox T3 root
              sandbox: T3 available
            > sandbox T2 root consent
              sandbox: T2 available
            > sandbox T2 root
              sandbox: T2 available
        "#]],
    );
}

#[test]
fn the_settings_of_the_user_can_agree() {
    check(
        "
            sandbox T1 consent
            ~ plan demo | a
            prepared plan-1
        ",
        &expect![[r#"
            > sandbox T1 consent
              sandbox: T1 available
            > prepared plan-1
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-1 opened: task-1 #1 from base
              => prepare checkout attempt-1
        "#]],
    );
}

#[test]
fn waiting_tasks_fail_when_the_sandbox_is_lost_and_can_be_retried() {
    check(
        "
            ~ slots 1
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ start task-1
            ~ sandbox T1
            cancel task-1
            ~ accept-tier T1
            retry task-2
        ",
        &expect![[r#"
            > cancel task-1
              attempt-1 ended: cancelled (cancelled by person)
              worker-1 running -> killed (cancelled by person)
              => stop worker-1
              task-1 running -> cancelled (cancelled by person)
              task-2 queued -> failed (no OS sandbox is available (tier T1): no bubblewrap: install it; to run agents unconfined, agree once with `--accept-tier T1`)
              plan-1 active -> failed (0 of 2 tasks are completed)
            > retry task-2
              plan-1 failed -> active (retry)
              task-2 is granted one more attempt
              task-2 failed -> pending (a person asked for a retry)
              task-2 pending -> queued
              task-2 queued -> starting (a slot is free)
              attempt-2 opened: task-2 #1 from base
              => prepare checkout attempt-2
        "#]],
    );
}

/// After a restart the machine offers a weaker sandbox: neither preparing nor starting attempts
/// begin in it.
#[test]
fn starting_attempts_do_not_begin_in_a_weaker_sandbox() {
    check(
        "
            ~ sandbox T3
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ checkout attempt-1
            sandbox T1
            stopped worker-1
            checkout attempt-2
        ",
        &expect![[r#"
            > sandbox T1
              sandbox: T1 available
              attempt-1 ended: failed (no OS sandbox is available (tier T1): no bubblewrap: install it; to run agents unconfined, agree once with `--accept-tier T1`)
              worker-1 starting -> failed (no OS sandbox is available (tier T1): no bubblewrap: install it; to run agents unconfined, agree once with `--accept-tier T1`)
              => stop worker-1
              task-1 starting -> failed (no OS sandbox is available (tier T1): no bubblewrap: install it; to run agents unconfined, agree once with `--accept-tier T1`)
            > stopped worker-1
              => save work of attempt-1
            > checkout attempt-2
              attempt-2 ended: failed (no OS sandbox is available (tier T1): no bubblewrap: install it; to run agents unconfined, agree once with `--accept-tier T1`)
              worker-2 created -> failed (no OS sandbox is available (tier T1): no bubblewrap: install it; to run agents unconfined, agree once with `--accept-tier T1`)
              task-2 starting -> failed (no OS sandbox is available (tier T1): no bubblewrap: install it; to run agents unconfined, agree once with `--accept-tier T1`)
              plan-1 active -> failed (0 of 2 tasks are completed)
        "#]],
    );
}
