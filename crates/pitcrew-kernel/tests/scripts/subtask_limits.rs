//! Limits of sub-tasks: number, depth, rate and files.

use crate::script::{Script, check};
use expect_test::expect;

/// S1-040, S4-033, S4-119, S4-128, S1-042, S4-152: two levels below a worker of a plan.
#[test]
fn sub_tasks_have_at_most_two_levels() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 | one
            ~ start subtask-2
            spawn attempt-2 | two
            ~ start subtask-3
            spawn attempt-3 | three
        ",
        &expect![[r#"
            > spawn attempt-2 | two
              subtask-3 = Do two. for attempt-2, read_only, depth 2
              task-3 pending -> queued
              task-3 queued -> starting (a slot is free)
              attempt-3 opened: task-3 #1 from base
              => prepare checkout attempt-3, read_only of attempt-1
            > spawn attempt-3 | three
              rejected: the sub-task would be at depth 3, and the limit is 2; do this part yourself
        "#]],
    );
}

/// S4-122, S4-128: ten in total, including ended ones; all or none.
#[test]
fn a_worker_creates_at_most_ten() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 | one | two | three | four | five | six | seven | eight
            spawn attempt-1 | nine | ten | eleven
            ~ spawn attempt-1 | nine | ten
            spawn attempt-1 | eleven
            cancel subtask-2
            spawn attempt-1 | eleven
            spawn attempt-1
        ",
        &expect![[r#"
            > spawn attempt-1 | nine | ten | eleven
              rejected: worker-1 has created 8 sub-tasks and requests 3 more, and the limit for a worker is 10; do the rest yourself
            > spawn attempt-1 | eleven
              rejected: worker-1 has created 10 sub-tasks and requests 1 more, and the limit for a worker is 10; do the rest yourself
            > cancel subtask-2
              attempt-2 ended: cancelled (cancelled by person)
              worker-2 created -> killed (cancelled by person)
              task-2 starting -> cancelled (cancelled by person)
              group 2: subtask-2 has failed
              task-6 queued -> starting (a slot is free)
              attempt-6 opened: task-6 #1 from base
              => prepare checkout attempt-6, read_only of attempt-1
            > spawn attempt-1 | eleven
              rejected: worker-1 has created 10 sub-tasks and requests 1 more, and the limit for a worker is 10; do the rest yourself
            > spawn attempt-1
              rejected: the call contains no sub-tasks; send at least one
        "#]],
    );
}

/// S4-120, S4-152: an agent never gets the prompt of one of its ancestors.
#[test]
fn an_ancestor_never_gets_the_same_prompt() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            spawn attempt-1 | a
            spawn attempt-1 | a agent=codex
            ~ start subtask-2
            spawn attempt-2 | a
            spawn attempt-2 | a agent=codex
            spawn attempt-2 | b agent=codex
        ",
        &expect![[r#"
            > spawn attempt-1 | a
              rejected: claude already works on this prompt in task-1, an ancestor of this sub-task; do it yourself, or request a smaller part
            > spawn attempt-1 | a agent=codex
              subtask-2 = Do a. for attempt-1, read_only, depth 1
              task-2 pending -> queued
              task-2 queued -> starting (a slot is free)
              attempt-2 opened: task-2 #1 from base
              => prepare checkout attempt-2, read_only of attempt-1
            > spawn attempt-2 | a
              rejected: claude already works on this prompt in task-1, an ancestor of this sub-task; do it yourself, or request a smaller part
            > spawn attempt-2 | a agent=codex
              rejected: codex already works on this prompt in subtask-2, an ancestor of this sub-task; do it yourself, or request a smaller part
            > spawn attempt-2 | b agent=codex
              subtask-3 = Do b. for attempt-2, read_only, depth 2
              task-3 pending -> queued
              task-3 queued -> starting (a slot is free)
              attempt-3 opened: task-3 #1 from base
              => prepare checkout attempt-3, read_only of attempt-1
        "#]],
    );
}

