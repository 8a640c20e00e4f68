//! Grants.

use crate::script::check;
use expect_test::expect;

/// S4-148: a person decides a repeated request once, by content and not by title.
#[test]
fn a_grant_for_a_plan_covers_repeated_requests() {
    check(
        "
            ~ plan demo | a | b
            ~ plan other | c
            ~ prepared plan-1
            ~ prepared plan-2
            ~ start task-1
            ~ start task-2
            ~ start task-3
            ~ permit worker-1 execute make
            approve request-1 scope=plan
            ~ answered worker-1
            permit worker-1 execute make
            permit worker-2 execute make
            permit worker-3 execute make
            permit worker-1 execute make all
        ",
        &expect![[r#"
            > approve request-1 scope=plan
              request-1 at_user -> approved
              grant-1: command_execution make (plan-1)
              worker-1 waiting_permission -> running (a slot is free)
              => answer worker-1, call execute make: yes
            > permit worker-1 execute make
              => answer worker-1, call execute make: yes
            > permit worker-2 execute make
              => answer worker-2, call execute make: yes
            > permit worker-3 execute make
              request-2: may it execute make?
              worker-3 running -> waiting_permission (it requests a permission)
            > permit worker-1 execute make all
              request-3: may it execute make all?
              worker-1 running -> waiting_permission (it requests a permission)
        "#]],
    );
}

#[test]
fn a_grant_for_a_task_covers_no_other_task() {
    check(
        "
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ permit worker-1 execute make
            ~ approve request-1 scope=task
            ~ answered worker-1
            permit worker-1 execute make
            permit worker-2 execute make
        ",
        &expect![[r#"
            > permit worker-1 execute make
              => answer worker-1, call execute make: yes
            > permit worker-2 execute make
              request-2: may it execute make?
              worker-2 running -> waiting_permission (it requests a permission)
        "#]],
    );
}

#[test]
fn a_grant_answers_all_open_requests_that_it_covers() {
    check(
        "
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ permit worker-1 execute make
            ~ permit worker-2 execute make
            ~ permit worker-2 execute make x
            approve request-1 scope=always
        ",
        &expect![[r#"
            > approve request-1 scope=always
              request-1 at_user -> approved
              grant-1: command_execution make (always)
              request-2 at_user -> approved (grant-1 covers it)
              worker-1 waiting_permission -> running (a slot is free)
              => answer worker-1, call execute make: yes
              worker-2 waiting_permission -> running (a slot is free)
              => answer worker-2, call execute make: yes
        "#]],
    );
}

#[test]
fn a_revoked_grant_asks_again() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ permit worker-1 execute make
            ~ approve request-1 scope=always
            ~ answered worker-1
            revoke grant-1
            revoke grant-1
            permit worker-1 execute make
        ",
        &expect![[r#"
            > revoke grant-1
              grant-1 revoked
            > revoke grant-1
              rejected: there is no active grant-1; `pitcrew permissions` lists the grants
            > permit worker-1 execute make
              request-2: may it execute make?
              worker-1 running -> waiting_permission (it requests a permission)
        "#]],
    );
}

/// S4-016: a grant never covers a denied action, even if it is denied later.
#[test]
fn a_grant_never_covers_a_denied_action() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ permit worker-1 execute gh pr create
            ~ approve request-1 scope=always
            ~ answered worker-1
            permit worker-1 execute gh pr create
            ~ answered worker-1
            ~ matrix deny=pr_creation
            permit worker-1 execute gh pr create
        ",
        &expect![[r#"
            > permit worker-1 execute gh pr create
              => answer worker-1, call execute gh pr create: yes
            > permit worker-1 execute gh pr create
              => answer worker-1, call execute gh pr create: no
        "#]],
    );
}

#[test]
fn a_grant_for_a_path_covers_everything_below_it() {
    check(
        "
            ~ matrix ask=file_edits_in_worktree,file_creation_in_worktree
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ permit worker-1 edit src
            approve request-1 scope=plan
            permit worker-1 edit src/a/b
            permit worker-1 create src/c
            permit worker-1 edit src2/a
        ",
        &expect![[r#"
            > approve request-1 scope=plan
              request-1 at_user -> approved
              grant-1: file_edits_in_worktree  (plan-1)
              worker-1 waiting_permission -> running (a slot is free)
              => answer worker-1, call edit src: yes
            > permit worker-1 edit src/a/b
              => answer worker-1, call edit src/a/b: yes
            > permit worker-1 create src/c
              request-2: may it create src/c?
              worker-1 running -> waiting_permission (it requests a permission)
            > permit worker-1 edit src2/a
              request-3: may it edit src2/a?
        "#]],
    );
}

#[test]
fn an_unspecific_request_is_approved_only_once() {
    check(
        "
            ~ plan demo ask | a
            approve request-1 scope=plan
            approve request-1
            ~ prepared plan-1
            ~ start task-1
            permit worker-1 fetch
            approve request-2 scope=plan
            approve request-2
            permit worker-1 execute make…
            approve request-3 scope=task
        ",
        &expect![[r#"
            > approve request-1 scope=plan
              rejected: request-1 is not specific enough to be allowed more than once; omit `--scope`
            > approve request-1
              request-1 at_user -> approved
              plan-1 awaiting_approval -> active (approved)
              => prepare plan-1
            > permit worker-1 fetch
              request-2: may it fetch?
              worker-1 running -> waiting_permission (it requests a permission)
            > approve request-2 scope=plan
              rejected: request-2 is not specific enough to be allowed more than once; omit `--scope`
            > approve request-2
              request-2 at_user -> approved
              worker-1 waiting_permission -> running (a slot is free)
              => answer worker-1, call fetch: yes
            > permit worker-1 execute make…
              request-3: may it execute make…?
              worker-1 running -> waiting_permission (it requests a permission)
            > approve request-3 scope=task
              rejected: request-3 is not specific enough to be allowed more than once; omit `--scope`
        "#]],
    );
}

/// A grant ends with its scope.
#[test]
fn a_grant_ends_with_its_scope() {
    check(
        "
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ permit worker-1 execute make
            ~ approve request-1 scope=task
            ~ answered worker-1
            ~ permit worker-2 execute make all
            ~ approve request-2 scope=plan
            ~ answered worker-2
            ~ permit worker-2 execute make clean
            ~ approve request-3 scope=always
            ~ answered worker-2
            cancel task-1
            cancel task-2
            revoke grant-3
        ",
        &expect![[r#"
            > cancel task-1
              attempt-1 ended: cancelled (cancelled by person)
              worker-1 running -> killed (cancelled by person)
              => stop worker-1
              task-1 running -> cancelled (cancelled by person)
              grant-1 revoked
            > cancel task-2
              attempt-2 ended: cancelled (cancelled by person)
              worker-2 running -> killed (cancelled by person)
              => stop worker-2
              task-2 running -> cancelled (cancelled by person)
              plan-1 active -> failed (0 of 2 tasks are completed)
              grant-2 revoked
            > revoke grant-3
              grant-3 revoked
        "#]],
    );
}
