//! Snapshots: during turns, and between two turns.

use crate::script::check;
use expect_test::expect;

/// Uncommitted work is saved at most half a minute after it was written.
#[test]
fn a_running_worker_is_snapshotted_every_half_minute() {
    check(
        "
            snapshots
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            tick +29s
            tick +1s
            tick +60s
            snapshot attempt-1 one
            tick +30s
            unchanged attempt-1
            tick +30s
            no-snapshot attempt-1 no room
            tick +30s
        ",
        &expect![[r#"
            > snapshots
            > tick +29s
              nothing
            > tick +1s
              => snapshot 1 of attempt-1
            > tick +60s
              nothing
            > snapshot attempt-1 one
              nothing
            > tick +30s
              => snapshot 2 of attempt-1 after one
            > unchanged attempt-1
              nothing
            > tick +30s
              => snapshot 2 of attempt-1 after one
            > no-snapshot attempt-1 no room
              nothing
            > tick +30s
              => snapshot 2 of attempt-1 after one
        "#]],
    );
}

#[test]
fn the_end_of_a_turn_is_saved_before_the_next_one() {
    check(
        "
            snapshots
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            turn worker-1 end_turn
            snapshot attempt-1 one
            tick +30s
            turn worker-1 end_turn
            snapshot attempt-1 two
        ",
        &expect![[r#"
            > snapshots
            > turn worker-1 end_turn
              => snapshot 1 of attempt-1
            > snapshot attempt-1 one
              => prompt worker-1 (reminder)
            > tick +30s
              => snapshot 2 of attempt-1 after one
            > turn worker-1 end_turn
              attempt-1 ended: failed (no completion: two turns ended without a report)
              worker-1 running -> failed (no completion: two turns ended without a report)
              => stop worker-1
              task-1 running -> pending (no completion: two turns ended without a report; again at 30077 ms)
            > snapshot attempt-1 two
              nothing
        "#]],
    );
}

#[test]
fn a_snapshot_from_before_the_end_of_a_turn_does_not_count() {
    check(
        "
            snapshots
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            tick +30s
            turn worker-1 end_turn
            snapshot attempt-1 one
            no-snapshot attempt-1 no room
        ",
        &expect![[r#"
            > snapshots
            > tick +30s
              => snapshot 1 of attempt-1
            > turn worker-1 end_turn
              nothing
            > snapshot attempt-1 one
              => snapshot 2 of attempt-1 after one
            > no-snapshot attempt-1 no room
              => prompt worker-1 (reminder)
        "#]],
    );
}

#[test]
fn an_answer_waits_for_the_snapshot_after_the_turn() {
    check(
        "
            snapshots
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ ask attempt-1 which?
            turn worker-1 end_turn
            answer request-1 that
            snapshot attempt-1 one
        ",
        &expect![[r#"
            > snapshots
            > turn worker-1 end_turn
              worker-1 running -> waiting_input (it asked a person)
              => snapshot 1 of attempt-1
            > answer request-1 that
              request-1 at_user -> answered (that)
            > snapshot attempt-1 one
              worker-1 waiting_input -> running (a slot is free)
              => prompt worker-1 (answer)
        "#]],
    );
}

/// The work is collected or saved right after.
#[test]
fn ended_attempts_are_not_snapshotted() {
    check(
        "
            snapshots
            ~ plan demo | a | b attempts=1
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ complete attempt-1 did it
            turn worker-1 end_turn
            exited worker-2 killed
            ~ saved attempt-2
            tick +60s
        ",
        &expect![[r#"
            > snapshots
            > turn worker-1 end_turn
              => stop worker-1
            > exited worker-2 killed
              worker-2 exited: signal 9
              attempt-2 ended: failed (the agent exited during its turn: signal 9)
              worker-2 running -> failed (the agent exited during its turn: signal 9)
              => save work of attempt-2
              task-2 running -> failed (the agent exited during its turn: signal 9)
            > tick +60s
              nothing
        "#]],
    );
}

/// The vault has what was lost with the checkout.
#[test]
fn an_attempt_without_saved_work_continues_from_its_last_snapshot() {
    check(
        "
            snapshots
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ tick +30s
            ~ snapshot attempt-1 one
            ~ tick +30s
            ~ snapshot attempt-1 two
            ~ exited worker-1 lost
            fail attempt-1 git the checkout is gone
            tick +1s
        ",
        &expect![[r#"
            > snapshots
            > fail attempt-1 git the checkout is gone
              nothing
            > tick +1s
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-2 opened: task-1 #2 from two, judged against base
              => prepare checkout attempt-2
        "#]],
    );
}

#[test]
fn the_saved_state_comes_before_the_last_snapshot() {
    check(
        "
            snapshots
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ tick +30s
            ~ snapshot attempt-1 one
            ~ exited worker-1 lost
            ~ saved attempt-1
            tick +1s
        ",
        &expect![[r#"
            > snapshots
            > tick +1s
              task-1 pending -> queued
              task-1 queued -> starting (a slot is free)
              attempt-2 opened: task-1 #2 from saved-1, judged against base
              => prepare checkout attempt-2
        "#]],
    );
}

#[test]
fn a_running_snapshot_does_not_delay_a_cancellation() {
    check(
        "
            snapshots
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ tick +30s
            cancel task-1
            no-snapshot attempt-1 the attempt is over
            stopped worker-1
            saved attempt-1
        ",
        &expect![[r#"
            > snapshots
            > cancel task-1
              attempt-1 ended: cancelled (cancelled by person)
              worker-1 running -> killed (cancelled by person)
              => stop worker-1
              task-1 running -> cancelled (cancelled by person)
              plan-1 active -> failed (0 of 1 tasks are completed)
            > no-snapshot attempt-1 the attempt is over
              nothing
            > stopped worker-1
              => save work of attempt-1
            > saved attempt-1
              nothing
        "#]],
    );
}

#[test]
fn every_saved_state_can_be_restored_by_number() {
    check(
        "
            snapshots
            ~ plan demo | a attempts=2
            ~ prepared plan-1
            restore task-2
            restore task-1
            ~ start task-1
            ~ tick +30s
            ~ snapshot attempt-1 one
            ~ tick +30s
            ~ snapshot attempt-1 two
            restore task-1 1
            ~ exited worker-1 killed
            ~ saved attempt-1
            ~ tick +1s
            ~ start task-1
            ~ cancel task-1
            ~ stopped worker-2
            ~ saved attempt-2
            restore task-1
            restore task-1 3
            restore task-1 5
            ~ abandon task-1
            restore task-1 2
        ",
        &expect![[r#"
            > snapshots
            > restore task-2
              rejected: there is no task-2; `pitcrew status --all` lists the tasks
            > restore task-1
              rejected: nothing of task-1 is kept yet: it has not changed anything
            > restore task-1 1
              => restore task-1 #1: one
            > restore task-1
              => restore task-1 #4: saved-2
            > restore task-1 3
              => restore task-1 #3: saved-1
            > restore task-1 5
              rejected: task-1 has no snapshot 5: there are 1 to 4; `pitcrew restore task-1 --list` shows them
            > restore task-1 2
              => restore task-1 #2: two
        "#]],
    );
}

/// Never before the work is final, and never the last state.
#[test]
fn snapshots_are_dropped_long_after_the_work_has_landed_or_was_abandoned() {
    check(
        "
            snapshots
            ~ plan demo | a | b attempts=1
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ tick +30s
            ~ snapshot attempt-1 one
            ~ snapshot attempt-2 two
            ~ tick +30s
            ~ snapshot attempt-1 three
            ~ snapshot attempt-2 four
            ~ finish task-1
            ~ collected attempt-1
            ~ verified attempt-1
            ~ integrated attempt-1
            ~ exited worker-2 killed
            ~ saved attempt-2
            ~ land plan-1
            ~ landed plan-1
            ~ removed attempt-1
            ~ gc
            tick +1209599s
            gc
            tick +1s
            gc
            dropped attempt-1
            restore task-1 1
            restore task-1 2
            abandon task-2
            gc
            tick +1209600s
            gc
        ",
        &expect![[r#"
            > snapshots
            > tick +1209599s
              nothing
            > gc
              nothing
            > tick +1s
              nothing
            > gc
              => drop snapshots of attempt-1
            > dropped attempt-1
              nothing
            > restore task-1 1
              rejected: snapshot 1 of task-1 was removed; `pitcrew restore task-1 --list` shows those that remain
            > restore task-1 2
              => restore task-1 #2: three
            > abandon task-2
              attempt-2 abandoned
              => remove checkout attempt-2
            > gc
              nothing
            > tick +1209600s
              nothing
            > gc
              => drop snapshots of attempt-2
        "#]],
    );
}

/// The clock of the next orchestrator may be behind: what is due at once does not wait for it.
#[test]
fn the_end_of_a_turn_is_saved_at_once_even_if_the_clock_was_set_back() {
    check(
        "
            snapshots
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ tick +30s
            turn worker-1 end_turn
            back -20s
            snapshot attempt-1 one
            snapshot attempt-1 two
        ",
        &expect![[r#"
            > snapshots
            > turn worker-1 end_turn
              nothing
            > back -20s
            > snapshot attempt-1 one
              => snapshot 2 of attempt-1 after one
            > snapshot attempt-1 two
              => prompt worker-1 (reminder)
        "#]],
    );
}
