//! Permission requests of sub-tasks: decided by the parent, then the matrix, then a person.

use crate::script::check;
use expect_test::expect;

/// S4-042, S4-044: a sub-task inherits what the matrix and the plan allow its parent.
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

/// S4-043, S4-045, S4-050, S4-051, S4-049: a permission that the parent lacks goes to a person, and
/// each step is recorded.
#[test]
fn a_permission_that_the_parent_lacks_goes_to_a_person() {
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
              request-1 requested -> at_orchestrator (task-1 lacks this permission too)
              request-1 at_orchestrator -> at_user (the rule is ask_user)
              worker-2 running -> waiting_permission (it requests a permission)
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

/// S4-043, S4-047, S4-051: a parent may pass on what a person granted it: to all its sub-tasks at
/// once, and nothing more.
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
              request-2 requested -> at_parent (task-1 has this permission)
              worker-3 running -> waiting_permission (it requests a permission)
            > permit worker-4 execute make
              request-3: may it execute make?
              request-3 requested -> at_parent (task-1 has this permission)
              worker-4 running -> waiting_permission (it requests a permission)
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

/// S4-016: a revoked grant is not passed on; a parent may deny anything.
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

/// S4-046: permissions of the parent are inherited without a request, if the limits say so.
#[test]
fn permissions_of_the_parent_are_inherited_if_the_limits_say_so() {
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
              request-2 requested -> at_orchestrator (task-1 lacks this permission too)
              request-2 at_orchestrator -> at_user (the rule is ask_user)
              worker-2 running -> waiting_permission (it requests a permission)
        "#]],
    );
}

/// S4-048: a waiting parent is woken to decide; a request to any other parent moves on.
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
              request-2 requested -> at_parent (task-1 has this permission)
              worker-2 running -> waiting_permission (it requests a permission)
              worker-1 waiting_subtasks -> running (a slot is free)
              worker-1 is answered: one of them asks it; subtask-2 go on
            > tick +60s
              request-2 at_parent -> at_orchestrator (its parent did not decide in time)
              request-2 at_orchestrator -> at_user (the rule is ask_user)
            > approve request-2
              request-2 at_user -> approved
              worker-2 waiting_permission -> running (a slot is free)
              => answer worker-2, call execute make: yes
        "#]],
    );
}

/// In a borrowed checkout a sub-task may change only its target files.
#[test]
fn a_subtask_changes_only_its_target_files() {
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

/// A parent without a slot keeps waiting for the result if the request was decided meanwhile.
#[test]
fn a_parent_is_not_woken_for_a_decided_request() {
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
              request-2 requested -> at_parent (task-1 has this permission)
              worker-3 running -> waiting_permission (it requests a permission)
            > approve request-2
              request-2 at_parent -> approved
            > slots 9
              slots: 9
              worker-3 waiting_permission -> running (a slot is free)
              => answer worker-3, call execute make: yes
        "#]],
    );
}
