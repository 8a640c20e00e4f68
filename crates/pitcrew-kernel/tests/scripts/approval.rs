//! Approvals.

use crate::script::check;
use expect_test::expect;

/// S0-057, S1-014: a rejected plan is cancelled, with its tasks.
#[test]
fn a_denied_plan_is_cancelled() {
    check(
        "
            ~ plan demo ask | a | b after a
            deny request-1 not now
            approve request-1
        ",
        &expect![[r#"
            > deny request-1 not now
              request-1 at_user -> denied (not now)
              plan-1 awaiting_approval -> cancelled (not now)
              task-1 pending -> cancelled (cancelled)
              task-2 pending -> cancelled (cancelled)
            > approve request-1
              rejected: request-1 is already denied; `pitcrew inbox` lists the open requests
        "#]],
    );
}

/// S0-010: only the approval starts a plan.
#[test]
fn a_retry_does_not_bypass_the_approval() {
    check(
        "
            ~ plan demo ask | a | b
            cancel task-1
            retry task-1
            approve request-1
        ",
        &expect![[r#"
            > cancel task-1
              task-1 pending -> cancelled (cancelled)
            > retry task-1
              task-1 is granted one more attempt
              task-1 cancelled -> pending (a person asked for a retry)
            > approve request-1
              request-1 at_user -> approved
              plan-1 awaiting_approval -> active (approved)
              => prepare plan-1
        "#]],
    );
}

#[test]
fn only_a_person_decides() {
    check(
        "
            ~ plan demo ask | a
            self-approve request-1
            self-answer request-1 yes
            answer request-1 yes
            approve request-7
        ",
        &expect![[r#"
            > self-approve request-1
              rejected: only a person may decide request-1
            > self-answer request-1 yes
              rejected: only a person may decide request-1
            > answer request-1 yes
              rejected: request-1 is not a question: use `pitcrew approve request-1` or `pitcrew deny request-1`
            > approve request-7
              rejected: there is no request-7; `pitcrew inbox` lists the open requests
        "#]],
    );
}
