//! Permission requests of agents.

use crate::script::check;
use expect_test::expect;

#[test]
fn the_matrix_decides_known_actions() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            permit worker-1 edit src/a
            permit worker-1 edit /etc/passwd
            permit worker-1 edit src/a /etc/passwd
            permit worker-1 read src/a
            permit worker-1 read /etc/passwd
            permit worker-1 orchestrator
            permit worker-1 fetch
        ",
        &expect![[r#"
            > permit worker-1 edit src/a
              => answer worker-1, call edit src/a: yes
            > permit worker-1 edit /etc/passwd
              => answer worker-1, call edit /etc/passwd: no
            > permit worker-1 edit src/a /etc/passwd
              => answer worker-1, call edit src/a /etc/passwd: no
            > permit worker-1 read src/a
              => answer worker-1, call read src/a: yes
            > permit worker-1 read /etc/passwd
              request-1: may it read /etc/passwd?
              worker-1 running -> waiting_permission (it requests a permission)
            > permit worker-1 orchestrator
              => answer worker-1, call orchestrator: yes
            > permit worker-1 fetch
              request-2: may it fetch?
        "#]],
    );
}

#[test]
fn a_tool_of_ours_that_names_files_is_asked() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            permit worker-1 orchestrator  $ pitcrew tool
            permit worker-1 orchestrator /etc/passwd
            permit worker-1 orchestrator src/a
        ",
        &expect![[r#"
            > permit worker-1 orchestrator  $ pitcrew tool
              => answer worker-1, call orchestrator  $ pitcrew tool: yes
            > permit worker-1 orchestrator /etc/passwd
              request-1: may it orchestrator /etc/passwd?
              worker-1 running -> waiting_permission (it requests a permission)
            > permit worker-1 orchestrator src/a
              request-2: may it orchestrator src/a?
        "#]],
    );
}

#[test]
fn a_command_is_judged_whatever_its_kind() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            permit worker-1 edit src/a $ make
            permit worker-1 delete src/a $ make
            permit worker-1 move src/a src/b $ make
            permit worker-1 read src/a $ make
            permit worker-1 edit /etc/passwd $ make
        ",
        &expect![[r#"
            > permit worker-1 edit src/a $ make
              request-1: may it edit src/a $ make?
              worker-1 running -> waiting_permission (it requests a permission)
            > permit worker-1 delete src/a $ make
              request-2: may it delete src/a $ make?
            > permit worker-1 move src/a src/b $ make
              request-3: may it move src/a src/b $ make?
            > permit worker-1 read src/a $ make
              request-4: may it read src/a $ make?
            > permit worker-1 edit /etc/passwd $ make
              => answer worker-1, call edit /etc/passwd $ make: no
        "#]],
    );
}

#[test]
fn a_command_waits_for_a_person() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            permit worker-1 execute make
            approve request-1
        ",
        &expect![[r#"
            > permit worker-1 execute make
              request-1: may it execute make?
              worker-1 running -> waiting_permission (it requests a permission)
            > approve request-1
              request-1 at_user -> approved
              worker-1 waiting_permission -> running (a slot is free)
              => answer worker-1, call execute make: yes
        "#]],
    );
}

#[test]
fn a_denial_reaches_the_agent() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ permit worker-1 execute make
            deny request-1 too dangerous
        ",
        &expect![[r#"
            > deny request-1 too dangerous
              request-1 at_user -> denied (too dangerous)
              worker-1 waiting_permission -> running (a slot is free)
              => answer worker-1, call execute make: no
        "#]],
    );
}

#[test]
fn two_requests_at_once_are_both_answered() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ permit worker-1 execute one
            permit worker-1 execute two
            approve request-1
            deny request-2
        ",
        &expect![[r#"
            > permit worker-1 execute two
              request-2: may it execute two?
            > approve request-1
              request-1 at_user -> approved
              worker-1 waiting_permission -> running (a slot is free)
              => answer worker-1, call execute one: yes
            > deny request-2
              request-2 at_user -> denied
              => answer worker-1, call execute two: no
        "#]],
    );
}

#[test]
fn a_request_is_answered_although_a_question_was_answered_first() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ ask attempt-1 which?
            ~ permit worker-1 execute make
            answer request-1 this
            approve request-2
            turn worker-1 end_turn
        ",
        &expect![[r#"
            > answer request-1 this
              request-1 at_user -> answered (this)
            > approve request-2
              request-2 at_user -> approved
              worker-1 waiting_permission -> running (a slot is free)
              => answer worker-1, call execute make: yes
            > turn worker-1 end_turn
              worker-1 running -> waiting_input (it asked a person)
              worker-1 waiting_input -> running (a slot is free)
              => prompt worker-1 (answer)
        "#]],
    );
}

#[test]
fn an_open_request_is_withdrawn_with_its_turn() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ permit worker-1 execute make
            turn worker-1 cancelled
            approve request-1
        ",
        &expect![[r#"
            > turn worker-1 cancelled
              request-1 at_user -> withdrawn
              worker-1 waiting_permission -> running (a slot is free)
              => prompt worker-1 (reminder)
            > approve request-1
              rejected: request-1 is withdrawn: it is no longer needed; `pitcrew inbox` lists the open requests
        "#]],
    );
}

