//! Accesses outside the zone.

use crate::script::check;
use expect_test::expect;

/// S0-044, S0-045: a refused file is recorded at once, and repeated attempts only a few times.
#[test]
fn a_refused_file_is_recorded() {
    check(
        "
            ~ plan demo | a in ui
            ~ prepared plan-1
            ~ start task-1
            blocked worker-1 7 read core/auth.rs
            blocked worker-1 7 read core/auth.rs
            blocked worker-1 8 write core/auth.rs
            blocked worker-1 9 read core/auth.rs
            blocked worker-1 10 read core/auth.rs
            blocked worker-1 11 read core/auth.rs
            blocked worker-1 12 read core/user.rs
            blocked worker-9 1 read core/user.rs
        ",
        &expect![[r#"
            > blocked worker-1 7 read core/auth.rs
              worker-1 may not read core/auth.rs
              query-1: worker-1 needs core/auth.rs (read) until 60000 ms
              => consult the index of /checkouts/attempt-1 for query-1
            > blocked worker-1 7 read core/auth.rs
              nothing
            > blocked worker-1 8 write core/auth.rs
              worker-1 may not write core/auth.rs
            > blocked worker-1 9 read core/auth.rs
              worker-1 may not read core/auth.rs
              query-2: worker-1 needs core/auth.rs (read) until 60000 ms
              => consult the index of /checkouts/attempt-1 for query-2
            > blocked worker-1 10 read core/auth.rs
              worker-1 may not read core/auth.rs
              query-3: worker-1 needs core/auth.rs (read) until 60000 ms
              => consult the index of /checkouts/attempt-1 for query-3
            > blocked worker-1 11 read core/auth.rs
              nothing
            > blocked worker-1 12 read core/user.rs
              worker-1 may not read core/user.rs
              query-4: worker-1 needs core/user.rs (read) until 60000 ms
              => consult the index of /checkouts/attempt-1 for query-4
            > blocked worker-9 1 read core/user.rs
              rejected: there is no worker-9
        "#]],
    );
}

/// A refused write inside the zone is about another place.
#[test]
fn a_write_inside_the_zone_is_not_recorded() {
    check(
        "
            ~ plan demo | a in ui
            ~ prepared plan-1
            ~ start task-1
            blocked worker-1 7 write ui/form.rs
            blocked worker-1 8 write core/form.rs
            blocked worker-1 9 write ../ui/form.rs
        ",
        &expect![[r#"
            > blocked worker-1 7 write ui/form.rs
              nothing
            > blocked worker-1 8 write core/form.rs
              worker-1 may not write core/form.rs
            > blocked worker-1 9 write ../ui/form.rs
              worker-1 may not write ../ui/form.rs
        "#]],
    );
}

/// S0-042: a repeated signal is one query.
#[test]
fn a_need_line_is_one_query() {
    check(
        "
            ~ plan demo | a in ui
            ~ prepared plan-1
            ~ start task-1
            needs worker-1 need-1 AuthValidator core/auth.rs
            needs worker-1 need-1 AuthValidator core/auth.rs
            needs worker-1 need-2 Session
            ~ finish task-1
            needs worker-1 need-3 Late
        ",
        &expect![[r#"
            > needs worker-1 need-1 AuthValidator core/auth.rs
              query-1: worker-1 needs AuthValidator (need) until 60000 ms
              => consult the index of /checkouts/attempt-1 for query-1
            > needs worker-1 need-1 AuthValidator core/auth.rs
              nothing
            > needs worker-1 need-2 Session
              query-2: worker-1 needs Session (need) until 60000 ms
              => consult the index of /checkouts/attempt-1 for query-2
            > needs worker-1 need-3 Late
              nothing
        "#]],
    );
}

/// S0-041: the region, shared and denied paths, and how to query the rest.
#[test]
fn the_prompt_contains_the_zone_and_how_to_query() {
    check(
        "
            ~ plan demo shared=Cargo.lock denied=infra | a in ui
            ~ prepared plan-1
            ~ start task-1
            show prompt worker-1 until How to finish
        ",
        &expect![[r#"
            > show prompt worker-1 until How to finish
              | # Task a (task-1, attempt 1)
              |
              | Do a.
              |
              | ## Where you work
              | Your checkout is /checkouts/attempt-1. It is yours alone: work nowhere else.
              | You may change: ui. Changes elsewhere are refused, and the attempt fails.
              | Change these shared paths only if you must: Cargo.lock.
              | Do not change: infra.
              | You do not have to commit: your changes are committed when you finish.
              | If you commit, stay on the current branch.
              |
              | ## Code outside your region
              | Do not read files outside your region. Look up what you need instead: it is free.
              | For a type, a function or a constant, call `a2a_query` with its name as `symbol` and the import line or the path as `context`.
              | You get its signature, its fields and its location.
              | If you do not have this tool, write a line `NEED: NAME from PATH` outside of code blocks and end your turn. The answer is in your next prompt.
        "#]],
    );
}

#[test]
fn without_a_region_the_prompt_has_no_outside() {
    check(
        "
            ~ plan demo denied=infra | a
            ~ prepared plan-1
            ~ start task-1
            show prompt worker-1 until How to finish
        ",
        &expect![[r#"
            > show prompt worker-1 until How to finish
              | # Task a (task-1, attempt 1)
              |
              | Do a.
              |
              | ## Where you work
              | Your checkout is /checkouts/attempt-1. It is yours alone: work nowhere else.
              | You may change: the whole repository. Changes elsewhere are refused, and the attempt fails.
              | Do not change: infra.
              | You do not have to commit: your changes are committed when you finish.
              | If you commit, stay on the current branch.
        "#]],
    );
}

/// The start of the agent contains its zone.
#[test]
fn the_start_contains_the_zone() {
    check(
        "
            ~ plan demo shared=Cargo.lock denied=infra reads=zone | a in ui
            ~ prepared plan-1
            checkout attempt-1
        ",
        &expect![[r#"
            > checkout attempt-1
              worker-1 created -> starting
              => start agent worker-1 in ui + Cargo.lock - infra, reads zone
        "#]],
    );
}
