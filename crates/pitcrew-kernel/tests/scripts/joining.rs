//! Tasks that are added later, and commands that need a person.

use crate::script::check;
use expect_test::expect;

/// S1-023: a person adds to a running plan; the dependency of the task has ended already.
#[test]
fn a_task_is_added_to_a_running_plan() {
    check(
        "
            ~ plan demo | a | b
            ~ prepared plan-1
            ~ work task-1
            add plan-1 c after a
            add plan-1 d after c,b
            add plan-1 d
            add plan-1 e after e
            add plan-1 e after nobody
            add plan-7 e
        ",
        &expect![[r#"
            > add plan-1 c after a
              task-3 = c after task-1
              task-3 pending -> queued (dependencies are integrated)
              task-3 queued -> starting (a slot is free)
              attempt-3 opened: task-3 #1 from merged-1
              => prepare checkout attempt-3
            > add plan-1 d after c,b
              task-4 = d after task-2, task-3
            > add plan-1 d
              rejected: task-4 of this plan already has the id `d`; give the new task another `id`
            > add plan-1 e after e
              rejected: the tasks depend on each other in a cycle: e -> e
            > add plan-1 e after nobody
              rejected: task `e` depends on `nobody`, which the plan does not have
            > add plan-7 e
              rejected: there is no plan-7; `pitcrew status --all` lists the plans
        "#]],
    );
}

/// What a person reads before approving a plan is not changed by the workers of another plan.
#[test]
fn a_worker_adds_nothing_to_the_plan_of_another() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ client plan other | x
            self-add plan-2 y
        ",
        &expect![[r#"
            > self-add plan-2 y
              rejected: only a person may do this, not worker-1
        "#]],
    );
}

/// A person has not approved a task that an agent adds.
#[test]
fn a_task_that_an_agent_adds_waits_for_a_person() {
    check(
        "
            ~ plan demo | a
            ~ prepared plan-1
            client add plan-1 b
            self-add plan-1 c
            client deploy task-2
            ~ cancel task-3
            client retry task-3
            deploy task-2
            retry task-3
        ",
        &expect![[r#"
            > client add plan-1 b
              task-2 = b
              task-2 waits for a person
            > self-add plan-1 c
              task-3 = c
              task-3 waits for a person
            > client deploy task-2
              rejected: only a person may deploy task-2, because it was added after the approval: `pitcrew deploy task-2`
            > client retry task-3
              rejected: only a person may deploy task-3, because it was added after the approval: `pitcrew deploy task-3`
            > deploy task-2
              task-2 deployed
              task-2 pending -> queued
              task-2 queued -> starting (a slot is free)
              attempt-2 opened: task-2 #1 from base
              => prepare checkout attempt-2
            > retry task-3
              task-3 is granted one more attempt
              task-3 cancelled -> pending (a person asked for a retry)
              task-3 pending -> queued
              task-3 queued -> starting (a slot is free)
              attempt-3 opened: task-3 #1 from base
              => prepare checkout attempt-3
        "#]],
    );
}

/// A person approves only what they have seen, and the request keeps its id.
#[test]
fn approval_does_not_cover_a_task_that_was_added_since() {
    check(
        "
            ~ plan demo ask | a
            client add plan-1 b after a
            approve request-1
            approve request-1 shown=1
            approve request-1 shown=3
            client add plan-1 c
            approve request-1 shown=2
            approve request-1 shown=3
            ~ cancel plan-1
            client add plan-1 d
        ",
        &expect![[r#"
            > client add plan-1 b after a
              task-2 = b after task-1
            > approve request-1
              rejected: plan-1 has changed: task-2 was added, and it has 2 tasks now; look at it with `pitcrew inbox`, then approve it with `--tasks 2`
            > approve request-1 shown=1
              rejected: plan-1 has changed: task-2 was added, and it has 2 tasks now; look at it with `pitcrew inbox`, then approve it with `--tasks 2`
            > approve request-1 shown=3
              rejected: plan-1 does not have that many tasks: it has 2; look at it with `pitcrew inbox`, then approve it with `--tasks 2`
            > client add plan-1 c
              task-3 = c
            > approve request-1 shown=2
              rejected: plan-1 has changed: task-3 was added, and it has 3 tasks now; look at it with `pitcrew inbox`, then approve it with `--tasks 3`
            > approve request-1 shown=3
              request-1 at_user -> approved
              plan-1 awaiting_approval -> active (approved)
              => prepare plan-1
            > client add plan-1 d
              rejected: plan-1 is cancelled; tasks can be added only until a plan ends
        "#]],
    );
}

/// The limits hold for a task, so that a new attempt does not get new ones.
#[test]
fn worker_saves_a_limited_number_of_plans_and_tasks() {
    let mut script = String::from("~ plan demo | a\n~ prepared plan-1\n~ checkout attempt-1\n");
    script.extend((0..10).map(|it| format!("~ self-plan attempt-1 more-{it} ask | x\n")));
    script.push_str("self-plan attempt-1 much ask | x\n");
    script.extend((0..190).map(|it| format!("~ self-add plan-1 y{it}\n")));
    script.push_str("self-add plan-1 z\n");
    check(
        &script,
        &expect![[r#"
            > self-plan attempt-1 much ask | x
              rejected: worker-1 has saved 10 tasks in 10 plans; its task may save 200 tasks in 10 plans; use sub-tasks, or ask the person to extend a plan
            > self-add plan-1 z
              rejected: worker-1 has saved 200 tasks in 10 plans; its task may save 200 tasks in 10 plans; use sub-tasks, or ask the person to extend a plan
        "#]],
    );
}

/// A task that depends on one that has failed is blocked from the start.
#[test]
fn a_task_that_is_added_behind_a_failed_one_is_blocked() {
    check(
        "
            ~ plan demo | a attempts=1 | b
            ~ prepared plan-1
            ~ checkout attempt-1
            ~ fail-start worker-1 missing claude
            show board
            add plan-1 c after a
            show board
        ",
        &expect![[r#"
            > show board
              plan-1 active | task-1 failed, task-2 starting
            > add plan-1 c after a
              task-3 = c after task-1
              task-3 pending -> blocked (task-1 is failed)
            > show board
              plan-1 active | task-1 failed, task-2 starting, task-3 blocked
        "#]],
    );
}

#[test]
fn a_client_approves_nothing() {
    check(
        "
            ~ plan demo ask | a
            client approve request-1
            client land plan-1
            client gc
            client slots 9
            self-cancel task-1
            self-land plan-1
            client cancel plan-1
        ",
        &expect![[r#"
            > client approve request-1
              rejected: only a person may do this, not client
            > client land plan-1
              rejected: only a person may do this, not client
            > client gc
              rejected: only a person may do this, not client
            > client slots 9
              rejected: only a person may do this, not client
            > self-cancel task-1
              rejected: subtask-1 is not one of your sub-tasks
            > self-land plan-1
              rejected: only a person may do this, not worker-1
            > client cancel plan-1
              request-1 at_user -> withdrawn
              plan-1 awaiting_approval -> cancelled (cancelled)
              task-1 pending -> cancelled (cancelled)
        "#]],
    );
}
