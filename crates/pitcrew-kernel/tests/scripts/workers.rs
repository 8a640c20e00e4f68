//! The lifecycle of a worker: turns, questions, permissions, completion.

use crate::script::check;
use expect_test::expect;

/// S1-060, S1-064: one reminder, then the attempt fails.
#[test]
fn a_turn_end_is_not_completion() {
    check(
        "
            ~ plan demo | a attempts=1
            ~ prepared plan-1
            ~ start task-1
            turn worker-1 end_turn
            turn worker-1 end_turn
            stopped worker-1
        ",
        &expect![[r#"
            > turn worker-1 end_turn
              => prompt worker-1 (reminder)
            > turn worker-1 end_turn
              attempt-1 ended: failed (no completion: two turns ended without a report)
              worker-1 running -> failed (no completion: two turns ended without a report)
              => stop worker-1
              task-1 running -> failed (no completion: two turns ended without a report)
              plan-1 active -> failed (0 of 1 tasks are completed)
            > stopped worker-1
              => save work of attempt-1
        "#]],
    );
}

/// S1-059, S1-062: the executor loop.
#[test]
fn a_worker_may_complete_after_the_reminder() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ turn worker-1 end_turn
            complete attempt-1 did it
            turn worker-1 end_turn
        ",
        &expect![[r#"
            > complete attempt-1 did it
              attempt-1 claims success: did it
            > turn worker-1 end_turn
              => stop worker-1
        "#]],
    );
}

#[test]
fn completing_twice_is_completing_once() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            complete attempt-1 did it
            repeat
            complete attempt-1 did it better
            ~ turn worker-1 end_turn
            complete attempt-1 did it
        ",
        &expect![[r#"
            > complete attempt-1 did it
              attempt-1 claims success: did it
            > repeat
              nothing
            > complete attempt-1 did it better
              attempt-1 claims success: did it better
            > complete attempt-1 did it
              rejected: attempt-1 has ended: its task continued without it
        "#]],
    );
}

#[test]
fn completion_before_the_first_turn_is_refused() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            complete attempt-1 did it
            ~ checkout attempt-1
            complete attempt-1 did it
            ready worker-1
        ",
        &expect![[r#"
            > complete attempt-1 did it
              rejected: attempt-1 has ended: its task continued without it
            > complete attempt-1 did it
              rejected: task-1 is starting and cannot become verifying; see `pitcrew status`
            > ready worker-1
              worker-1 starting -> running
              task-1 starting -> running
              => prompt worker-1 (start)
        "#]],
    );
}

/// S1-059: idle to completed; the question is withdrawn.
#[test]
fn completion_between_turns_needs_no_further_turn() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ ask attempt-1 which?
            ~ turn worker-1 end_turn
            complete attempt-1 found it myself
        ",
        &expect![[r#"
            > complete attempt-1 found it myself
              attempt-1 claims success: found it myself
              request-1 at_user -> withdrawn
              => stop worker-1
        "#]],
    );
}

/// A prompt of an exited process does not fail the attempt.
#[test]
fn an_agent_that_exits_after_completion_has_completed() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ complete attempt-1 did it
            exited worker-1
            fail-turn worker-1 exited
            collected attempt-1
        ",
        &expect![[r#"
            > exited worker-1
              worker-1 exited: exit code 1
              worker-1 running -> completed
              task-1 running -> verifying
              => collect work of attempt-1
            > fail-turn worker-1 exited
              nothing
            > collected attempt-1
              => verify attempt-1: work-1 onto base
        "#]],
    );
}

#[test]
fn a_late_failure_of_an_earlier_step_changes_nothing() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ checkout attempt-1
            ~ cancel task-1
            stopped worker-1
            fail-start worker-1 exited
            retry task-1
            saved attempt-1
            retry task-1
        ",
        &expect![[r#"
            > stopped worker-1
              => save work of attempt-1
            > fail-start worker-1 exited
              nothing
            > retry task-1
              rejected: the work of the last attempt of task-1 is still being saved; try again in a moment
            > saved attempt-1
              nothing
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

#[test]
fn a_stop_that_fails_still_ends_the_attempt() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ complete attempt-1 did it
            ~ turn worker-1 end_turn
            fail attempt-1 git cannot be stopped
            saved attempt-1
        ",
        &expect![[r#"
            > fail attempt-1 git cannot be stopped
              attempt-1 ended: failed (git: cannot be stopped)
              worker-1 running -> failed (git: cannot be stopped)
              task-1 running -> pending (git: cannot be stopped; again at 77 ms)
              => save work of attempt-1
            > saved attempt-1
              nothing
        "#]],
    );
}

#[test]
fn an_agent_that_gives_up_fails_with_its_reason() {
    check(
        "
            ~ plan demo | a attempts=1
            ~ prepared plan-1
            ~ start task-1
            complete attempt-1 failed the api is gone
            turn worker-1 end_turn
        ",
        &expect![[r#"
            > complete attempt-1 failed the api is gone
              attempt-1 claims failed: the api is gone
            > turn worker-1 end_turn
              attempt-1 ended: failed (the agent gave up: the api is gone)
              worker-1 running -> failed (the agent gave up: the api is gone)
              => stop worker-1
              task-1 running -> failed (the agent gave up: the api is gone)
              plan-1 active -> failed (0 of 1 tasks are completed)
        "#]],
    );
}

/// S1-060, S2-072: error, then clean-up; repeated signals are one failure.
#[test]
fn an_agent_that_exits_fails_the_attempt_and_its_work_is_saved() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            exited worker-1
            exited worker-1
            saved attempt-1
        ",
        &expect![[r#"
            > exited worker-1
              worker-1 exited: exit code 1
              attempt-1 ended: failed (the agent exited during its turn: exit code 1)
              worker-1 running -> failed (the agent exited during its turn: exit code 1)
              => save work of attempt-1
              task-1 running -> pending (the agent exited during its turn: exit code 1; again at 77 ms)
            > exited worker-1
              nothing
            > saved attempt-1
              nothing
        "#]],
    );
}

/// S1-056, S1-058, S1-062: idle, and back to running.
#[test]
fn a_question_parks_the_worker_and_the_answer_resumes_it() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ask attempt-1 tabs or spaces?
            repeat
            turn worker-1 end_turn
            answer request-1 spaces
            answer request-1 tabs
            show prompt worker-1
        ",
        &expect![[r#"
            > ask attempt-1 tabs or spaces?
              request-1: "tabs or spaces?"
            > repeat
              nothing
            > turn worker-1 end_turn
              worker-1 running -> waiting_input (it asked a person)
            > answer request-1 spaces
              request-1 at_user -> answered (spaces)
              worker-1 waiting_input -> running (a slot is free)
              => prompt worker-1 (answer)
            > answer request-1 tabs
              rejected: request-1 is already answered; `pitcrew inbox` lists the open requests
            > show prompt worker-1
              | Your question was answered.
              | The question and the answer are in the <pitcrew:7bafbf123535b7c4> blocks.
              |
              | <pitcrew:7bafbf123535b7c4 kind="question">
              | > tabs or spaces?
              | </pitcrew:7bafbf123535b7c4>
              |
              | <pitcrew:7bafbf123535b7c4 kind="answer">
              | > spaces
              | </pitcrew:7bafbf123535b7c4>
              |
              | Continue your task.
        "#]],
    );
}

#[test]
fn a_worker_whose_process_is_gone_has_no_requests() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ complete attempt-1 did it
            ~ turn worker-1 end_turn
            ask attempt-1 anybody?
            permit worker-1 execute make
            ~ stopped worker-1
            ask attempt-1 anybody?
        ",
        &expect![[r#"
            > ask attempt-1 anybody?
              rejected: attempt-1 has ended: its task continued without it
            > permit worker-1 execute make
              => answer worker-1, call execute make: cancelled
            > ask attempt-1 anybody?
              rejected: attempt-1 has ended: its task continued without it
        "#]],
    );
}

#[test]
fn a_parked_worker_frees_its_slot_and_resumes_first() {
    check(
        "
            ~ slots 1
            ~ plan demo | a | b | c
            ~ prepared plan-1
            ~ start task-1
            ~ ask attempt-1 which?
            turn worker-1 end_turn
            ~ start task-2
            answer request-1 this
            work task-2
        ",
        &expect![[r#"
            > turn worker-1 end_turn
              worker-1 running -> waiting_input (it asked a person)
              task-2 queued -> starting (a slot is free)
              attempt-2 opened: task-2 #1 from base
              => prepare checkout attempt-2
            > answer request-1 this
              request-1 at_user -> answered (this)
            > work task-2
              worker-1 waiting_input -> running (a slot is free)
              task-2 integrating -> completed
        "#]],
    );
}

#[test]
fn an_answer_during_the_turn_waits_for_its_end() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ ask attempt-1 which?
            answer request-1 this
            turn worker-1 end_turn
        ",
        &expect![[r#"
            > answer request-1 this
              request-1 at_user -> answered (this)
            > turn worker-1 end_turn
              worker-1 running -> waiting_input (it asked a person)
              worker-1 waiting_input -> running (a slot is free)
              => prompt worker-1 (answer)
        "#]],
    );
}

#[test]
fn activity_of_an_agent_is_recorded() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ tick +5s
            does worker-1 reads src/lib.rs
            tell attempt-1 too early
            ~ tick +1s
            tell attempt-1 half way
            ~ tick +4s
            does worker-1 reads src/main.rs
            ~ tick +1s
            does worker-1 reads src/main.rs
            ~ exited worker-1
            does worker-1 reads src/lib.rs
            tell attempt-1 half way
        ",
        &expect![[r#"
            > does worker-1 reads src/lib.rs
              worker-1: reads src/lib.rs
            > tell attempt-1 too early
              message-1: worker-1 -> orchestrator, status_update, low: too early
              message-1 queued -> processed
            > tell attempt-1 half way
              message-2: worker-1 -> orchestrator, status_update, low: half way
              message-2 queued -> processed
            > does worker-1 reads src/main.rs
              nothing
            > does worker-1 reads src/main.rs
              worker-1: reads src/main.rs
            > does worker-1 reads src/lib.rs
              nothing
            > tell attempt-1 half way
              rejected: attempt-1 has ended: its task continued without it
        "#]],
    );
}

/// The bridge lost the answer and repeats the call: the person is not asked twice, even if the
/// first question was answered meanwhile.
#[test]
fn a_repeated_call_is_carried_out_once() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            once n1 ask attempt-1 which?
            once n1 ask attempt-1 which?
            answer request-1 this one
            once n1 ask attempt-1 which?
            once n2 complete attempt-1 done
            turn worker-1 end_turn
            once n2 complete attempt-1 done
            complete attempt-1 done
        ",
        &expect![[r#"
            > once n1 ask attempt-1 which?
              worker-1 calls, nonce n1
              request-1: "which?"
            > once n1 ask attempt-1 which?
              nothing
            > answer request-1 this one
              request-1 at_user -> answered (this one)
            > once n1 ask attempt-1 which?
              nothing
            > once n2 complete attempt-1 done
              worker-1 calls, nonce n2
              attempt-1 claims success: done
            > turn worker-1 end_turn
              => stop worker-1
            > once n2 complete attempt-1 done
              nothing
            > complete attempt-1 done
              rejected: attempt-1 has ended: its task continued without it
        "#]],
    );
}

/// A rejected call may be repeated.
#[test]
fn a_rejected_call_is_not_remembered() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            once n1 complete attempt-1 done
        ",
        &expect![[r#"
            > once n1 complete attempt-1 done
              rejected: attempt-1 has ended: its task continued without it
        "#]],
    );
}