#[test]
fn requests_between_turns_reach_no_person() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ ask attempt-1 which?
            ~ turn worker-1 end_turn
            permit worker-1 execute make
        ",
        &expect![[r#"
            > permit worker-1 execute make
              => answer worker-1, call execute make: cancelled
        "#]],
    );
}

#[test]
fn requests_are_withdrawn_when_their_worker_ends() {
    check(
        "
            ~ plan demo | a attempts=1
            ~ prepared plan-1
            ~ start task-1
            ~ permit worker-1 execute make
            exited worker-1
            permit worker-1 execute make
            ask attempt-1 anybody?
        ",
        &expect![[r#"
            > exited worker-1
              worker-1 exited: exit code 1
              attempt-1 ended: failed (the agent exited during its turn: exit code 1)
              request-1 at_user -> withdrawn
              worker-1 waiting_permission -> failed (the agent exited during its turn: exit code 1)
              => save work of attempt-1
              task-1 running -> failed (the agent exited during its turn: exit code 1)
              plan-1 active -> failed (0 of 1 tasks are completed)
            > permit worker-1 execute make
              => answer worker-1, call execute make: cancelled
            > ask attempt-1 anybody?
              rejected: attempt-1 has ended: its task continued without it
        "#]],
    );
}

/// A driver that reattaches reports open requests again.
#[test]
fn a_repeated_request_is_opened_once() {
    check(
        "
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ slots 1
            ~ start task-1
            permit worker-1 execute make
            permit worker-1 execute make
            ~ start task-2
            approve request-1
            permit worker-1 execute make
            ~ finish task-2
            permit worker-1 execute make
            permit worker-1 edit src/a
            permit worker-1 edit src/a
        ",
        &expect![[r#"
            > permit worker-1 execute make
              request-1: may it execute make?
              worker-1 running -> waiting_permission (it requests a permission)
            > permit worker-1 execute make
              nothing
            > approve request-1
              request-1 at_user -> approved
            > permit worker-1 execute make
              nothing
            > permit worker-1 execute make
              nothing
            > permit worker-1 edit src/a
              => answer worker-1, call edit src/a: yes
            > permit worker-1 edit src/a
              nothing
        "#]],
    );
}

/// The answer was lost and the agent still waits: the request is decided and answered again.
#[test]
fn a_request_whose_answer_was_lost_is_decided_again() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            permit worker-1 edit src/a
            answered worker-1
            permit worker-1 edit src/a
        ",
        &expect![[r#"
            > permit worker-1 edit src/a
              => answer worker-1, call edit src/a: yes
            > answered worker-1
              nothing
            > permit worker-1 edit src/a
              => answer worker-1, call edit src/a: yes
        "#]],
    );
}

/// A changed timeout applies to open requests too.
#[test]
fn a_changed_timeout_applies_to_open_requests() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ permit worker-1 execute make
            tick +60s
            matrix timeout=90000
            tick +29s
            matrix timeout=200000
            tick +60s
            matrix timeout=100000
        ",
        &expect![[r#"
            > tick +60s
              nothing
            > matrix timeout=90000
              matrix: 6 approved, 11 asked, 3 denied
            > tick +29s
              nothing
            > matrix timeout=200000
              matrix: 6 approved, 11 asked, 3 denied
            > tick +60s
              nothing
            > matrix timeout=100000
              matrix: 6 approved, 11 asked, 3 denied
              request-1 at_user -> expired (no decision in time, so it is refused)
              worker-1 waiting_permission -> running (a slot is free)
              => answer worker-1, call execute make: no
        "#]],
    );
}

/// A person who retries the task may decide again.
#[test]
fn a_denial_is_final_until_a_person_retries_the_task() {
    check(
        "
            ~ plan demo | a attempts=2
            ~ prepared plan-1
            ~ start task-1
            permit worker-1 read /etc/passwd
            deny request-1
            ~ answered worker-1
            permit worker-1 read /etc/passwd
            permit worker-1 read /etc/shadow
            ~ deny request-2
            ~ exited worker-1 1
            ~ saved attempt-1
            ~ tick +1s
            ~ start task-1
            permit worker-2 read /etc/passwd
            ~ exited worker-2 1
            ~ saved attempt-2
            ~ retry task-1
            ~ start task-1
            permit worker-3 read /etc/passwd
        ",
        &expect![[r#"
            > permit worker-1 read /etc/passwd
              request-1: may it read /etc/passwd?
              worker-1 running -> waiting_permission (it requests a permission)
            > deny request-1
              request-1 at_user -> denied
              worker-1 waiting_permission -> running (a slot is free)
              => answer worker-1, call read /etc/passwd: no
            > permit worker-1 read /etc/passwd
              => answer worker-1, call read /etc/passwd: no
            > permit worker-1 read /etc/shadow
              request-2: may it read /etc/shadow?
              worker-1 running -> waiting_permission (it requests a permission)
            > permit worker-2 read /etc/passwd
              => answer worker-2, call read /etc/passwd: no
            > permit worker-3 read /etc/passwd
              request-3: may it read /etc/passwd?
              worker-3 running -> waiting_permission (it requests a permission)
        "#]],
    );
}