/// S4-030, S4-160: workers in one checkout change different files.
#[test]
fn leases_of_shared_children_are_disjoint() {
    check(
        "
            ~ plan demo | a in src,docs
            ~ prepared plan-1
            ~ start task-1
            spawn attempt-1 | paint shared
            spawn attempt-1 | paint shared on=web
            spawn attempt-1 | paint shared on=src/ui | draw shared on=src/ui/icons
            spawn attempt-1 | paint shared on=src/ui | draw shared on=docs
            ~ start subtask-2
            spawn attempt-1 | mend shared on=src
            spawn attempt-1 | mend isolated on=src
            spawn attempt-2 | colour shared on=src/app
            spawn attempt-2 | colour shared on=src/ui/colours
        ",
        &expect![[r#"
            > spawn attempt-1 | paint shared
              rejected: sub-task 1 is `shared` and needs `target_files`: name the files that it may change
            > spawn attempt-1 | paint shared on=web
              rejected: sub-task 1 would change web, which is outside your region; name files within src, docs
            > spawn attempt-1 | paint shared on=src/ui | draw shared on=src/ui/icons
              rejected: sub-task 2 would change src/ui/icons, which sub-task 1 is changing; name other files, or wait until that one has ended
            > spawn attempt-1 | paint shared on=src/ui | draw shared on=docs
              subtask-2 = Do paint. for attempt-1, shared, depth 1
              subtask-3 = Do draw. for attempt-1, shared, depth 1
              group 2: subtask-2, subtask-3
              task-2 pending -> queued
              task-3 pending -> queued
              task-2 queued -> starting (a slot is free)
              attempt-2 opened: task-2 #1 from base
              => prepare checkout attempt-2, shared of attempt-1
              task-3 queued -> starting (a slot is free)
              attempt-3 opened: task-3 #1 from base
              => prepare checkout attempt-3, shared of attempt-1
            > spawn attempt-1 | mend shared on=src
              rejected: sub-task 1 would change src, which subtask-2 is changing; name other files, or wait until that one has ended
            > spawn attempt-1 | mend isolated on=src
              subtask-4 = Do mend. for attempt-1, isolated, depth 1
              task-4 pending -> queued
              task-4 queued -> starting (a slot is free)
              attempt-4 opened: task-4 #1 from base
              => prepare checkout attempt-4, isolated of attempt-1
            > spawn attempt-2 | colour shared on=src/app
              rejected: sub-task 1 would change src/app, which is outside your region; name files within src/ui
            > spawn attempt-2 | colour shared on=src/ui/colours
              subtask-5 = Do colour. for attempt-2, shared, depth 2
              task-5 pending -> queued
              task-5 queued -> starting (a slot is free)
              attempt-5 opened: task-5 #1 from base
              => prepare checkout attempt-5, shared of attempt-1
        "#]],
    );
}

/// S4-030: a retried sub-task does not get back files that another one has meanwhile.
#[test]
fn a_taken_lease_is_not_given_back() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 wait=60s | paint shared on=src/ui
            ~ start subtask-2
            ~ cancel subtask-2
            ~ stopped worker-2
            ~ spawn attempt-1 wait=60s | mend shared on=src
            retry subtask-2
            cancel subtask-3
            retry subtask-2
        ",
        &expect![[r#"
            > retry subtask-2
              rejected: sub-task 1 would change src/ui, which subtask-3 is changing; name other files, or wait until that one has ended
            > cancel subtask-3
              attempt-3 ended: cancelled (cancelled by person)
              worker-3 created -> killed (cancelled by person)
              task-3 starting -> cancelled (cancelled by person)
              worker-1 waiting_subtasks -> running (a slot is free)
              worker-1 hears of subtask-3
              worker-1 is answered: all have ended
            > retry subtask-2
              task-2 is granted one more attempt
              task-2 cancelled -> pending (a person asked for a retry)
              task-2 pending -> queued
              task-2 queued -> starting (a slot is free)
              attempt-4 opened: task-2 #2 from base
              => prepare checkout attempt-4, shared of attempt-1
        "#]],
    );
}

/// S4-030: a reader cannot delegate changes.
#[test]
fn a_reader_creates_only_readers() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 | read
            ~ start subtask-2
            spawn attempt-2 | write isolated
            spawn attempt-2 | look
        ",
        &expect![[r#"
            > spawn attempt-2 | write isolated
              rejected: sub-task 1 cannot be `isolated`, because you may not change files; use `read_only`
            > spawn attempt-2 | look
              subtask-3 = Do look. for attempt-2, read_only, depth 2
              task-3 pending -> queued
              task-3 queued -> starting (a slot is free)
              attempt-3 opened: task-3 #1 from base
              => prepare checkout attempt-3, read_only of attempt-1
        "#]],
    );
}

/// S4-127: no more processes than allowed, and a rejection instead of a deadlock.
#[test]
fn a_spawn_beyond_the_live_agents_is_refused() {
    check(
        "
            ~ settings 2 3
            ~ plan demo | a in a | b in b
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ spawn attempt-1 wait=60s | look
            ~ start subtask-3
            spawn attempt-2 wait=60s | look
            ~ work subtask-3
            spawn attempt-2 wait=60s | look
        ",
        &expect![[r#"
            > spawn attempt-2 wait=60s | look
              rejected: 3 agents are running, which is the limit; wait until some have ended, or do it yourself
            > spawn attempt-2 wait=60s | look
              subtask-4 = Do look. for attempt-2, read_only, depth 1
              worker-2 waits for subtask-4 until 60000 ms
              worker-2 running -> waiting_subtasks (it waits for its sub-tasks)
              task-4 pending -> queued
              task-4 queued -> starting (a slot is free)
              attempt-4 opened: task-4 #1 from base
              => prepare checkout attempt-4, read_only of attempt-2
        "#]],
    );
}

/// A held backend is rejected at once.
#[test]
fn a_held_backend_is_rejected_with_its_reason() {
    check(
        "
            ~ plan demo | a agent=codex in a | b in b attempts=1 | c agent=gemini in c attempts=1
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ start task-3
            ~ turn worker-2 no-login no key
            ~ turn worker-3 quota 90000
            spawn attempt-1 | look agent=claude
            spawn attempt-1 | look agent=gemini
            spawn attempt-1 | look agent=codex
            ~ tick +301s
            spawn attempt-1 | again agent=claude
        ",
        &expect![[r#"
            > spawn attempt-1 | look agent=claude
              rejected: claude cannot be used: the agent is not logged in: claude: no key; log in, then `pitcrew retry`; use another agent, or do it yourself
            > spawn attempt-1 | look agent=gemini
              rejected: gemini has reached a limit of its provider, for another 90 seconds; use another agent, or do it yourself
            > spawn attempt-1 | look agent=codex
              subtask-4 = Do look. for attempt-1, read_only, depth 1
              task-4 pending -> queued
              task-4 queued -> starting (a slot is free)
              attempt-4 opened: task-4 #1 from base
              => prepare checkout attempt-4, read_only of attempt-1
            > spawn attempt-1 | again agent=claude
              subtask-5 = Do again. for attempt-1, read_only, depth 1
              task-5 pending -> queued
              task-5 queued -> starting (a slot is free)
              attempt-5 opened: task-5 #1 from base
              => prepare checkout attempt-5, read_only of attempt-1
        "#]],
    );
}

/// S4-127: each rejection names the owner.
#[test]
fn only_a_parent_controls_its_children() {
    check(
        "
            ~ plan demo | a in a | b in b
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ spawn attempt-1 | look
            await attempt-2 5s
            await attempt-2 5s subtask-3
            pull attempt-2 subtask-3
            ~ spawn attempt-2 | look
            await attempt-2 5s subtask-3
            accept subtask-3
            ~ turn worker-1 end_turn
            await attempt-1 5s
        ",
        &expect![[r#"
            > await attempt-2 5s
              rejected: you have no sub-tasks
            > await attempt-2 5s subtask-3
              rejected: you have no sub-tasks
            > pull attempt-2 subtask-3
              rejected: subtask-3 is not one of your sub-tasks
            > await attempt-2 5s subtask-3
              rejected: subtask-3 is not one of your sub-tasks
            > accept subtask-3
              rejected: subtask-3 is a sub-task: only its parent can take its changes
            > await attempt-1 5s
              rejected: worker-1 is not in a turn; the results are in its next prompt
        "#]],
    );
}

/// S4-121, S4-126, S4-128: twenty in a minute, in a sliding window.
#[test]
fn twenty_in_a_minute_is_the_limit() {
    let mut script = Script::default();
    let mut matrix = pitcrew_model::Matrix::builtin();
    matrix.limits.subtasks_total = 1_000;
    script.state.matrix = matrix.into();
    let hurry = "| a1 | a2 | a3 | a4 | a5 | a6 | a7 | a8 | a9 | a10";
    script.run(&format!(
        "
            plan demo | a
            prepared plan-1
            start task-1
            spawn attempt-1 {hurry}
            tick +20s
            spawn attempt-1 {hurry}
        "
    ));
    let said = script.run(
        "
            spawn attempt-1 | one
            tick +39s
            spawn attempt-1 | one
            tick +1s
            ~ spawn attempt-1 | one | two | three | four | five | six | seven | eight | nine | ten
            spawn attempt-1 | eleven
        ",
    );
    expect![[r#"
        > spawn attempt-1 | one
          rejected: worker-1 may create 20 sub-tasks in a minute; wait 40 seconds, then try again
        > tick +39s
          nothing
        > spawn attempt-1 | one
          rejected: worker-1 may create 20 sub-tasks in a minute; wait a second, then try again
        > tick +1s
          nothing
        > spawn attempt-1 | eleven
          rejected: worker-1 may create 20 sub-tasks in a minute; wait 20 seconds, then try again
    "#]]
    .assert_eq(&said);
}

/// The limit of processes was lowered, and the only one waits for its sub-tasks.
#[test]
fn a_parent_with_the_last_process_is_not_stuck() {
    check(
        "
            ~ slots 1
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 | look isolated | test isolated
            settings 1 1
            await attempt-1 600s
        ",
        &expect![[r#"
            > settings 1 1
              settings: 1 slots, 1 processes
              slots: 1
            > await attempt-1 600s
              worker-1 waits for subtask-2, subtask-3 until 600000 ms
              worker-1 running -> waiting_subtasks (it waits for its sub-tasks)
              task-2 queued -> starting (a slot is free)
              attempt-2 opened: task-2 #1 from base
              => prepare checkout attempt-2, isolated of attempt-1
        "#]],
    );
}

/// The matrix decides whether sub-tasks are allowed, and the rejection says so.
#[test]
fn the_matrix_decides_whether_sub_tasks_are_allowed() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ matrix deny=subtask_spawning
            spawn attempt-1 | look
            ~ matrix ask=subtask_spawning
            spawn attempt-1 | look
        ",
        &expect![[r#"
            > spawn attempt-1 | look
              rejected: subtask_spawning is denied by permissions.md:5; who wants to allow it changes that line and runs `pitcrew stop`, after which the files are read anew
            > spawn attempt-1 | look
              rejected: subtask_spawning is ask_user (permissions.md:5), so only a person may create sub-tasks; do this part yourself, or ask a person to add `subtask_spawning` under Auto-Approve in `pitcrew permissions edit` and to run `pitcrew stop`
        "#]],
    );
}

/// A command in a sub-task is judged like a command of the worker itself.
#[test]
fn a_command_in_a_sub_task_is_judged_as_a_command() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            spawn attempt-1 | build command=make
            ~ matrix deny=command_execution
            spawn attempt-1 | build command=make
            ~ matrix approve=command_execution
            spawn attempt-1 | build command=make
        ",
        &expect![[r#"
            > spawn attempt-1 | build command=make
              rejected: command_execution is ask_user (built in), so only a person may create sub-tasks; do this part yourself, or ask a person to add `command_execution` under Auto-Approve in `pitcrew permissions edit` and to run `pitcrew stop`
            > spawn attempt-1 | build command=make
              rejected: command_execution is denied by permissions.md:5; who wants to allow it changes that line and runs `pitcrew stop`, after which the files are read anew
            > spawn attempt-1 | build command=make
              subtask-2 = Do build. for attempt-1, read_only, depth 1
              task-2 pending -> queued
              task-2 queued -> starting (a slot is free)
              attempt-2 opened: task-2 #1 from base
              => prepare checkout attempt-2, read_only of attempt-1
        "#]],
    );
}
