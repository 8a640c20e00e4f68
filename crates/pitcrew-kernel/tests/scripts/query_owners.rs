//! Owners of code.

use super::queries::{TWO, check_two};
use crate::script::{Script, check};
use expect_test::expect;

/// S0-035, S0-127: the longest region that contains a path owns it, by whole components.
#[test]
fn the_longest_region_owns_a_path() {
    check(
        "
            ~ plan demo overlap | a in app | b in ui | c in lib/build | d in lib
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ start task-3
            ~ start task-4
            ~ query attempt-1 One
            unknown query-1 lib/build/mod.rs
            ~ query attempt-1 Two
            unknown query-2 lib/require.rs
            ~ query attempt-1 Three
            unknown query-3 build/ui.rs
        ",
        &expect![[r#"
            > unknown query-1 lib/build/mod.rs
              query-1 goes to worker-3 as message-1
              message-1: worker-1 -> worker-3, query, high: I need the type signature and brief description of `One`. Context: none. Reply with ONLY the signature/definition, no explanation.
              worker-1 running -> waiting_input (it asked worker-3)
            > unknown query-2 lib/require.rs
              query-2 goes to worker-4 as message-2
              message-2: worker-1 -> worker-4, query, high: I need the type signature and brief description of `Two`. Context: none. Reply with ONLY the signature/definition, no explanation.
            > unknown query-3 build/ui.rs
              query-3 not found, 0 spent, 0 saved: Symbol 'Three' not found in workspace symbol tree or active agents.
        "#]],
    );
}

/// S0-036, S0-052: a worker is not asked its own query.
#[test]
fn a_worker_is_not_asked_its_own_query() {
    check_two(
        "
            ~ query attempt-1 Button
            unknown query-1 ui/button.rs near=Buttons near=Bottom
        ",
        &expect![[r#"
            > unknown query-1 ui/button.rs near=Buttons near=Bottom
              query-1 not found, 0 spent, 0 saved: Symbol 'Button' not found in workspace symbol tree or active agents. Nearest names: Buttons, Bottom.
        "#]],
    );
}

/// S0-038: the code has an owner that cannot be asked.
#[test]
fn an_unavailable_owner_is_named() {
    check(
        "
            ~ plan demo | ui in ui | core in core after ui
            ~ prepared plan-1
            ~ start task-1
            ~ query attempt-1 TokenStore
            unknown query-1 core/tokens.rs
        ",
        &expect![[r#"
            > unknown query-1 core/tokens.rs
              query-1 task-2 could not be asked, 0 spent, 0 saved: Agent task-2 not available for cross-region query. It has no worker now: it is pending.
        "#]],
    );
}

/// S0-129: of two owners of one region the idle one is asked, then the older one.
#[test]
fn of_several_owners_the_least_busy_is_asked() {
    check(
        "
            ~ plan demo overlap | ui in ui | one in core | two in core
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ start task-3
            ~ query attempt-1 First
            unknown query-1 core/a.rs
            ~ query attempt-1 Second
            unknown query-2 core/a.rs
            ~ ask attempt-2 which port?
            ~ turn worker-2 end_turn
            ~ reply attempt-2 struct First
            ~ turn worker-2 end_turn
            ~ query attempt-1 Third
            unknown query-3 core/a.rs
        ",
        &expect![[r#"
            > unknown query-1 core/a.rs
              query-1 goes to worker-2 as message-1
              message-1: worker-1 -> worker-2, query, high: I need the type signature and brief description of `First`. Context: none. Reply with ONLY the signature/definition, no explanation.
              worker-1 running -> waiting_input (it asked worker-2)
            > unknown query-2 core/a.rs
              query-2 goes to worker-3 as message-2
              message-2: worker-1 -> worker-3, query, high: I need the type signature and brief description of `Second`. Context: none. Reply with ONLY the signature/definition, no explanation.
            > unknown query-3 core/a.rs
              query-3 goes to worker-2 as message-3
              message-3: worker-1 -> worker-2, query, high: I need the type signature and brief description of `Third`. Context: none. Reply with ONLY the signature/definition, no explanation.
              worker-2 waiting_input -> running (it has a message)
              message-3 queued -> delivered by worker-2
              => prompt worker-2 (messages)
        "#]],
    );
}

/// S0-130: an owner that waits for the asker is not asked.
#[test]
fn an_owner_that_waits_for_the_asker_is_not_asked() {
    check_two(
        "
            ~ ask attempt-2 @worker-1 which port?
            ~ query attempt-1 TokenStore
            unknown query-1 core/tokens.rs
        ",
        &expect![[r#"
            > unknown query-1 core/tokens.rs
              query-1 worker-2 could not be asked, 0 spent, 0 saved: Agent worker-2 not available for cross-region query. It waits for you.
        "#]],
    );
}

/// S0-130: a query that closes a cycle ends the other.
#[test]
fn an_owner_that_asks_its_asker_ends_the_query() {
    check_two(
        "
            ~ query attempt-1 TokenStore
            ~ unknown query-1 core/tokens.rs
            ask attempt-2 @worker-1 which port?
        ",
        &expect![[r#"
            > ask attempt-2 @worker-1 which port?
              query-1 worker-2 could not be asked, 0 spent, 0 saved: Agent worker-2 not available for cross-region query. It waits for you.
              message-2: worker-2 -> worker-1, question, normal: which port?
              message-3: orchestrator -> worker-2, answer, high, to message-2, in message-2: No answer will come: you wait for worker-1, and it waits for you. Its question: I need the type signature and brief description of `TokenStore`. Context: none. Reply with ONLY the signature/definition, no explanation. Do not wait. Decide yourself and state your assumption, or ask a person: call the same tool without `to`.
              message-1 queued -> dead (its sender no longer waits)
              message-2 queued -> dead (its sender no longer waits)
              worker-1 waiting_input -> running (a slot is free)
        "#]],
    );
}

/// A parent that waits for its sub-task is not asked by it.
#[test]
fn a_parent_that_waits_for_its_subtask_is_not_asked_by_it() {
    check(
        "
            ~ plan demo | core in core
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 wait=60s | look
            ~ checkout attempt-2
            ~ ready worker-2
            ~ query attempt-2 TokenStore
            unknown query-1 core/tokens.rs
        ",
        &expect![[r#"
            > unknown query-1 core/tokens.rs
              query-1 worker-1 could not be asked, 0 spent, 0 saved: Agent worker-1 not available for cross-region query. It waits for you.
        "#]],
    );
}

/// S0-030: if the owner ends, the next one is asked, if there is one.
#[test]
fn a_query_moves_on_when_its_owner_ends() {
    check(
        "
            ~ plan demo overlap | ui in ui | one in core attempts=1 | two in core attempts=1
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ start task-3
            ~ query attempt-1 TokenStore
            ~ unknown query-1 core/tokens.rs
            exited worker-2
            exited worker-3
        ",
        &expect![[r#"
            > exited worker-2
              worker-2 exited: exit code 1
              attempt-2 ended: failed (the agent exited during its turn: exit code 1)
              worker-2 running -> failed (the agent exited during its turn: exit code 1)
              => save work of attempt-2
              task-2 running -> failed (the agent exited during its turn: exit code 1)
              message-1 queued -> dead (task-2 is failed)
              query-1 goes to worker-3 as message-2
              message-2: worker-1 -> worker-3, query, high: I need the type signature and brief description of `TokenStore`. Context: none. Reply with ONLY the signature/definition, no explanation.
            > exited worker-3
              worker-3 exited: exit code 1
              attempt-3 ended: failed (the agent exited during its turn: exit code 1)
              worker-3 running -> failed (the agent exited during its turn: exit code 1)
              => save work of attempt-3
              task-3 running -> failed (the agent exited during its turn: exit code 1)
              message-2 queued -> dead (task-3 is failed)
              query-1 worker-3 could not be asked, 0 spent, 0 saved: Agent worker-3 not available for cross-region query. It has ended without an answer.
              worker-1 waiting_input -> running (a slot is free)
        "#]],
    );
}

/// Only the worker that was asked can answer.
#[test]
fn a_worker_cannot_answer_for_another() {
    check(
        "
            ~ plan demo | ui in ui | core in core | web in web
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ start task-3
            ~ query attempt-1 TokenStore
            ~ unknown query-1 core/tokens.rs
            reply attempt-3 #message-1 nonsense
            reply attempt-2 #message-1
        ",
        &expect![[r#"
            > reply attempt-3 #message-1 nonsense
              rejected: message-1 is not a question to you, or its sender no longer waits for the answer
            > reply attempt-2 #message-1
              rejected: the message is empty; write something
        "#]],
    );
}

/// S0-029: the owner may be in any live plan that is not paused.
#[test]
fn an_owner_of_another_plan_is_asked_unless_it_is_paused() {
    let mut script = Script::default();
    script.run(TWO);
    let transcript = script.run(
        "
            ~ plan other | more in more
            ~ prepared plan-2
            ~ start task-3
            ~ query attempt-1 More
            unknown query-1 more/a.rs
            ~ pause plan-2
            ~ query attempt-1 Most
            unknown query-2 more/a.rs
        ",
    );
    expect![[r#"
        > unknown query-1 more/a.rs
          query-1 goes to worker-3 as message-1
          message-1: worker-1 -> worker-3, query, high: I need the type signature and brief description of `More`. Context: none. Reply with ONLY the signature/definition, no explanation.
          worker-1 running -> waiting_input (it asked worker-3)
        > unknown query-2 more/a.rs
          query-2 worker-3 could not be asked, 0 spent, 0 saved: Agent worker-3 not available for cross-region query. Its plan is paused.
    "#]].assert_eq(&transcript);
    assert_eq!(script.state.query_tokens_left(pitcrew_model::WorkerId(1)).0, 2_000 - 533);
}
