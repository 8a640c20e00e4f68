//! A person's own agent: it drives plans, and hands out parts of its work like others.

use crate::script::check;
use expect_test::expect;

/// A call whose answer was lost is made again, and carried out once.
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
              rejected: client may not do this: only a person can
        "#]],
    );
}

/// S1-041: an agent that works for no plan has sub-tasks, and these have none.
#[test]
fn a_standalone_agent_hands_out_one_level() {
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
              plan-1 awaiting_approval -> active (sub-tasks are handed out)
              => prepare plan-1
            > client once n1 spawn | look | write on=src/a
              nothing
            > spawn attempt-1 | deeper
              rejected: a sub-task of yours would be at depth 2, and 1 is the deepest there may be: do this part yourself
            > work task-1
              task-1 integrating -> completed
        "#]],
    );
}

/// S1-041, S4-028: within the limits, and what would run without being asked is not handed out.
#[test]
fn what_a_standalone_agent_may_not_hand_out() {
    check(
        "
            client spawn | p | q | r | s | t | u | v | w | x | y | z
            client spawn | build command=make
            ~ matrix standalone=0
            client spawn | look
            ~ matrix ask=subtask_spawning
            client spawn | look
        ",
        &expect![[r#"
            > client spawn | p | q | r | s | t | u | v | w | x | y | z
              rejected: 0 sub-tasks of clients have not ended and 11 more are asked for, and 10 is all there may be: wait for some of them
            > client spawn | build command=make
              rejected: command_execution is ask_user in the permissions, so only a person hands out work here: do it yourself; `pitcrew permissions` shows which file says so
            > client spawn | look
              rejected: a sub-task of yours would be at depth 1, and 0 is the deepest there may be: do this part yourself
            > client spawn | look
              rejected: subtask_spawning is ask_user in the permissions, so only a person hands out work here: do it yourself; `pitcrew permissions` shows which file says so
        "#]],
    );
}
