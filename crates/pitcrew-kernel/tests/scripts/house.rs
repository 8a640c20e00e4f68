//! Questions that are answered without a person: by the matrix, or by the index.

use crate::{queries::check_two, script::check};
use expect_test::expect;

/// S4-077, S4-084: a question that the matrix decides does not reach a person.
#[test]
fn the_matrix_answers_whether_a_command_may_run() {
    check(
        "
            ~ plan demo | a in a
            ~ prepared plan-1
            ~ start task-1
            ask attempt-1 May I run `git push --force`?
            repeat
            turn worker-1 end_turn
            turn worker-1 end_turn
            ask attempt-1 May I run `git push --force`?
        ",
        &expect![[r#"
            > ask attempt-1 May I run `git push --force`?
              message-1: orchestrator -> worker-1, answer, high: No, `git push --force` is not for you: force_push is denied by a rule that is built in, and no file can allow it. Find another way, or complete your task and say what is missing.
            > repeat
              nothing
            > turn worker-1 end_turn
              message-1 queued -> delivered by worker-1
              => prompt worker-1 (messages)
            > turn worker-1 end_turn
              message-1 delivered -> processed by worker-1
              => prompt worker-1 (reminder)
            > ask attempt-1 May I run `git push --force`?
              request-1: "May I run `git push --force`?"
        "#]],
    );
}

#[test]
fn a_question_that_the_matrix_would_ask_goes_to_a_person() {
    check(
        "
            ~ plan demo | a in a
            ~ prepared plan-1
            ~ start task-1
            ask attempt-1 May I run `make deploy`?
            ask attempt-1 Should I run `git push --force`?
        ",
        &expect![[r#"
            > ask attempt-1 May I run `make deploy`?
              request-1: "May I run `make deploy`?"
            > ask attempt-1 Should I run `git push --force`?
              request-2: "Should I run `git push --force`?"
        "#]],
    );
}

/// S4-077: an answer of the index is free; a repeated question goes to a person.
#[test]
fn the_index_answers_what_a_symbol_is() {
    check_two(
        "
            ask attempt-1 What are the fields of `AuthValidator`?
            repeat
            turn worker-1 end_turn
            indexed query-1 4096 struct AuthValidator (core/auth.rs:3-9)
            turn worker-1 end_turn
            ask attempt-1 What are the fields of `AuthValidator`?
        ",
        &expect![[r#"
            > ask attempt-1 What are the fields of `AuthValidator`?
              query-1: worker-1 needs AuthValidator (question) until 60000 ms
              => consult the index of /checkouts/attempt-1 for query-1
            > repeat
              nothing
            > turn worker-1 end_turn
              worker-1 running -> waiting_input (it has an open query)
            > indexed query-1 4096 struct AuthValidator (core/auth.rs:3-9)
              query-1 answered from the index, 0 spent, 1024 saved: struct AuthValidator (core/auth.rs:3-9)
              message-1: orchestrator -> worker-1, answer, high: You asked: What are the fields of `AuthValidator`? The index of the code answers: struct AuthValidator (core/auth.rs:3-9) If that is not what you wanted to know, ask again in the same words: then a person is asked.
              worker-1 waiting_input -> running (it has a message)
              message-1 queued -> delivered by worker-1
              => prompt worker-1 (messages)
            > turn worker-1 end_turn
              message-1 delivered -> processed by worker-1
              => prompt worker-1 (reminder)
            > ask attempt-1 What are the fields of `AuthValidator`?
              request-1: "What are the fields of `AuthValidator`?"
        "#]],
    );
}

/// S4-084: no worker is disturbed, and the person reads the original question.
#[test]
fn a_symbol_that_the_index_does_not_know_goes_to_a_person() {
    check_two(
        "
            ask attempt-1 Where is `TokenStore` defined?
            turn worker-1 end_turn
            unknown query-1 core/tokens.rs
            answer request-1 in core/tokens.rs
            turn worker-1 end_turn
            ask attempt-1 Which signature has `Later`?
            tick +61s
        ",
        &expect![[r#"
            > ask attempt-1 Where is `TokenStore` defined?
              query-1: worker-1 needs TokenStore (question) until 60000 ms
              => consult the index of /checkouts/attempt-1 for query-1
            > turn worker-1 end_turn
              worker-1 running -> waiting_input (it has an open query)
            > unknown query-1 core/tokens.rs
              query-1 not found, 0 spent, 0 saved: Symbol 'TokenStore' not found in workspace symbol tree or active agents.
              request-1: "Where is `TokenStore` defined?"
            > answer request-1 in core/tokens.rs
              request-1 at_user -> answered (in core/tokens.rs)
              worker-1 waiting_input -> running (a slot is free)
              => prompt worker-1 (answer)
            > turn worker-1 end_turn
              => prompt worker-1 (reminder)
            > ask attempt-1 Which signature has `Later`?
              query-2: worker-1 needs Later (question) until 60000 ms
              => consult the index of /checkouts/attempt-1 for query-2
            > tick +61s
              query-2 no answer in time, 0 spent, 0 saved: Symbol 'Later' not found in workspace symbol tree or active agents.
              request-2: "Which signature has `Later`?"
        "#]],
    );
}

#[test]
fn a_question_for_a_decision_goes_to_a_person() {
    check_two(
        "
            ask attempt-1 Should I rename the field `limit`?
            ask attempt-1 What is better, the fields of `A` or the methods of `B`?
            ask attempt-1 What would you call the method that replaces `old name`?
        ",
        &expect![[r#"
            > ask attempt-1 Should I rename the field `limit`?
              request-1: "Should I rename the field `limit`?"
            > ask attempt-1 What is better, the fields of `A` or the methods of `B`?
              request-2: "What is better, the fields of `A` or the methods of `B`?"
            > ask attempt-1 What would you call the method that replaces `old name`?
              request-3: "What would you call the method that replaces `old name`?"
        "#]],
    );
}
