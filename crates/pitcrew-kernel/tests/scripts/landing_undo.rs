//! Landings that wait for a signature, that are merged by hand, and that are undone.

use crate::script::check;
use expect_test::expect;

#[test]
fn an_approved_landing_waits_for_the_signature_of_a_person() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ work task-1
            ~ land plan-1 ask
            ~ approve request-1
            unsigned plan-1
            retry task-1
            land plan-1 signed abc
            unsigned plan-1
            land plan-1 signed def
            landed plan-1
        ",
        &expect![[r#"
            > unsigned plan-1
              plan-1 landing merging -> signing
            > retry task-1
              rejected: task-1 cannot be retried: it is completed; it has nothing left to do
            > land plan-1 signed abc
              plan-1 is landed as Merge, signed as abc
              plan-1 landing signing -> merging
              => land plan-1: merged-1, signed as abc
            > unsigned plan-1
              plan-1 landing merging -> signing
            > land plan-1 signed def
              plan-1 is landed as Merge, signed as def
              plan-1 landing signing -> merging
              => land plan-1: merged-1, signed as def
            > landed plan-1
              plan-1 landing merging -> merged
              => remove checkout attempt-1
        "#]],
    );
}

#[test]
fn a_landing_that_waits_for_a_signature_can_be_abandoned_and_landed() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ work task-1
            ~ land plan-1
            ~ unsigned plan-1
            abandon plan-1
            land plan-1 no-verify
        ",
        &expect![[r#"
            > abandon plan-1
              plan-1 landing signing -> abandoned
            > land plan-1 no-verify
              plan-1 is landed as Merge, without hooks
              plan-1 landing abandoned -> merging
              => land plan-1: merged-1
        "#]],
    );
}

#[test]
fn a_result_that_was_merged_by_hand_has_landed() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ work task-1
            ~ land plan-1
            landed plan-1 uncommitted changes
            merged-by-hand plan-1 another
            merged-by-hand plan-1 landed
            merged-by-hand plan-1 landed
            removed attempt-1
            undo-land plan-1
        ",
        &expect![[r#"
            > landed plan-1 uncommitted changes
              plan-1 landing merging -> side_branch (uncommitted changes)
              => remove checkout attempt-1
            > merged-by-hand plan-1 another
              nothing
            > merged-by-hand plan-1 landed
              main contains the result of plan-1
              plan-1 landing side_branch -> merged (it was merged by hand)
            > merged-by-hand plan-1 landed
              nothing
            > removed attempt-1
              plan-1 landing merged -> cleaned (the checkouts are removed)
            > undo-land plan-1
              plan-1 landing cleaned -> undoing
              => undo landing plan-1: main from landed to base
        "#]],
    );
}

#[test]
fn an_undone_landing_can_be_landed_again() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ work task-1
            undo-land plan-1
            ~ land plan-1
            ~ landed plan-1
            undo-land plan-1
            undo-land plan-1
            land plan-1
            abandon plan-1
            undone plan-1
            removed attempt-1
            land plan-1 ask
            approve request-1
        ",
        &expect![[r#"
            > undo-land plan-1
              rejected: plan-1 has not landed
            > undo-land plan-1
              plan-1 landing merged -> undoing
              => undo landing plan-1: main from landed to base
            > undo-land plan-1
              rejected: plan-1 is being removed from the branch; try again in a moment
            > land plan-1
              rejected: plan-1 is being removed from the branch; try again in a moment
            > abandon plan-1
              rejected: plan-1 is being removed from the branch; try again in a moment
            > undone plan-1
              plan-1 landing undoing -> undone
            > removed attempt-1
              nothing
            > land plan-1 ask
              plan-1 landing undone -> review
              request-1: may it be merged?
            > approve request-1
              request-1 at_user -> approved
              plan-1 landing review -> merging
              => land plan-1: merged-1
        "#]],
    );
}

#[test]
fn a_landing_that_could_not_be_undone_stays() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ work task-1
            ~ land plan-1
            ~ landed plan-1
            ~ removed attempt-1
            undo-land plan-1
            undo-unsigned plan-1
            undo-land plan-1 signed abc
            not-undone plan-1 git it has uncommitted changes
        ",
        &expect![[r#"
            > undo-land plan-1
              plan-1 landing cleaned -> undoing
              => undo landing plan-1: main from landed to base
            > undo-unsigned plan-1
              plan-1 landing undoing -> merged
              plan-1 landing merged -> cleaned (the checkouts are removed)
            > undo-land plan-1 signed abc
              plan-1 is landed as Merge, signed as abc
              plan-1 landing cleaned -> undoing
              => undo landing plan-1: main from landed to base, signed as abc
            > not-undone plan-1 git it has uncommitted changes
              plan-1 landing undoing -> merged (git: it has uncommitted changes)
              plan-1 landing merged -> cleaned (the checkouts are removed)
        "#]],
    );
}

#[test]
fn only_a_person_undoes_a_landing() {
    check(
        "
            ~ plan demo | a | b attempts=1
            ~ prepared plan-1
            ~ work task-1
            ~ start task-2
            self-undo plan-1
            matrix deny=branch_merge
            ~ exited worker-2
            ~ saved attempt-2
            land plan-1
        ",
        &expect![[r#"
            > self-undo plan-1
              rejected: only a person may do this, not worker-1
            > matrix deny=branch_merge
              matrix: 6 approved, 10 asked, 4 denied
            > land plan-1
              rejected: branch_merge is denied by permissions.md:5; who wants to allow it changes that line and runs `pitcrew stop`, after which the files are read anew
        "#]],
    );
}
