use super::*;
use expect_test::{Expect, expect};
use pitcrew_model::Capability;

fn fails(text: &str, authorship: Authorship, expected: &Expect) {
    let errors = parse_definition("x", "x.md", text, authorship).expect_err("it is broken");
    let reported: Vec<String> = errors.iter().map(ToString::to_string).collect();
    expected.assert_eq(&reported.join("\n"));
}

/// S4-003: a definition states what its agent is and is not good for.
#[test]
fn parses_a_definition() {
    let text = "\u{feff}---\nname: \"architect\"\ndescription: >\n  Designs systems\n  and plans.\n\
                tools: [read, 'search'] \nmodel:\n  - opus\n  - sonnet\nhandoffs:\n  - label: go\n\
                strengths:\n- design\nweaknesses: slow # really\nmcp-servers:\n  x:\n    url: y\n\
                canSpawnSubTasks: no\nmax-subtask-depth: 1\nworkspace: isolated\n---\n\n\
                You are an architect.\n";
    let it = parse_definition("file", "a.md", text, Authorship::Shared).expect("it is fine");
    assert_eq!((&*it.name, &*it.description), ("architect", "Designs systems and plans."));
    let tools = it.tools.as_ref().expect("a list");
    assert_eq!(tools.capabilities, [Capability::Read].into());
    assert_eq!(it.models, ["opus", "sonnet"]);
    assert_eq!((it.strengths, it.weaknesses), (vec!["design".into()], vec!["slow".into()]));
    assert_eq!((it.can_spawn_subtasks, it.max_subtask_depth), (Some(false), Some(1)));
    assert_eq!(it.workspace, Some(WorkspaceMode::Isolated));
    assert_eq!(it.role, "You are an architect.");
}

/// The record of capabilities, as its editors write it.
#[test]
fn preferred_models_have_a_default() {
    let text = "---\ndescription: x\npreferredModels:\n  default: opus\ntools: '*'\n---\n";
    let it = parse_definition("x", "x.md", text, Authorship::Ours).expect("it is fine");
    assert_eq!((it.models, it.tools), (vec!["opus".to_owned()], None));
}

#[test]
fn a_broken_definition_names_the_line() {
    fails(
        "# An agent\n",
        Authorship::Ours,
        &expect![[r#"
        x.md:1:1: error: the file has no front matter
         1 | # An agent
           | ^
        help: begin the file with `---`, `description: ...`, `---`"#]],
    );
    fails(
        "---\ndescription: x\n",
        Authorship::Ours,
        &expect![[r#"
        x.md:1:1: error: the front matter is not closed
         1 | ---
           | ^^^
        help: close it with a line `---`"#]],
    );
    fails(
        "---\nname: two words\ntools: a\nnonsense\n---\n",
        Authorship::Ours,
        &expect![[r#"
        x.md:5:1: error: the front matter is not YAML: simple key expect ':'
         5 | ---
           | ^
        help: put a text that contains `: `, `#` or quotes into double quotes"#]],
    );
    fails(
        "---\nname: two words\ntools: [a]\n---\n",
        Authorship::Ours,
        &expect![[r#"
        x.md:1:1: error: the agent has no description
         1 | ---
           | ^^^
        help: add `description: what this agent is good for`
        x.md:2:1: error: the name cannot be written as `@name`
         2 | name: two words
           | ^^^^
        help: use letters, digits, `-`, `_` and `.`
        x.md:3:8: error: there is no tool `a`
         3 | tools: [a]
           |        ^^^
        help: possible values: read, view, search, grep, glob, ls, notebookread, edit, multiedit, write, notebookedit, execute, shell, bash, powershell, web, webfetch, websearch, fetch, agent, task, custom-agent, orchestrator_save_plan, orchestrator_add_plan_task, orchestrator_list_workers, orchestrator_deploy_task, orchestrator_complete_task, orchestrator_cancel_task, orchestrator_retry_task, a2a_list_agents, a2a_spawn_subtask, a2a_spawn_parallel_subtasks, a2a_await_subtasks, a2a_get_subtask_results, a2a_subtask_complete, a2a_pull_subtask_changes, a2a_decide_permissions, a2a_notify_orchestrator, a2a_query"#]],
    );
    fails(
        "---\ndescription:\n  - a\n  - b\n---\n",
        Authorship::Ours,
        &expect![[r#"
        x.md:2:1: error: the agent has no description
         2 | description:
           | ^^^^^^^^^^^
        help: add `description: what this agent is good for`
        x.md:3:3: error: `description` must be a text
         3 |   - a
           |   ^^^"#]],
    );
}

/// Misspelled keys are errors in every file, unknown keys only in our own.
#[test]
fn misspelled_keys_are_errors() {
    let text = "---\ndescription: x\nstrenghts: y\ncolour: red\nx-mine: 1\n---\n";
    fails(
        text,
        Authorship::Ours,
        &expect![[r#"
        x.md:3:1: error: `strenghts` is not a key
         3 | strenghts: y
           | ^^^^^^^^^
        help: did you mean `strengths`?
        x.md:4:1: error: `colour` is not a key
         4 | colour: red
           | ^^^^^^
        help: the keys are: name, description, backend, model, models, preferred_models, tools, strengths, weaknesses, workspace, can_spawn_subtasks, max_subtask_depth, advisors, router, handoff, team
        x.md:5:1: error: `x-mine` is not a key
         5 | x-mine: 1
           | ^^^^^^
        help: the keys are: name, description, backend, model, models, preferred_models, tools, strengths, weaknesses, workspace, can_spawn_subtasks, max_subtask_depth, advisors, router, handoff, team"#]],
    );
    fails(
        text,
        Authorship::Shared,
        &expect![[r#"
        x.md:3:1: error: `strenghts` is not a key
         3 | strenghts: y
           | ^^^^^^^^^
        help: did you mean `strengths`?"#]],
    );
}

#[test]
fn patterns_are_refused_until_they_exist() {
    let text = "---\ndescription: x\nhandoff: reviewer\nrouter:\n  a: b\n---\n";
    fails(
        text,
        Authorship::Shared,
        &expect![[r#"
        x.md:3:1: error: `handoff` is not supported yet
         3 | handoff: reviewer
           | ^^^^^^^
        help: remove it; until then, a task can delegate to other agents
        x.md:4:1: error: `router` is not supported yet
         4 | router:
           | ^^^^^^
        help: remove it; until then, a task can delegate to other agents"#]],
    );
}

#[test]
fn aliases_and_deep_nesting_are_refused() {
    let aliases = "---\ndescription: &a [x, x]\nmetadata: [*a, *a]\n---\n";
    fails(
        aliases,
        Authorship::Shared,
        &expect![[r#"
        x.md:3:12: error: the front matter is not YAML: aliases are not allowed
         3 | metadata: [*a, *a]
           |            ^^
        help: put a text that contains `: `, `#` or quotes into double quotes"#]],
    );
    let deep =
        format!("---\ndescription: x\nmetadata: {}{}\n---\n", "[".repeat(60), "]".repeat(60));
    let errors = parse_definition("x", "x.md", &deep, Authorship::Shared).expect_err("too deep");
    assert!(errors[0].message.contains("16 levels"), "{}", errors[0]);
}
