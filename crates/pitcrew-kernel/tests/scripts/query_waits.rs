//! Calls that wait for an owner: slots and cycles.

use super::queries::check_two;
use crate::script::check;
use expect_test::expect;

/// With one slot the asker gives it to the owner, and gets the answer when it has a slot again.
#[test]
fn an_asker_gives_its_slot_to_the_owner() {
    check_two(
        "
            ~ ask attempt-2 Which database?
            ~ turn worker-2 end_turn
            ~ slots 1
            query attempt-1 TokenStore
            unknown query-1 core/tokens.rs
            reply attempt-2 pub struct TokenStore
            turn worker-2 end_turn
        ",
        &expect![[r#"
            > query attempt-1 TokenStore
              query-1: worker-1 needs TokenStore (tool) until 60000 ms
              => consult the index of /checkouts/attempt-1 for query-1
            > unknown query-1 core/tokens.rs
              query-1 goes to worker-2 as message-1
              message-1: worker-1 -> worker-2, query, high: I need the type signature and brief description of `TokenStore`. Context: none. Reply with ONLY the signature/definition, no explanation.
              worker-1 running -> waiting_input (it asked worker-2)
              worker-2 waiting_input -> running (it has a message)
              message-1 queued -> delivered by worker-2
              => prompt worker-2 (messages)
            > reply attempt-2 pub struct TokenStore
              query-1 answered by worker-2, 41 spent, 0 saved: pub struct TokenStore
            > turn worker-2 end_turn
              message-1 delivered -> processed by worker-2
              worker-2 running -> waiting_input (it asked a person)
              worker-1 waiting_input -> running (a slot is free)
        "#]],
    );
}

/// The result of a timeout is delivered when there is a slot.
#[test]
fn a_timed_out_asker_waits_for_a_slot() {
    check_two(
        "
            ~ slots 1
            ~ query attempt-1 TokenStore
            unknown query-1 core/tokens.rs
            tick +60s
            ask attempt-2 Which database?
            turn worker-2 end_turn
        ",
        &expect![[r#"
            > unknown query-1 core/tokens.rs
              query-1 goes to worker-2 as message-1
              message-1: worker-1 -> worker-2, query, high: I need the type signature and brief description of `TokenStore`. Context: none. Reply with ONLY the signature/definition, no explanation.
              worker-1 running -> waiting_input (it asked worker-2)
            > tick +60s
              query-1 worker-2 did not answer in time, 0 spent, 0 saved: Agent worker-2 not available for cross-region query. It did not answer within 60 seconds.
              message-1 queued -> dead (its sender no longer waits)
            > ask attempt-2 Which database?
              request-1: "Which database?"
            > turn worker-2 end_turn
              worker-2 running -> waiting_input (it asked a person)
              worker-1 waiting_input -> running (a slot is free)
        "#]],
    );
}

/// A turn that ends during its call continues.
#[test]
fn a_turn_that_ends_during_a_query_continues() {
    check_two(
        "
            ~ query attempt-1 TokenStore
            unknown query-1 core/tokens.rs
            turn worker-1 end_turn
            tick +60s
        ",
        &expect![[r#"
            > unknown query-1 core/tokens.rs
              query-1 goes to worker-2 as message-1
              message-1: worker-1 -> worker-2, query, high: I need the type signature and brief description of `TokenStore`. Context: none. Reply with ONLY the signature/definition, no explanation.
              worker-1 running -> waiting_input (it asked worker-2)
            > turn worker-1 end_turn
              query-1 the asker no longer waits, 0 spent, 0 saved
              message-1 queued -> dead (its sender no longer waits)
              worker-1 waiting_input -> running (a slot is free)
              => prompt worker-1 (reminder)
            > tick +60s
              nothing
        "#]],
    );
}

/// Two calls at once: the worker continues when both have ended.
#[test]
fn an_asker_of_two_queries_waits_for_both() {
    check_two(
        "
            ~ query attempt-1 TokenStore
            ~ query attempt-1 KeyStore
            unknown query-1 core/tokens.rs
            unknown query-2 core/keys.rs
            turn worker-2 end_turn
            reply attempt-2 #message-1 pub struct TokenStore
            reply attempt-2 #message-2 pub struct KeyStore
        ",
        &expect![[r#"
            > unknown query-1 core/tokens.rs
              query-1 goes to worker-2 as message-1
              message-1: worker-1 -> worker-2, query, high: I need the type signature and brief description of `TokenStore`. Context: none. Reply with ONLY the signature/definition, no explanation.
              worker-1 running -> waiting_input (it asked worker-2)
            > unknown query-2 core/keys.rs
              query-2 goes to worker-2 as message-2
              message-2: worker-1 -> worker-2, query, high: I need the type signature and brief description of `KeyStore`. Context: none. Reply with ONLY the signature/definition, no explanation.
            > turn worker-2 end_turn
              message-1 queued -> delivered by worker-2
              message-2 queued -> delivered by worker-2
              => prompt worker-2 (messages)
            > reply attempt-2 #message-1 pub struct TokenStore
              query-1 answered by worker-2, 41 spent, 0 saved: pub struct TokenStore
            > reply attempt-2 #message-2 pub struct KeyStore
              query-2 answered by worker-2, 39 spent, 0 saved: pub struct KeyStore
              worker-1 waiting_input -> running (a slot is free)
        "#]],
    );
}

/// S0-130: two workers query each other at the same time. The first query reaches its owner; the
/// second would close a cycle and is refused, so that its turn ends and it can answer the first.
#[test]
fn two_workers_that_query_each_other_do_not_deadlock() {
    check_two(
        "
            query attempt-1 TokenStore
            query attempt-2 LoginForm
            unknown query-1 core/tokens.rs
            unknown query-2 ui/login.rs
            turn worker-2 end_turn
            reply attempt-2 pub struct TokenStore
        ",
        &expect![[r#"
            > query attempt-1 TokenStore
              query-1: worker-1 needs TokenStore (tool) until 60000 ms
              => consult the index of /checkouts/attempt-1 for query-1
            > query attempt-2 LoginForm
              query-2: worker-2 needs LoginForm (tool) until 60000 ms
              => consult the index of /checkouts/attempt-2 for query-2
            > unknown query-1 core/tokens.rs
              query-1 goes to worker-2 as message-1
              message-1: worker-1 -> worker-2, query, high: I need the type signature and brief description of `TokenStore`. Context: none. Reply with ONLY the signature/definition, no explanation.
              worker-1 running -> waiting_input (it asked worker-2)
            > unknown query-2 ui/login.rs
              query-2 worker-1 could not be asked, 0 spent, 0 saved: Agent worker-1 not available for cross-region query. It waits for you.
            > turn worker-2 end_turn
              message-1 queued -> delivered by worker-2
              => prompt worker-2 (messages)
            > reply attempt-2 pub struct TokenStore
              query-1 answered by worker-2, 41 spent, 0 saved: pub struct TokenStore
              worker-1 waiting_input -> running (a slot is free)
        "#]],
    );
}

/// S0-130: through a third worker.
#[test]
fn three_workers_that_query_each_other_do_not_deadlock() {
    check(
        "
            ~ plan demo | ui in ui | core in core | api in api
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ start task-3
            ~ query attempt-1 TokenStore
            ~ query attempt-2 Route
            ~ query attempt-3 LoginForm
            unknown query-1 core/tokens.rs
            unknown query-2 api/route.rs
            unknown query-3 ui/login.rs
        ",
        &expect![[r#"
            > unknown query-1 core/tokens.rs
              query-1 goes to worker-2 as message-1
              message-1: worker-1 -> worker-2, query, high: I need the type signature and brief description of `TokenStore`. Context: none. Reply with ONLY the signature/definition, no explanation.
              worker-1 running -> waiting_input (it asked worker-2)
            > unknown query-2 api/route.rs
              query-2 goes to worker-3 as message-2
              message-2: worker-2 -> worker-3, query, high: I need the type signature and brief description of `Route`. Context: none. Reply with ONLY the signature/definition, no explanation.
              worker-2 running -> waiting_input (it asked worker-3)
            > unknown query-3 ui/login.rs
              query-3 worker-1 could not be asked, 0 spent, 0 saved: Agent worker-1 not available for cross-region query. It waits for you.
        "#]],
    );
}

/// S0-130: a parent begins to wait for a sub-task that waits for it.
#[test]
fn a_parent_that_begins_to_wait_ends_what_its_subtask_asks_it() {
    check(
        "
            ~ plan demo | core in core
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 | look
            ~ checkout attempt-2
            ~ ready worker-2
            ~ query attempt-2 TokenStore
            unknown query-1 core/tokens.rs
            await attempt-1 60s
        ",
        &expect![[r#"
            > unknown query-1 core/tokens.rs
              query-1 goes to worker-1 as message-1
              message-1: worker-2 -> worker-1, query, high: I need the type signature and brief description of `TokenStore`. Context: none. Reply with ONLY the signature/definition, no explanation.
              worker-2 running -> waiting_input (it asked worker-1)
            > await attempt-1 60s
              worker-1 waits for subtask-2 until 60000 ms
              query-1 worker-1 could not be asked, 0 spent, 0 saved: Agent worker-1 not available for cross-region query. It waits for you.
              message-1 queued -> dead (its sender no longer waits)
              worker-1 running -> waiting_subtasks (it waits for its sub-tasks)
              worker-2 waiting_input -> running (a slot is free)
        "#]],
    );
}

/// S0-130: the last step of a cycle may be made by a worker that the owner waits for.
#[test]
fn a_subtask_of_the_owner_that_asks_the_asker_ends_the_query() {
    check_two(
        "
            ~ spawn attempt-2 wait=60s | look isolated
            ~ start subtask-3
            ~ query attempt-1 TokenStore
            unknown query-1 core/tokens.rs
            ask attempt-3 @worker-1 which port?
        ",
        &expect![[r#"
            > unknown query-1 core/tokens.rs
              query-1 goes to worker-2 as message-1
              message-1: worker-1 -> worker-2, query, high: I need the type signature and brief description of `TokenStore`. Context: none. Reply with ONLY the signature/definition, no explanation.
              worker-1 running -> waiting_input (it asked worker-2)
            > ask attempt-3 @worker-1 which port?
              message-2: worker-3 -> worker-1, question, normal: which port?
              query-1 worker-2 could not be asked, 0 spent, 0 saved: Agent worker-2 not available for cross-region query. It waits for you.
              message-1 queued -> dead (its sender no longer waits)
              worker-1 waiting_input -> running (a slot is free)
        "#]],
    );
}

/// S0-130: or by one that begins to wait between them.
#[test]
fn a_subtask_of_the_owner_that_begins_to_wait_ends_the_query() {
    check_two(
        "
            ~ slots 6
            ~ spawn attempt-2 wait=60s | look isolated
            ~ start subtask-3
            ~ spawn attempt-3 | deeper
            ~ start subtask-4
            ~ ask attempt-4 @worker-1 which port?
            ~ query attempt-1 TokenStore
            unknown query-1 core/tokens.rs
            await attempt-3 60s
        ",
        &expect![[r#"
            > unknown query-1 core/tokens.rs
              query-1 goes to worker-2 as message-2
              message-2: worker-1 -> worker-2, query, high: I need the type signature and brief description of `TokenStore`. Context: none. Reply with ONLY the signature/definition, no explanation.
              worker-1 running -> waiting_input (it asked worker-2)
            > await attempt-3 60s
              worker-3 waits for subtask-4 until 60000 ms
              query-1 worker-2 could not be asked, 0 spent, 0 saved: Agent worker-2 not available for cross-region query. It waits for you.
              message-2 queued -> dead (its sender no longer waits)
              worker-3 running -> waiting_subtasks (it waits for its sub-tasks)
              worker-1 waiting_input -> running (a slot is free)
        "#]],
    );
}

/// A turn ends while it waits for an owner and for sub-tasks: it continues with the sub-tasks.
#[test]
fn a_parent_whose_turn_ends_during_a_query_gets_its_results() {
    check_two(
        "
            ~ spawn attempt-1 | look
            ~ start subtask-3
            ~ query attempt-1 TokenStore
            ~ unknown query-1 core/tokens.rs
            turn worker-1 end_turn
            finish subtask-3
        ",
        &expect![[r#"
            > turn worker-1 end_turn
              query-1 the asker no longer waits, 0 spent, 0 saved
              message-1 queued -> dead (its sender no longer waits)
            > finish subtask-3
              task-3 verifying -> completed
              worker-1 waiting_input -> running (a slot is free)
              worker-1 hears of subtask-3
        "#]],
    );
}
