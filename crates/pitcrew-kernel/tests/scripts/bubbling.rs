//! A sub-task asks: its parent decides what it holds, then the matrix, then a person.

use crate::script::check;
use expect_test::expect;

/// S4-042, S4-044: what the matrix and the plan allow, a sub-task has from its parent.
#[test]
fn a_subtask_inherits_the_level_of_its_parent() {
    check(
        "
            ~ slots 3
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ permit worker-1 execute make
            ~ approve request-1 scope=plan
            ~ answered worker-1
            ~ spawn attempt-1 | look isolated
            ~ start subtask-2
            permit worker-2 edit src/a
            permit worker-2 execute make
            permit worker-2 execute git push -f
        ",
        &expect![[r#"
            > permit worker-2 edit src/a
              => answer worker-2, call edit src/a: yes
            > permit worker-2 execute make
              => answer worker-2, call execute make: yes
            > permit worker-2 execute git push -f
              => answer worker-2, call execute git push -f: no
        "#]],
    );
}

/// S4-043, S4-045, S4-050, S4-051, S4-049: what its parent does not hold goes on to a person, and
/// the way is on record.
#[test]
fn what_the_parent_does_not_hold_goes_to_a_person() {
    check(
        "
            ~ slots 3
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 | look isolated
            ~ start subtask-2
            permit worker-2 execute make
            child attempt-1 approve request-1
            child attempt-2 approve request-1
            child attempt-1 approve request-9
            approve request-1
        ",
        &expect![[r#"
            > permit worker-2 execute make
              request-1: may it execute make?
              request-1 requested -> at_orchestrator (task-1 would have to ask for it too)
              request-1 at_orchestrator -> at_user (the rule is ask_user)
              worker-2 running -> waiting_permission (it asks for permission)
            > child attempt-1 approve request-1
              rejected: request-1 is at_user: you cannot decide it
            > child attempt-2 approve request-1
              rejected: request-1 is not a request of one of your sub-tasks
            > child attempt-1 approve request-9
              rejected: there is no request-9; `pitcrew inbox` lists the open requests
            > approve request-1
              request-1 at_user -> approved
              worker-2 waiting_permission -> running (a slot is free)
              => answer worker-2, call execute make: yes
        "#]],
    );
}

/// S4-043, S4-047, S4-051: what a person has allowed the parent, the parent may allow its own
/// sub-tasks: all at once, and nothing beyond.
#[test]
fn a_parent_decides_what_it_holds_in_a_batch() {
    check(
        "
            ~ slots 4
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ permit worker-1 execute make
            ~ approve request-1 scope=task
            ~ answered worker-1
            ~ spawn attempt-1 | look isolated | test isolated
            ~ start subtask-3
            ~ start subtask-4
            permit worker-3 execute make
            permit worker-4 execute make
            child attempt-2 approve request-2
            child attempt-1 approve request-2 request-3
            child attempt-1 deny request-2
        ",
        &expect![[r#"
            > permit worker-3 execute make
              request-2: may it execute make?
              request-2 requested -> at_parent (task-1 may do the same itself)
              worker-3 running -> waiting_permission (it asks for permission)
            > permit worker-4 execute make
              request-3: may it execute make?
              request-3 requested -> at_parent (task-1 may do the same itself)
              worker-4 running -> waiting_permission (it asks for permission)
            > child attempt-2 approve request-2
              rejected: request-2 is not a request of one of your sub-tasks
            > child attempt-1 approve request-2 request-3
              request-2 at_parent -> approved
              request-3 at_parent -> approved
              worker-3 waiting_permission -> running (a slot is free)
              => answer worker-3, call execute make: yes
              worker-4 waiting_permission -> running (a slot is free)
              => answer worker-4, call execute make: yes
            > child attempt-1 deny request-2
              rejected: request-2 is approved: you cannot decide it
        "#]],
    );
}

/// S4-016: a grant that is revoked is not handed down; a parent that is refused nothing may refuse.
#[test]
fn a_parent_never_allows_more_than_it_holds() {
    check(
        "
            ~ slots 4
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ permit worker-1 execute make
            ~ approve request-1 scope=task
            ~ answered worker-1
            ~ spawn attempt-1 | look isolated
            ~ start subtask-2
            ~ permit worker-2 execute make
            ~ revoke grant-1
            child attempt-1 approve
            child attempt-1 deny
        ",
        &expect![[r#"
            > child attempt-1 approve
              rejected: you cannot approve request-2: you need permission for command_execution yourself
            > child attempt-1 deny
              request-2 at_parent -> denied
              worker-2 waiting_permission -> running (a slot is free)
              => answer worker-2, call execute make: no
        "#]],
    );
}

/// S4-046: nobody is asked for what the parent holds, where the limits say so.
#[test]
fn what_a_parent_holds_is_handed_down_where_the_limits_say_so() {
    check(
        "
            ~ slots 3
            ~ matrix subtasks=auto
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ permit worker-1 execute make
            ~ approve request-1 scope=task
            ~ answered worker-1
            ~ spawn attempt-1 | look isolated
            ~ start subtask-2
            permit worker-2 execute make
            permit worker-2 execute make x
        ",
        &expect![[r#"
            > permit worker-2 execute make
              => answer worker-2, call execute make: yes
            > permit worker-2 execute make x
              request-2: may it execute make x?
              request-2 requested -> at_orchestrator (task-1 would have to ask for it too)
              request-2 at_orchestrator -> at_user (the rule is ask_user)
              worker-2 running -> waiting_permission (it asks for permission)
        "#]],
    );
}

/// S4-048: a parent that waits is answered early, so that it can decide; one that does not is passed
/// over.
#[test]
fn a_waiting_parent_is_woken_and_a_silent_one_is_passed_over() {
    check(
        "
            ~ slots 3
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ permit worker-1 execute make
            ~ approve request-1 scope=task
            ~ answered worker-1
            ~ spawn attempt-1 wait=600s | look isolated
            ~ start subtask-2
            permit worker-2 execute make
            tick +60s
            approve request-2
        ",
        &expect![[r#"
            > permit worker-2 execute make
              request-2: may it execute make?
              request-2 requested -> at_parent (task-1 may do the same itself)
              worker-2 running -> waiting_permission (it asks for permission)
              worker-1 waiting_subtasks -> running (a slot is free)
              worker-1 is answered: one of them asks it; subtask-2 go on
            > tick +60s
              request-2 at_parent -> at_orchestrator (its parent has not answered)
              request-2 at_orchestrator -> at_user (the rule is ask_user)
            > approve request-2
              request-2 at_user -> approved
              worker-2 waiting_permission -> running (a slot is free)
              => answer worker-2, call execute make: yes
        "#]],
    );
}

/// In somebody else's checkout a sub-task changes nothing but what it was given for that.
#[test]
fn a_subtask_changes_nothing_that_is_not_its_own() {
    check(
        "
            ~ slots 3
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 | look
            ~ start subtask-2
            permit worker-2 read src/a
            permit worker-2 edit src/a
        ",
        &expect![[r#"
            > permit worker-2 read src/a
              => answer worker-2, call read src/a: yes
            > permit worker-2 edit src/a
              => answer worker-2, call edit src/a: no
        "#]],
    );
}

/// A parent without a slot, for which somebody else has decided meanwhile, waits on for the result.
#[test]
fn a_parent_is_not_woken_for_what_is_decided() {
    check(
        "
            ~ slots 2
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ start task-1
            ~ permit worker-1 execute make
            ~ approve request-1 scope=task
            ~ answered worker-1
            ~ start task-2
            ~ slots 3
            ~ spawn attempt-1 wait=600s | look isolated | test isolated
            ~ start subtask-3
            ~ start subtask-4
            ~ slots 1
            permit worker-3 execute make
            approve request-2
            slots 9
        ",
        &expect![[r#"
            > permit worker-3 execute make
              request-2: may it execute make?
              request-2 requested -> at_parent (task-1 may do the same itself)
              worker-3 running -> waiting_permission (it asks for permission)
            > approve request-2
              request-2 at_parent -> approved
            > slots 9
              slots: 9
              worker-3 waiting_permission -> running (a slot is free)
              => answer worker-3, call execute make: yes
        "#]],
    );
}
