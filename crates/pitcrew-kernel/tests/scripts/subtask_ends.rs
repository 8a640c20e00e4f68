//! Starts and ends of sub-tasks, and their results.

use crate::script::check;
use expect_test::expect;

/// S4-125: the end of a parent ends its sub-tasks at every depth.
#[test]
fn a_cancelled_parent_leaves_no_running_child() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 wait=60s | look
            ~ start subtask-2
            ~ spawn attempt-2 wait=60s | deeper

            ~ start subtask-3
            cancel task-1
            ~ stopped worker-1
            ~ saved attempt-1
            stopped worker-2
            stopped worker-3
            retry subtask-2
            show
        ",
        &expect![[r#"
            > cancel task-1
              attempt-1 ended: cancelled (cancelled by person)
              worker-1 waiting_subtasks -> killed (cancelled by person)
              => stop worker-1
              task-1 running -> cancelled (cancelled by person)
              attempt-2 ended: cancelled (cancelled by the end of its parent)
              worker-2 waiting_subtasks -> killed (cancelled by the end of its parent)
              => stop worker-2
              task-2 running -> cancelled (cancelled by the end of its parent)
              attempt-3 ended: cancelled (cancelled by the end of its parent)
              worker-3 running -> killed (cancelled by the end of its parent)
              => stop worker-3
              task-3 running -> cancelled (cancelled by the end of its parent)
              worker-1 is answered: its turn has ended
              worker-2 is answered: its turn has ended
              plan-1 active -> failed (0 of 1 tasks are completed)
            > stopped worker-2
              nothing
            > stopped worker-3
              nothing
            > retry subtask-2
              rejected: subtask-2 cannot continue: its parent has ended
            > show
              plan-1 failed | task-1 cancelled, task-2 cancelled, task-3 cancelled
        "#]],
    );
}

