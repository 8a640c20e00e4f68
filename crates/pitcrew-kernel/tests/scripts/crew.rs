//! The crew: which agent, backend and model a task gets, and what the agent may do.

use crate::script::{Script, check};
use expect_test::{Expect, expect};
use std::fmt::Write;

/// The agents and models of the tasks, after the script.
fn resolved(script: &str, expected: &Expect) {
    let mut it = Script::default();
    let mut shown: String =
        it.run(script).lines().filter(|it| it.contains("rejected")).collect::<Vec<_>>().join("\n");
    for task in it.state.tasks.iter() {
        let model = task.spec.model.as_deref().unwrap_or("-");
        let workspace = task.workspace().map(|it| format!(" {it}")).unwrap_or_default();
        let (name, agent) = (task.name(), &task.spec.agent);
        writeln!(shown, "{name}: {agent} {model}{workspace}").expect("a string takes everything");
    }
    expected.assert_eq(&shown);
}

/// S4-145: every name means the same in every plan.
#[test]
fn a_name_is_resolved_once_for_every_caller() {
    resolved(
        "
            crew default=claude claude codex builtin=no-model command=commands @architect,model=opus @painter,backend=codex
            plan demo | a agent=none | b agent=@architect | c agent=architect | d agent=@painter | e agent=claude:painter | f agent=codex model=small
            plan more | g command=make agent=none | h agent=claude:own
        ",
        &expect![[r#"
            task-1: claude -
            task-2: claude:architect opus
            task-3: claude:architect opus
            task-4: codex:painter -
            task-5: claude:painter -
            task-6: codex small
            task-7: command -
            task-8: claude:own -
        "#]],
    );
}

#[test]
fn agents_that_cannot_do_the_task_are_rejected() {
    check(
        "
            crew claude codex=missing builtin=no-model command=commands @architect
            plan demo | a agent=none
            plan demo | a agent=@nowhere
            plan demo | a agent=nowhere
            plan demo | a agent=nowhere:architect
            plan demo | a agent=@architect
            plan demo | a agent=codex
            plan demo | a agent=builtin
            plan demo | a agent=command
        ",
        &expect![[r#"
            > crew claude codex=missing builtin=no-model command=commands @architect
              crew: 4 backends, 1 agents
            > plan demo | a agent=none
              rejected: task `a` has a prompt but no agent; name an agent, or set a default agent in the settings
            > plan demo | a agent=@nowhere
              rejected: task `a` names `nowhere`, which is neither a backend nor an agent; the agents are: builtin, claude, codex, command, architect
            > plan demo | a agent=nowhere
              rejected: task `a` names `nowhere`, which is neither a backend nor an agent; the agents are: builtin, claude, codex, command, architect
            > plan demo | a agent=nowhere:architect
              rejected: task `a` names `nowhere`, which is neither a backend nor an agent; the agents are: builtin, claude, codex, command, architect
            > plan demo | a agent=@architect
              rejected: task `a` names `@architect`, but no backend that runs it; write `backend:architect`
            > plan demo | a agent=codex
              rejected: task `a` needs `codex`, which is not installed: no program; install it; ready agents: claude
            > plan demo | a agent=builtin
              rejected: task `a` has a prompt for `builtin`, but no model is set; send a `script`, or ask the person to configure a model; ready agents: claude
            > plan demo | a agent=command
              rejected: task `a` runs on `command`, but has no command; add one, or name an agent that works from a prompt
        "#]],
    );
}

/// S4-141: the role comes before the task, and stays what it was when the task was created.
#[test]
fn the_role_is_that_of_the_creation() {
    let mut script = Script::default();
    script.run(
        "
            crew claude @painter,backend=claude,role=You_paint.
            plan demo | a agent=@painter
            prepared plan-1
            crew claude @painter,backend=claude,role=You_sculpt.
            start task-1
        ",
    );
    let prompt = script.prompts.values().next().expect("a prompt");
    assert!(prompt.contains("You paint.\n\nDo a."), "{prompt}");
}

#[test]
fn the_definition_decides_where_a_subtask_works() {
    resolved(
        "
            crew default=claude claude @look @fix,isolated
            plan demo | a
            prepared plan-1
            start task-1
            spawn attempt-1 | one usual | two agent=@look usual | three agent=@fix usual | four usual on=src/a | five agent=@fix
        ",
        &expect![[r#"
            task-1: claude -
            subtask-2: claude - read_only
            subtask-3: claude:look - read_only
            subtask-4: claude:fix - isolated
            subtask-5: claude - isolated
            subtask-6: claude:fix - read_only
        "#]],
    );
}

/// `can_spawn_subtasks` and `max_subtask_depth` hold.
#[test]
fn a_definition_limits_subtasks() {
    check(
        "
            ~ crew default=claude claude @alone,alone @narrow,tools=read+edit @flat,depth=1
            ~ plan demo | a agent=@alone | b agent=@narrow | c agent=@flat
            ~ prepared plan-1
            ~ start task-1
            ~ start task-2
            ~ start task-3
            spawn attempt-1 | x
            spawn attempt-2 | x
            ~ spawn attempt-3 | x
            ~ start task-4
            spawn attempt-4 | y
        ",
        &expect![[r#"
            > spawn attempt-1 | x
              rejected: claude:alone may not create sub-tasks: its definition does not allow it; do this part yourself
            > spawn attempt-2 | x
              rejected: claude:narrow may not create sub-tasks: its definition does not allow it; do this part yourself
            > spawn attempt-4 | y
              rejected: the sub-task would be at depth 2, and the limit is 1; do this part yourself
        "#]],
    );
}

/// A tool that the definition does not list is denied, whatever the permissions say.
#[test]
fn only_listed_tools_are_allowed() {
    check(
        "
            ~ crew claude @reader,backend=claude,tools=read
            ~ matrix approve=command_execution
            ~ plan demo | a agent=@reader
            ~ prepared plan-1
            ~ start task-1
            permit worker-1 read src/a
            permit worker-1 edit src/a
            permit worker-1 execute make
        ",
        &expect![[r#"
            > permit worker-1 read src/a
              => answer worker-1, call read src/a: yes
            > permit worker-1 edit src/a
              => answer worker-1, call edit src/a: no
            > permit worker-1 execute make
              => answer worker-1, call execute make: no
        "#]],
    );
}
