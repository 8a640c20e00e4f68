//! A broken backend fails all of its waiting tasks at once.

use crate::script::{Script, check};
use expect_test::expect;

#[test]
fn a_missing_login_fails_the_waiting_tasks_of_the_backend() {
    check(
        "
            ~ slots 1
            ~ plan demo | a | b after a | c agent=codex | d
            ~ plan other ask | e
            ~ prepared plan-1
            ~ start task-1
            turn worker-1 no-login run `claude /login`
            stopped worker-1
            saved attempt-1
            retry task-1
        ",
        &expect![[r#"
            > turn worker-1 no-login run `claude /login`
              attempt-1 ended: failed (the agent is not logged in: run `claude /login`; log in, then `pitcrew retry`)
              worker-1 running -> failed (the agent is not logged in: run `claude /login`; log in, then `pitcrew retry`)
              => stop worker-1
              task-1 running -> failed (the agent is not logged in: run `claude /login`; log in, then `pitcrew retry`)
              task-2 pending -> failed (the agent is not logged in: run `claude /login`; log in, then `pitcrew retry`)
              task-4 queued -> failed (the agent is not logged in: run `claude /login`; log in, then `pitcrew retry`)
              task-3 queued -> starting (a slot is free)
              attempt-2 opened: task-3 #1 from base
              => prepare checkout attempt-2
            > stopped worker-1
              => save work of attempt-1
            > saved attempt-1
              nothing
            > retry task-1
              task-1 is granted one more attempt
              task-1 failed -> pending (a person asked for a retry)
              task-1 pending -> queued
        "#]],
    );
}

#[test]
fn a_missing_program_fails_the_waiting_tasks_of_the_backend() {
    check(
        "
            ~ slots 1
            ~ plan demo | a | b | c agent=builtin command=make
            ~ prepared plan-1
            ~ checkout attempt-1
            fail-start worker-1 missing claude
        ",
        &expect![[r#"
            > fail-start worker-1 missing claude
              attempt-1 ended: failed (cannot start agent `claude`: not found)
              worker-1 starting -> failed (cannot start agent `claude`: not found)
              => stop worker-1
              task-1 starting -> failed (cannot start agent `claude`: not found)
              task-2 queued -> failed (cannot start agent `claude`: not found)
              task-3 queued -> starting (a slot is free)
              attempt-2 opened: task-3 #1 from base
              => prepare checkout attempt-2
        "#]],
    );
}

/// A model gets a longer back-off than an agent, and the next prompt has the reason.
#[test]
fn a_failed_model_call_is_retried_and_is_not_a_missing_completion() {
    let mut script = Script::default();
    let transcript = script.run(
        "
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            turn worker-1
            turn worker-1 model-error overloaded, try later
            stopped worker-1
            saved attempt-1
            tick +1s
            tick +1s
            ~ start task-1
        ",
    );
    expect![[r#"
        > turn worker-1
          => prompt worker-1 (reminder)
        > turn worker-1 model-error overloaded, try later
          attempt-1 ended: failed (the model failed: overloaded, try later)
          worker-1 running -> failed (the model failed: overloaded, try later)
          => stop worker-1
          task-1 running -> pending (the model failed: overloaded, try later; again at 1540 ms)
        > stopped worker-1
          => save work of attempt-1
        > saved attempt-1
          nothing
        > tick +1s
          nothing
        > tick +1s
          task-1 pending -> queued
          task-1 queued -> starting (a slot is free)
          attempt-2 opened: task-1 #2 from saved-1, judged against base
          => prepare checkout attempt-2
    "#]]
    .assert_eq(&transcript);
    let prompt = script.run("show prompt worker-2");
    assert!(prompt.contains("the model failed: overloaded, try later"), "{prompt}");
}

/// A quoted text is never executed by an agent that was started for prompts.
#[test]
fn only_prompts_go_to_the_model_of_the_built_in_agent() {
    check(
        "
            ~ plan demo | words agent=builtin | order agent=builtin command=make
            ~ prepared plan-1
            checkout attempt-1
            checkout attempt-2
        ",
        &expect![[r#"
            > checkout attempt-1
              worker-1 created -> starting
              => start agent worker-1 with a model
            > checkout attempt-2
              worker-2 created -> starting
              => start agent worker-2
        "#]],
    );
}

/// S4-005: tasks may name different models, and only those with the same one fail.
#[test]
fn a_model_that_is_not_offered_fails_the_tasks_that_name_it() {
    check(
        "
            ~ slots 1
            ~ plan demo | a model=small | b | c model=small | d model=big
            ~ prepared plan-1
            checkout attempt-1
            fail-start worker-1 no-model
            ~ stopped worker-1
            ~ saved attempt-1
            checkout attempt-2
        ",
        &expect![[r#"
            > checkout attempt-1
              worker-1 created -> starting
              => start agent worker-1 with small
            > fail-start worker-1 no-model
              attempt-1 ended: failed (claude: it has no such model)
              worker-1 starting -> failed (claude: it has no such model)
              => stop worker-1
              task-1 starting -> failed (claude: it has no such model)
              task-3 queued -> failed (claude: it has no such model)
              task-2 queued -> starting (a slot is free)
              attempt-2 opened: task-2 #1 from base
              => prepare checkout attempt-2
            > checkout attempt-2
              worker-2 created -> starting
              => start agent worker-2
        "#]],
    );
}
