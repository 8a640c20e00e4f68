//! Limits of queries: cost, time and number.

use super::queries::check_two;
use crate::script::check;
use expect_test::expect;

/// S0-120: time is limited; both sides are informed, and a late answer is kept and forwarded.
#[test]
fn a_query_does_not_wait_for_a_late_owner() {
    check_two(
        "
            ~ query attempt-1 TokenStore
            ~ unknown query-1 core/tokens.rs near=Tokens
            ~ turn worker-2 end_turn
            tick +60s
            reply attempt-2 #message-1 pub struct TokenStore
            repeat
            query attempt-1 TokenStore again
            unknown query-2 core/tokens.rs
        ",
        &expect![[r#"
            > tick +60s
              query-1 worker-2 did not answer in time, 35 spent, 0 saved: Agent worker-2 not available for cross-region query. It did not answer within 60 seconds; you get a late answer as a message. Nearest names: Tokens.
              message-2: orchestrator -> worker-2, update, low: worker-1 continued without your answer to message-1. If you know the answer, send it anyway: it is kept for later queries.
              worker-1 waiting_input -> running (a slot is free)
            > reply attempt-2 #message-1 pub struct TokenStore
              query-1 answered late by worker-2, 6 spent: pub struct TokenStore
              message-3: worker-2 -> worker-1, update, normal: Late answer to your query for `TokenStore`: pub struct TokenStore
            > repeat
              rejected: message-1 is not a question to you, or its sender no longer waits for the answer
            > query attempt-1 TokenStore again
              query-2: worker-1 needs TokenStore (tool) until 120000 ms
              => consult the index of /checkouts/attempt-1 for query-2
            > unknown query-2 core/tokens.rs
              query-2 answered with what worker-2 said before, 0 spent, 0 saved: pub struct TokenStore
        "#]],
    );
}

/// An unread question is withdrawn.
#[test]
fn an_unread_question_is_withdrawn_at_the_timeout() {
    check_two(
        "
            ~ query attempt-1 TokenStore
            ~ unknown query-1 core/tokens.rs
            tick +60s
            turn worker-2 end_turn
            reply attempt-2 #message-1 pub struct TokenStore
        ",
        &expect![[r#"
            > tick +60s
              query-1 worker-2 did not answer in time, 0 spent, 0 saved: Agent worker-2 not available for cross-region query. It did not answer within 60 seconds.
              message-1 queued -> dead (its sender no longer waits)
              worker-1 waiting_input -> running (a slot is free)
            > turn worker-2 end_turn
              => prompt worker-2 (reminder)
            > reply attempt-2 #message-1 pub struct TokenStore
              rejected: message-1 is not a question to you, or its sender no longer waits for the answer
        "#]],
    );
}

/// A hanging index blocks no worker.
#[test]
fn a_query_does_not_wait_for_a_hanging_index() {
    check_two(
        "
            ~ query attempt-1 TokenStore
            tick +60s
            indexed query-1 4096 struct TokenStore
        ",
        &expect![[r#"
            > tick +60s
              query-1 no answer in time, 0 spent, 0 saved: The index did not answer within 60 seconds.
            > indexed query-1 4096 struct TokenStore
              nothing
        "#]],
    );
}

/// S0-120: the cost is limited for a worker and for a plan.
#[test]
fn no_owner_is_asked_over_the_budget() {
    check(
        "
            query-limits 560 1200 60s
            repeat
            ~ plan demo | ui in ui | web in web | core in core
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ start task-3
            ~ query attempt-1 One
            unknown query-1 core/a.rs
            ~ query attempt-1 Two
            unknown query-2 core/a.rs
            ~ query attempt-2 Three
            unknown query-3 core/a.rs
            turn worker-3 end_turn
            reply attempt-3 #message-1 struct One
            ~ query attempt-1 Four
            unknown query-4 core/a.rs
        ",
        &expect![[r#"
            > query-limits 560 1200 60s
              queries: 560 and 1200 tokens, 60000 ms
            > repeat
              nothing
            > unknown query-1 core/a.rs
              query-1 goes to worker-3 as message-1
              message-1: worker-1 -> worker-3, query, high: I need the type signature and brief description of `One`. Context: none. Reply with ONLY the signature/definition, no explanation.
              worker-1 running -> waiting_input (it asked worker-3)
            > unknown query-2 core/a.rs
              query-2 the budget of the worker is used up, 0 spent, 0 saved: Symbol 'Two' not found in workspace symbol tree or active agents. Its owner was not asked: the 560 tokens that the questions of one worker may cost are used up.
            > unknown query-3 core/a.rs
              query-3 goes to worker-3 as message-2
              message-2: worker-2 -> worker-3, query, high: I need the type signature and brief description of `Three`. Context: none. Reply with ONLY the signature/definition, no explanation.
              worker-2 running -> waiting_input (it asked worker-3)
            > turn worker-3 end_turn
              message-1 queued -> delivered by worker-3
              message-2 queued -> delivered by worker-3
              => prompt worker-3 (messages)
            > reply attempt-3 #message-1 struct One
              query-1 answered by worker-3, 36 spent, 0 saved: struct One
              worker-1 waiting_input -> running (a slot is free)
            > unknown query-4 core/a.rs
              query-4 the budget of the worker is used up, 0 spent, 0 saved: Symbol 'Four' not found in workspace symbol tree or active agents. Its owner was not asked: the 560 tokens that the questions of one worker may cost are used up.
        "#]],
    );
}

/// S0-034, S0-050, S0-128: kept by name and path, until the owner changes something.
#[test]
fn an_answer_is_kept_until_its_owner_changes_something() {
    check_two(
        "
            snapshots
            ~ query attempt-1 TokenStore
            ~ unknown query-1 core/tokens.rs
            ~ turn worker-2 end_turn
            ~ unchanged attempt-2
            reply attempt-2 pub struct TokenStore
            ~ query attempt-1 TokenStore again
            unknown query-2 core/tokens.rs
            ~ query attempt-1 TokenStore elsewhere
            unknown query-3 core/other.rs
            ~ turn worker-2 end_turn
            ~ snapshot attempt-2 edited
            ~ query attempt-1 TokenStore later
            unknown query-4 core/tokens.rs
        ",
        &expect![[r#"
            > snapshots
            > reply attempt-2 pub struct TokenStore
              query-1 answered by worker-2, 41 spent, 0 saved: pub struct TokenStore
              worker-1 waiting_input -> running (a slot is free)
            > unknown query-2 core/tokens.rs
              query-2 answered with what worker-2 said before, 0 spent, 0 saved: pub struct TokenStore
            > unknown query-3 core/other.rs
              query-3 goes to worker-2 as message-2
              message-2: worker-1 -> worker-2, query, high: I need the type signature and brief description of `TokenStore`. Context: elsewhere. Reply with ONLY the signature/definition, no explanation.
              worker-1 running -> waiting_input (it asked worker-2)
            > unknown query-4 core/tokens.rs
              query-4 goes to worker-2 as message-3
              message-3: worker-1 -> worker-2, query, high: I need the type signature and brief description of `TokenStore`. Context: later. Reply with ONLY the signature/definition, no explanation.
        "#]],
    );
}

/// S0-128: the last text of a turn without an answer is returned, but never kept.
#[test]
fn the_last_text_of_a_turn_is_returned_and_not_kept() {
    check_two(
        "
            ~ query attempt-1 TokenStore
            ~ unknown query-1 core/tokens.rs
            ~ turn worker-2 end_turn
            turn worker-2 end_turn saying pub struct TokenStore
            ~ query attempt-1 TokenStore again
            unknown query-2 core/tokens.rs
        ",
        &expect![[r#"
            > turn worker-2 end_turn saying pub struct TokenStore
              message-1 delivered -> processed by worker-2
              query-1 answered with the last words of worker-2, 41 spent, 0 saved: pub struct TokenStore
              worker-1 waiting_input -> running (a slot is free)
              => prompt worker-2 (reminder)
            > unknown query-2 core/tokens.rs
              query-2 goes to worker-2 as message-2
              message-2: worker-1 -> worker-2, query, high: I need the type signature and brief description of `TokenStore`. Context: none. Reply with ONLY the signature/definition, no explanation.
              worker-1 running -> waiting_input (it asked worker-2)
        "#]],
    );
}

/// Everything has a limit.
#[test]
fn open_queries_of_a_worker_are_limited() {
    let ask = |it| format!("~ query attempt-1 Name{it}\n");
    let asks: String = (1..=10).map(ask).collect();
    check_two(
        &format!("{asks} query attempt-1 Name11"),
        &expect![[r#"
            > query attempt-1 Name11
              rejected: worker-1 already waits for 10 answers, which is the limit; wait for some of them
        "#]],
    );
}

/// After a restart the output of an agent is read from its beginning: old queries are recognised.
#[test]
fn old_queries_are_not_repeated() {
    let answered = |it| format!("~ need attempt-1 Name{it}\n~ indexed query-{it} 40 struct Name\n");
    let before: String = (1..=40).map(answered).collect();
    check_two(
        &format!("{before} need attempt-1 Name1"),
        &expect![[r#"
        > need attempt-1 Name1
          nothing
    "#]],
    );
}
