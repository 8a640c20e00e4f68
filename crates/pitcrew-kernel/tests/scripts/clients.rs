//! Outside clients: they drive plans, and create sub-tasks.

use crate::script::check;
use expect_test::expect;
use pitcrew_kernel::worker_access;
use pitcrew_model::{CheckoutRole, WorkerId};

/// A call is repeated after its answer was lost, and carried out once.
#[test]
fn a_call_of_a_client_is_carried_out_once() {
    check(
        "
            client once n1 plan demo | a
            client once n1 plan demo | a
            client once n2 cancel plan-1
            client once n4 approve request-1
        ",
        &expect![[r#"
            > client once n1 plan demo | a
              a client calls, nonce n1
              plan-1 = demo
              task-1 = a
              plan-1 draft -> awaiting_approval
              request-1: may the plan run?
            > client once n1 plan demo | a
              nothing
            > client once n2 cancel plan-1
              a client calls, nonce n2
              request-1 at_user -> withdrawn
              plan-1 awaiting_approval -> cancelled (cancelled)
              task-1 pending -> cancelled (cancelled)
            > client once n4 approve request-1
              rejected: only a person may do this, not client
        "#]],
    );
}

/// S1-041: an outside client has sub-tasks, and these have none.
#[test]
fn a_standalone_agent_has_one_level_of_subtasks() {
    check(
        "
            client once n1 spawn | look | write on=src/a
            client once n1 spawn | look | write on=src/a
            ~ prepared plan-1
            ~ start task-1
            spawn attempt-1 | deeper
            work task-1
        ",
        &expect![[r#"
            > client once n1 spawn | look | write on=src/a
              a client calls, nonce n1
              plan-1 = client: Do look.
              task-1 = 1 Do look.
              task-2 = 2 Do write.
              plan-1 holds subtask-1, subtask-2 of a client
              plan-1 draft -> awaiting_approval
              plan-1 awaiting_approval -> active (its sub-tasks were created)
              => prepare plan-1
            > client once n1 spawn | look | write on=src/a
              nothing
            > spawn attempt-1 | deeper
              rejected: the sub-task would be at depth 2, and the limit is 1; do this part yourself
            > work task-1
              task-1 integrating -> completed
        "#]],
    );
}

/// S1-041: the settings for every plan apply to the sub-tasks of a client: caps and denied paths.
#[test]
fn the_house_rules_apply_to_a_standalone_agent() {
    check(
        "
            client spawn denied=infra | write on=infra/main.tf
            client spawn denied=infra tokens=100 | write isolated on=src/a
            ~ prepared plan-1
            ~ start task-1
            show prompt worker-1
            uses worker-1 200
        ",
        &expect![[r#"
            > client spawn denied=infra | write on=infra/main.tf
              rejected: sub-task 1 would change infra/main.tf, but no task may change `infra`; name other files
            > client spawn denied=infra tokens=100 | write isolated on=src/a
              plan-1 = client: Do write.
              task-1 = 1 Do write.
              plan-1 holds subtask-1 of a client
              plan-1 draft -> awaiting_approval
              plan-1 awaiting_approval -> active (its sub-tasks were created)
              => prepare plan-1
            > show prompt worker-1
              | # Task 1 Do write. (task-1, attempt 1)
              |
              | Do write.
              |
              | ## Where you work
              | Your checkout is /checkouts/attempt-1. It is yours alone: work nowhere else.
              | You may change: src/a. Changes elsewhere are refused, and the attempt fails.
              | Do not change: infra.
              | You do not have to commit: your changes are committed when you finish.
              | If you commit, stay on the current branch.
              |
              | ## Code outside your region
              | Do not read files outside your region. Look up what you need instead: it is free.
              | For a type, a function or a constant, call `a2a_query` with its name as `symbol` and the import line or the path as `context`.
              | You get its signature, its fields and its location.
              | If you do not have this tool, write a line `NEED: NAME from PATH` outside of code blocks and end your turn. The answer is in your next prompt.
              |
              | ## How to finish
              | When the task is done, call `orchestrator_complete_task` with a `summary` of what you changed.
              | If you finished only part of it, add `"outcome": "partial"` and say what is missing.
              | If it cannot be done, add `"outcome": "failed"` and say why.
              | If you do not have this tool, run: pitcrew tool orchestrator_complete_task --json '{"summary": "..."}'
              | Do not just end your turn: without this call the task is not done.
              |
              | If you need a person to decide something, call `a2a_notify_orchestrator` with kind `question`, then end your turn.
              | The answer is in your next prompt.
            > uses worker-1 200
              worker-1 has used 100 + 100 tokens, 0 cached, $0.00
              worker-1 running -> waiting_permission (plan-1 has used 200 of 100 tokens)
              => interrupt worker-1
              request-1: plan-1 has used 200 of 100 tokens: as much once more?
        "#]],
    );
}

/// A reader has its own checkout there, and none of its changes is accepted.
#[test]
fn changes_of_a_standalone_reader_are_refused() {
    check(
        "
            client spawn | look | write isolated
            ~ prepared plan-1
            ~ start task-1
            show prompt worker-1
        ",
        &expect![[r#"
            > client spawn | look | write isolated
              plan-1 = client: Do look.
              task-1 = 1 Do look.
              task-2 = 2 Do write.
              plan-1 holds subtask-1, subtask-2 of a client
              plan-1 draft -> awaiting_approval
              plan-1 awaiting_approval -> active (its sub-tasks were created)
              => prepare plan-1
            > show prompt worker-1
              | # Task 1 Do look. (task-1, attempt 1)
              |
              | Do look.
              |
              | ## Where you work
              | You are in /checkouts/attempt-1.
              | Do not change files: if you leave a change, it is refused and the attempt fails.
              | Report what you find in your summary.
              |
              | ## How to finish
              | When the task is done, call `orchestrator_complete_task` with a `summary` of what you changed.
              | If you finished only part of it, add `"outcome": "partial"` and say what is missing.
              | If it cannot be done, add `"outcome": "failed"` and say why.
              | If you do not have this tool, run: pitcrew tool orchestrator_complete_task --json '{"summary": "..."}'
              | Do not just end your turn: without this call the task is not done.
              |
              | If you need a person to decide something, call `a2a_notify_orchestrator` with kind `question`, then end your turn.
              | The answer is in your next prompt.
        "#]],
    );
    let mut script = crate::script::Script::default();
    script.run("~ client spawn | look | write isolated\n~ prepared plan-1\n~ start task-1");
    script.run("~ start task-2");
    let stay = |worker| worker_access(&script.state, WorkerId(worker)).stay;
    assert_eq!((stay(1), stay(2)), (CheckoutRole::Reader, CheckoutRole::Owner));
    let may_read = |worker| worker_access(&script.state, WorkerId(worker)).zone.allows("src/a");
    assert!(may_read(1) && may_read(2), "to find something out");
}

/// S1-041: the results of readers are the answer: no landing is open. A retry reopens the plan,
/// which ends the same way.
#[test]
fn a_plan_of_readers_leaves_nothing_to_land() {
    check(
        "
            ~ client spawn | look | test
            ~ prepared plan-1
            ~ work task-1
            ~ start task-2
            ~ complete attempt-2 failed cannot say
            turn worker-2 end_turn
            ~ stopped worker-2
            removed attempt-1
            ~ saved attempt-2
            retry task-2
            work task-2
        ",
        &expect![[r#"
            > turn worker-2 end_turn
              attempt-2 ended: failed (the agent gave up: cannot say)
              worker-2 running -> failed (the agent gave up: cannot say)
              => stop worker-2
              task-2 running -> failed (the agent gave up: cannot say)
              plan-1 active -> partial (1 of 2 tasks are completed)
              plan-1 landing none -> abandoned (its sub-tasks only read: there is nothing to land)
              => remove checkout attempt-1
            > removed attempt-1
              nothing
            > retry task-2
              plan-1 landing abandoned -> none (retry)
              plan-1 partial -> active (retry)
              task-2 is granted one more attempt
              task-2 failed -> pending (a person asked for a retry)
              task-2 pending -> queued
              task-2 queued -> starting (a slot is free)
              attempt-3 opened: task-2 #2 from saved-2, judged against base
              => prepare checkout attempt-3
            > work task-2
              task-2 integrating -> completed
              plan-1 active -> completed (2 of 2 tasks are completed)
        "#]],
    );
}

/// The path is not denied to every task: only this task may not change it.
#[test]
fn the_refusal_of_a_readers_change_says_that_it_only_reads() {
    check(
        "
            ~ client spawn | look | write isolated
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ finish task-1
            ~ finish task-2
            fail attempt-1 gate-denied src/a
            fail attempt-2 gate-denied src/a
        ",
        &expect![[r#"
            > fail attempt-1 gate-denied src/a
              attempt-1 ended: failed (refused at the gate: src/a is a change by a sub-task that may only read)
              => save work of attempt-1
              task-1 verifying -> failed (refused at the gate: src/a is a change by a sub-task that may only read)
            > fail attempt-2 gate-denied src/a
              attempt-2 ended: failed (refused at the gate: src/a is in a path that no task may change)
              => save work of attempt-2
              task-2 verifying -> failed (refused at the gate: src/a is in a path that no task may change)
              plan-1 active -> failed (0 of 2 tasks are completed)
        "#]],
    );
}

/// S1-041, S4-028: the limits apply, and a command that needs no approval is not delegated unseen.
#[test]
fn the_limits_of_a_standalone_agent() {
    check(
        "
            client spawn | p | q | r | s | t | u | v | w | x | y | z
            client spawn | look | write shared on=src/a
            client spawn | build command=make
            ~ matrix standalone=0
            client spawn | look
            ~ matrix ask=subtask_spawning
            client spawn | look
        ",
        &expect![[r#"
            > client spawn | p | q | r | s | t | u | v | w | x | y | z
              rejected: 0 sub-tasks of clients are open and 11 more are requested, and the limit is 10; request fewer, or wait until some have ended
            > client spawn | look | write shared on=src/a
              rejected: sub-task 2 cannot be `shared`, because you have no checkout; use `isolated` or `read_only`
            > client spawn | build command=make
              rejected: command_execution is ask_user (built in), so only a person may create sub-tasks; do this part yourself, or ask a person to add `command_execution` under Auto-Approve in `pitcrew permissions edit` and to run `pitcrew stop`
            > client spawn | look
              rejected: the sub-task would be at depth 1, and the limit is 0; do this part yourself
            > client spawn | look
              rejected: subtask_spawning is ask_user (permissions.md:5), so only a person may create sub-tasks; do this part yourself, or ask a person to add `subtask_spawning` under Auto-Approve in `pitcrew permissions edit` and to run `pitcrew stop`
        "#]],
    );
}
