//! A worker that waits for its sub-tasks, and calls again.

use crate::script::check;
use expect_test::expect;

/// A client that gave up its call calls again; the second call replaces the first.
#[test]
fn a_second_wait_replaces_the_first() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ once n1 spawn attempt-1 wait=60s | look | read
            once n2 await attempt-1 30s
            once n2 await attempt-1 30s
            ~ work subtask-2
            work subtask-3
        ",
        &expect![[r#"
            > once n2 await attempt-1 30s
              worker-1 calls, nonce n2
              worker-1 is answered: it has called again; subtask-2, subtask-3 go on
              worker-1 waits for subtask-2, subtask-3 until 30000 ms
            > once n2 await attempt-1 30s
              nothing
            > work subtask-3
              task-3 verifying -> completed
              worker-1 waiting_subtasks -> running (a slot is free)
              worker-1 hears of subtask-2, subtask-3
              worker-1 is answered: all have ended
        "#]],
    );
}

/// A parked worker is answered when it has a slot again, however often it calls.
#[test]
fn a_parked_worker_that_calls_again_waits_for_a_slot() {
    check(
        "
            ~ slots 2
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ spawn attempt-1 wait=60s | look
            ~ slots 1
            ~ work subtask-3
            await attempt-1 30s
            cancel task-2
        ",
        &expect![[r#"
            > await attempt-1 30s
              worker-1 is answered: it has called again
              worker-1 waits for subtask-3 until 30000 ms
            > cancel task-2
              attempt-2 ended: cancelled (cancelled by person)
              worker-2 running -> killed (cancelled by person)
              => stop worker-2
              task-2 running -> cancelled (cancelled by person)
              worker-1 waiting_subtasks -> running (a slot is free)
              worker-1 hears of subtask-3
              worker-1 is answered: all have ended
        "#]],
    );
}

/// S4-050: a request moves on when the parent saw it, decided nothing and waits again. The parent
/// does not see it again.
#[test]
fn requests_move_on_from_a_parent_that_keeps_waiting() {
    check(
        "
            ~ plan demo | a in src
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 | paint shared on=src/ui
            ~ start subtask-2
            ~ await attempt-1 60s
            permit worker-2 edit src/a
            ~ ask attempt-2 @parent which colour?
            await attempt-1 60s
            await attempt-1 60s
        ",
        &expect![[r#"
            > permit worker-2 edit src/a
              => answer worker-2, call edit src/a: no
            > await attempt-1 60s
              message-2: orchestrator -> worker-2, answer, high, to message-1, in message-1: worker-1 has read your question and waits on without an answer. Go on with what you know, say what you assumed, or ask a person: the same tool without `to`.
              worker-1 waits for subtask-2 until 60000 ms
              message-1 queued -> dead (its sender no longer waits)
              worker-1 running -> waiting_subtasks (it waits for its sub-tasks)
            > await attempt-1 60s
              worker-1 is answered: it has called again; subtask-2 go on
              worker-1 waits for subtask-2 until 60000 ms
        "#]],
    );
}

/// A question that is answered during a wait has been read.
#[test]
fn an_answered_question_is_no_dead_letter() {
    check(
        "
            ~ plan demo | a in src
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 | paint shared on=src/ui
            ~ start subtask-2
            ~ await attempt-1 60s
            ask attempt-2 @parent which colour?
            reply attempt-1 #message-1 blue
            await attempt-1 60s
        ",
        &expect![[r#"
            > ask attempt-2 @parent which colour?
              message-1: worker-2 -> worker-1, question, normal: which colour?
              worker-1 waiting_subtasks -> running (a slot is free)
              worker-1 is answered: somebody asks it something; subtask-2 go on
            > reply attempt-1 #message-1 blue
              message-2: worker-1 -> worker-2, answer, high, to message-1, in message-1: blue
              message-1 queued -> processed (it was answered)
            > await attempt-1 60s
              worker-1 waits for subtask-2 until 60000 ms
              worker-1 running -> waiting_subtasks (it waits for its sub-tasks)
        "#]],
    );
}

/// A worker that requests a permission beside its wait gets the answer, and keeps waiting.
#[test]
fn a_call_beside_the_wait_is_answered() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 wait=60s | look
            permit worker-1 execute make
            approve request-1
            ~ start subtask-2
            work subtask-2
        ",
        &expect![[r#"
            > permit worker-1 execute make
              request-1: may it execute make?
            > approve request-1
              request-1 at_user -> approved
              worker-1 waiting_subtasks -> running (a slot is free)
              => answer worker-1, call execute make: yes
              worker-1 running -> waiting_subtasks (it waits for its sub-tasks)
            > work subtask-2
              task-2 verifying -> completed
              worker-1 waiting_subtasks -> running (a slot is free)
              worker-1 hears of subtask-2
              worker-1 is answered: all have ended
        "#]],
    );
}

/// The results of a call whose turn ended are in the next prompt.
#[test]
fn a_wait_ends_with_its_turn() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 wait=60s | look
            turn worker-1 end_turn
            ~ start subtask-2
            work subtask-2
        ",
        &expect![[r#"
            > turn worker-1 end_turn
              worker-1 is answered: its turn has ended; subtask-2 go on
            > work subtask-2
              task-2 verifying -> completed
              worker-1 waiting_subtasks -> running (a slot is free)
              worker-1 hears of subtask-2
        "#]],
    );
}