/// A checkout that is created after the end of its sub-task is removed.
#[test]
fn a_late_checkout_of_a_sub_task_is_removed() {
    check(
        "
            ~ plan demo | a attempts=2
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 wait=60s | make isolated
            ~ exited worker-1 killed
            checkout attempt-2
            gc
        ",
        &expect![[r#"
            > checkout attempt-2
              nothing
            > gc
              => remove checkout attempt-2
              => tidy the vault
        "#]],
    );
}

/// S4-125: even if its agent exits during a wait.
#[test]
fn a_parent_that_exits_ends_its_children() {
    check(
        "
            ~ plan demo | a attempts=2
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 wait=60s | look | later
            ~ start subtask-2
            exited worker-1 killed
        ",
        &expect![[r#"
            > exited worker-1 killed
              worker-1 exited: signal 9
              attempt-1 ended: failed (the agent exited during its turn: signal 9)
              worker-1 waiting_subtasks -> failed (the agent exited during its turn: signal 9)
              => save work of attempt-1
              task-1 running -> pending (the agent exited during its turn: signal 9; again at 77 ms)
              attempt-2 ended: cancelled (cancelled by the end of its parent)
              worker-2 running -> killed (cancelled by the end of its parent)
              => stop worker-2
              task-2 running -> cancelled (cancelled by the end of its parent)
              attempt-3 ended: cancelled (cancelled by the end of its parent)
              worker-3 created -> killed (cancelled by the end of its parent)
              task-3 starting -> cancelled (cancelled by the end of its parent)
              group 2: subtask-2 has failed
              group 2: subtask-3 has failed
              worker-1 is answered: its turn has ended
        "#]],
    );
}

/// A worker cannot report success while its sub-tasks run.
#[test]
fn success_is_rejected_while_children_run() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 | look
            complete attempt-1 all done
            complete attempt-1 failed it cannot be done
            turn worker-1 end_turn
            spawn attempt-1 | more
        ",
        &expect![[r#"
            > complete attempt-1 all done
              rejected: your sub-tasks have not ended: subtask-2; wait with `a2a_await_subtasks`, or cancel them, then report again
            > complete attempt-1 failed it cannot be done
              attempt-1 claims failed: it cannot be done
            > turn worker-1 end_turn
              attempt-1 ended: failed (the agent gave up: it cannot be done)
              worker-1 running -> failed (the agent gave up: it cannot be done)
              => stop worker-1
              task-1 running -> pending (the agent gave up: it cannot be done; again at 77 ms)
              attempt-2 ended: cancelled (cancelled by the end of its parent)
              worker-2 created -> killed (cancelled by the end of its parent)
              task-2 starting -> cancelled (cancelled by the end of its parent)
            > spawn attempt-1 | more
              rejected: attempt-1 has ended: its task continued without it
        "#]],
    );
}

/// S1-036: a sub-task starts from its parent's work at the time of its creation.
#[test]
fn a_child_starts_from_a_snapshot_of_its_parent() {
    check(
        "
            snapshots
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            tick +30s
            spawn attempt-1 | write isolated | paint shared on=ui
            snapshot attempt-1 before
            snapshot attempt-1 after
        ",
        &expect![[r#"
            > snapshots
            > tick +30s
              => snapshot 1 of attempt-1
            > spawn attempt-1 | write isolated | paint shared on=ui
              subtask-2 = Do write. for attempt-1, isolated, depth 1
              subtask-3 = Do paint. for attempt-1, shared, depth 1
              group 2: subtask-2, subtask-3
              task-3 pending -> queued
              task-3 queued -> starting (a slot is free)
              attempt-2 opened: task-3 #1 from base
              => prepare checkout attempt-2, shared of attempt-1
            > snapshot attempt-1 before
              => snapshot 2 of attempt-1 after before
            > snapshot attempt-1 after
              task-2 pending -> queued
              task-2 queued -> starting (a slot is free)
              attempt-3 opened: task-2 #1 from after
              => prepare checkout attempt-3, isolated of attempt-1
        "#]],
    );
}

/// A sub-task without a snapshot to start from fails, and its parent gets the reason.
#[test]
fn a_child_without_a_start_fails() {
    check(
        "
            snapshots
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 wait=60s | write isolated
            no-snapshot attempt-1 no room
        ",
        &expect![[r#"
            > snapshots
            > no-snapshot attempt-1 no room
              task-2 pending -> failed (the checkout cannot be used: the parent's checkout could not be saved: no room)
              worker-1 waiting_subtasks -> running (a slot is free)
              worker-1 hears of subtask-2
              worker-1 is answered: all have ended
        "#]],
    );
}

/// S4-035, S4-088: a failed sub-task is retried as often as requested.
#[test]
fn a_child_is_retried_as_often_as_requested() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 wait=60s | look attempts=2 timeout=10s
            ~ start subtask-2
            tick +10s
            ~ stopped worker-2
            tick +1s
            ~ start subtask-2
            tick +10s
        ",
        &expect![[r#"
            > tick +10s
              attempt-2 ended: timeout (timed out after 10 s)
              worker-2 running -> killed (timed out after 10 s)
              => stop worker-2
              task-2 running -> pending (timed out after 10 s; again at 10096 ms)
            > tick +1s
              task-2 pending -> queued
              task-2 queued -> starting (a slot is free)
              attempt-3 opened: task-2 #2 from base
              => prepare checkout attempt-3, read_only of attempt-1
            > tick +10s
              attempt-3 ended: timeout (timed out after 10 s)
              worker-3 running -> killed (timed out after 10 s)
              => stop worker-3
              task-2 running -> failed (timed out after 10 s)
              worker-1 waiting_subtasks -> running (a slot is free)
              worker-1 hears of subtask-2
              worker-1 is answered: all have ended
        "#]],
    );
}

/// A pause of a plan includes its sub-tasks; a waiting parent keeps waiting.
#[test]
fn a_pause_reaches_the_children() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 wait=60s | look
            ~ start subtask-2
            pause plan-1
            ~ turn worker-2 cancelled
            tick +60s
            resume plan-1
        ",
        &expect![[r#"
            > pause plan-1
              plan-1 active -> paused
              worker-2 running -> paused (the plan is paused)
              => interrupt worker-2
            > tick +60s
              nothing
            > resume plan-1
              plan-1 paused -> active
              worker-2 paused -> running (a slot is free)
              => prompt worker-2 (resumed)
              worker-1 waiting_subtasks -> running (its wait timed out)
              worker-1 is answered: its time is over; subtask-2 go on
        "#]],
    );
}

/// People cancel and retry sub-tasks by name, as long as their parent waits.
#[test]
fn people_steer_children_by_name() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 | look | write isolated
            ~ start subtask-2
            cancel subtask-2
            ~ stopped worker-2
            retry subtask-2
            ~ start subtask-2
            work subtask-2
            ~ cancel task-1
            retry subtask-3
            show
        ",
        &expect![[r#"
            > cancel subtask-2
              attempt-2 ended: cancelled (cancelled by person)
              worker-2 running -> killed (cancelled by person)
              => stop worker-2
              task-2 running -> cancelled (cancelled by person)
              group 2: subtask-2 has failed
            > retry subtask-2
              task-2 is granted one more attempt
              task-2 cancelled -> pending (a person asked for a retry)
              task-2 pending -> queued
              task-2 queued -> starting (a slot is free)
              attempt-4 opened: task-2 #2 from base
              => prepare checkout attempt-4, read_only of attempt-1
            > work subtask-2
              task-2 verifying -> completed
            > retry subtask-3
              rejected: subtask-3 cannot continue: its parent has ended
            > show
              plan-1 failed | task-1 cancelled, task-2 completed, task-3 cancelled
        "#]],
    );
}

/// Messages of an orphaned sub-task are dropped.
#[test]
fn the_mail_of_a_subtask_ends_with_it() {
    check(
        "
            ~ slots 3
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 | look isolated
            ~ start subtask-2
            ~ message subtask-2 low use port 8080
            cancel subtask-2
        ",
        &expect![[r#"
            > cancel subtask-2
              attempt-2 ended: cancelled (cancelled by person)
              worker-2 running -> killed (cancelled by person)
              => stop worker-2
              task-2 running -> cancelled (cancelled by person)
              message-1 queued -> dead (task-2 is cancelled)
        "#]],
    );
}
