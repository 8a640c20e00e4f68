//! Plan files: every error message.

use expect_test::{Expect, expect};
use pitcrew_config::{PlanDefaults, example_plan, parse_plan, parse_plan_bytes};
use pitcrew_model::{AgentProfile, AgentRef, BackendProfile, Crew, Readiness};

fn with_agent() -> PlanDefaults {
    PlanDefaults { agent: Some(AgentRef::backend("claude")), ..PlanDefaults::default() }
}

/// `claude` and the built-in agent, in this state.
fn crew(builtin: Readiness) -> Crew {
    let profile = |title: &str, readiness| BackendProfile { title: title.into(), readiness };
    let backends = [
        ("builtin".to_owned(), profile("Built in", builtin)),
        ("claude".to_owned(), profile("Claude", Readiness::Ready)),
        ("command".to_owned(), profile("Command", Readiness::CommandsOnly)),
    ];
    let architect = AgentProfile { name: "architect".into(), ..AgentProfile::default() };
    let agents = [("architect".to_owned(), architect.into())].into();
    Crew { backends: backends.into(), agents, ..Crew::default() }
}

/// The whole text of all errors.
fn check(text: &str, expected: &Expect) {
    let errors = parse_plan("plan.toml", text, &with_agent()).expect_err("it is wrong");
    expected.assert_eq(&errors.to_string());
}

/// The errors of a plan with one task that is otherwise valid.
fn check_task(lines: &str, expected: &Expect) {
    let text = format!("name = \"x\"\n[[task]]\nid = \"a\"\n{lines}\n");
    check(&text, expected);
}

#[test]
fn all_problems_are_reported_at_once() {
    check(
        r#"nmae = "x"
deploy = "automatic"

[[task]]
prompt = 7
regions = "src"

[[task]]
id = "b"
prompt = "do it"
depends_on = ["c"]
timeout = "soon"
"#,
        &expect![[r#"
            plan.toml:1:1: error: unknown key `nmae` in a plan
             1 | nmae = "x"
               | ^^^^
            help: did you mean `name`?

            plan.toml:2:10: error: `deploy` cannot be `automatic`
             2 | deploy = "automatic"
               |          ^^^^^^^^^^^
            help: did you mean `auto`?

            plan.toml:4:1: error: the task has no `id`
             4 | [[task]]
               | ^^^^^^^^
            help: every task needs one, for example: id = "login-form"

            plan.toml:5:10: error: `prompt` must be a string, not an integer
             5 | prompt = 7
               |          ^

            plan.toml:6:1: error: unknown key `regions` in a task
             6 | regions = "src"
               | ^^^^^^^
            help: did you mean `region`?

            plan.toml:11:15: error: task `b` depends on `c`, which is not in the plan
             11 | depends_on = ["c"]
                |               ^^^
            help: `depends_on` names the `id` of other tasks of this plan

            plan.toml:12:11: error: `timeout` is invalid: `soon` is not a duration
             12 | timeout = "soon"
                |           ^^^^^^
            help: write a number with a unit, such as "30s", "10min" or "1h30min", or whole seconds"#]],
    );
}

#[test]
fn an_unknown_key_suggests_the_nearest_one() {
    check_task(
        "prompt = \"x\"\ndepend_on = []\nneeds = \"b\"\nzzz = 1",
        &expect![[r#"
        plan.toml:5:1: error: unknown key `depend_on` in a task
         5 | depend_on = []
           | ^^^^^^^^^
        help: did you mean `depends_on`?

        plan.toml:6:1: error: unknown key `needs` in a task
         6 | needs = "b"
           | ^^^^^
        help: did you mean `depends_on`?

        plan.toml:7:1: error: unknown key `zzz` in a task
         7 | zzz = 1
           | ^^^
        help: possible values: id, prompt, region, depends_on, agent, backend, model, command, script, checks, expected_files, criteria, max_attempts, timeout, max_tokens, max_cost"#]],
    );
    check(
        "name = \"x\"\n[[tasks]]\nid = \"a\"\n",
        &expect![[r#"
            plan.toml:2:3: error: unknown key `tasks` in a plan
             2 | [[tasks]]
               |   ^^^^^
            help: did you mean `task`?"#]],
    );
}

#[test]
fn a_wrong_type_is_reported() {
    check(
        "name = 1\nsetup = true\nshared = [1, \"a\"]\nmax_attempts = \"3\"\n[[task]]\nid = [\"a\"]\nprompt = \"x\"\ndepends_on = {}\n",
        &expect![[r#"
            plan.toml:1:8: error: `name` must be a string, not an integer
             1 | name = 1
               |        ^

            plan.toml:2:9: error: `setup` must be a string or a list of strings, not a boolean
             2 | setup = true
               |         ^^^^

            plan.toml:3:11: error: an element of `shared` must be a string, not an integer
             3 | shared = [1, "a"]
               |           ^

            plan.toml:4:16: error: `max_attempts` must be a whole number, not a string
             4 | max_attempts = "3"
               |                ^^^

            plan.toml:6:6: error: `id` must be a string, not an array
             6 | id = ["a"]
               |      ^^^^^

            plan.toml:8:14: error: `depends_on` must be a string or a list of strings, not an inline table
             8 | depends_on = {}
               |              ^^"#]],
    );
    check(
        "name = \"x\"\ntask = 3\n",
        &expect![[r#"
        plan.toml:2:1: error: `task` must be a list of tables, not an integer
         2 | task = 3
           | ^^^^
        help: write `[[task]]`"#]],
    );
    check(
        "name = \"x\"\n[task]\nid = \"a\"\n",
        &expect![[r#"
        plan.toml:2:2: error: `task` must be a list of tables, not a table
         2 | [task]
           |  ^^^^
        help: write `[[task]]`"#]],
    );
    check(
        "name = \"x\"\ntask = [1]\n",
        &expect![[r#"
            plan.toml:2:9: error: a task must be a table, not an integer
             2 | task = [1]
               |         ^
            help: write `[[task]]`"#]],
    );
}

#[test]
fn a_plan_needs_a_name_and_a_task_and_a_task_an_id_and_a_prompt() {
    check(
        "",
        &expect![[r#"
        plan.toml:1:1: error: the plan has no `name`
        help: write at the top, for example: name = "Add a login page"

        plan.toml:1:1: error: the plan has no tasks
        help: add a task:

            [[task]]
            id = "first"
            prompt = "...""#]],
    );
    check(
        "name = \"\"\ntask = []\n",
        &expect![[r#"
        plan.toml:1:8: error: `name` is empty
         1 | name = ""
           |        ^^

        plan.toml:2:8: error: the plan has no tasks
         2 | task = []
           |        ^^
        help: add a task:

            [[task]]
            id = "first"
            prompt = "...""#]],
    );
    check(
        "name = \"x\"\n[[task]]\nregion = \"a\"\n",
        &expect![[r#"
            plan.toml:2:1: error: the task has no `id`
             2 | [[task]]
               | ^^^^^^^^
            help: every task needs one, for example: id = "login-form"

            plan.toml:2:1: error: the task has no `prompt`
             2 | [[task]]
               | ^^^^^^^^
            help: say what to do with `prompt = "..."`, or give it a `command` or a `script`"#]],
    );
    check(
        "name = \"x\\ny\"\n[[task]]\nid = \"an id\"\nprompt = \" \"\n",
        &expect![[r#"
        plan.toml:1:8: error: `name` contains a line break or a control character
         1 | name = "x\ny"
           |        ^^^^^^

        plan.toml:3:6: error: `id` cannot be `an id`: only letters, digits, `-`, `_` and `.` are allowed
         3 | id = "an id"
           |      ^^^^^^^
        help: did you mean `an-id`?

        plan.toml:4:10: error: `prompt` is empty
         4 | prompt = " "
           |          ^^^"#]],
    );
}

#[test]
fn a_duplicate_id_names_both_lines() {
    check(
        "name = \"x\"\n[[task]]\nid = \"a\"\nprompt = \"x\"\n[[task]]\nid = \"a\"\nprompt = \"y\"\n",
        &expect![[r#"
            plan.toml:6:6: error: two tasks have the id `a`: on line 3 and on line 6
             6 | id = "a"
               |      ^^^
            help: rename one of them"#]],
    );
}

#[test]
fn a_dependency_must_be_another_task_of_the_plan() {
    check(
        "name = \"x\"\n[[task]]\nid = \"login\"\nprompt = \"x\"\ndepends_on = \"login\"\n[[task]]\nid = \"form\"\nprompt = \"y\"\ndepends_on = [\"logn\", \"zzz\"]\n",
        &expect![[r#"
            plan.toml:5:14: error: task `login` depends on itself
             5 | depends_on = "login"
               |              ^^^^^^^
            help: remove it from `depends_on`

            plan.toml:9:15: error: task `form` depends on `logn`, which is not in the plan
             9 | depends_on = ["logn", "zzz"]
               |               ^^^^^^
            help: did you mean `login`?

            plan.toml:9:23: error: task `form` depends on `zzz`, which is not in the plan
             9 | depends_on = ["logn", "zzz"]
               |                       ^^^^^
            help: `depends_on` names the `id` of other tasks of this plan"#]],
    );
}

/// S0-022, S0-027: a cycle is rejected with its tasks, and all disjoint cycles are reported.
#[test]
fn a_cycle_is_reported() {
    check(
        "name = \"x\"\ntask = [\n  { id = \"a\", prompt = \"x\", depends_on = \"b\" },\n  { id = \"b\", prompt = \"x\", depends_on = [\"d\", \"a\"] },\n  { id = \"c\", prompt = \"x\", depends_on = \"e\" },\n  { id = \"d\", prompt = \"x\" },\n  { id = \"e\", prompt = \"x\", depends_on = [\"f\"] },\n  { id = \"f\", prompt = \"x\", depends_on = [\"c\"] },\n]\n",
        &expect![[r#"
            plan.toml:3:42: error: the tasks depend on each other in a cycle: a -> b -> a
             3 |   { id = "a", prompt = "x", depends_on = "b" },
               |                                          ^^^
            help: `a -> b` means that `a` depends on `b`: remove one of these dependencies

            plan.toml:5:42: error: the tasks depend on each other in a cycle: c -> e -> f -> c
             5 |   { id = "c", prompt = "x", depends_on = "e" },
               |                                          ^^^
            help: `a -> b` means that `a` depends on `b`: remove one of these dependencies"#]],
    );
}

#[test]
fn a_region_is_a_path_prefix_inside_the_repository() {
    check_task(
        "prompt = \"x\"\nregion = [\"/src\", \"../other\", \"src/*.rs\", \".git/hooks\", \"\", \"a\\\\b\"]\nexpected_files = [\"*.rs\", \".\"]",
        &expect![[r#"
            plan.toml:5:11: error: `region` cannot contain `/src`: it is absolute; write it relative to the root of the repository
             5 | region = ["/src", "../other", "src/*.rs", ".git/hooks", "", "a\\b"]
               |           ^^^^^^
            help: did you mean `src`?

            plan.toml:5:19: error: `region` cannot contain `../other`: it leaves the repository
             5 | region = ["/src", "../other", "src/*.rs", ".git/hooks", "", "a\\b"]
               |                   ^^^^^^^^^^
            help: name a path below the root of the repository

            plan.toml:5:31: error: `region` cannot contain `src/*.rs`: it is a glob; only a path prefix is possible, such as `src` or `src/**`
             5 | region = ["/src", "../other", "src/*.rs", ".git/hooks", "", "a\\b"]
               |                               ^^^^^^^^^^
            help: did you mean `src`?

            plan.toml:5:43: error: `region` cannot contain `.git/hooks`: it is inside `.git`
             5 | region = ["/src", "../other", "src/*.rs", ".git/hooks", "", "a\\b"]
               |                                           ^^^^^^^^^^^^
            help: no task may change files in `.git`

            plan.toml:5:57: error: `region` cannot contain ``: it is empty; write `.` for the whole repository
             5 | region = ["/src", "../other", "src/*.rs", ".git/hooks", "", "a\\b"]
               |                                                         ^^

            plan.toml:5:61: error: `region` cannot contain `a\b`: it has a control character or a backslash
             5 | region = ["/src", "../other", "src/*.rs", ".git/hooks", "", "a\\b"]
               |                                                             ^^^^^^
            help: did you mean `a/b`?

            plan.toml:6:19: error: `expected_files` cannot contain `*.rs`: it is a glob; name each file
             6 | expected_files = ["*.rs", "."]
               |                   ^^^^^^

            plan.toml:6:27: error: `expected_files` cannot name the whole repository
             6 | expected_files = ["*.rs", "."]
               |                           ^^^
            help: name the paths in it"#]],
    );
}

#[test]
fn work_and_agent_must_match() {
    check_task(
        "command = \"x\"\nscript = \"y\"",
        &expect![[r#"
        plan.toml:5:1: error: task `a` has both a `command` and a `script`
         5 | script = "y"
           | ^^^^^^
        help: keep one of them"#]],
    );
    check_task(
        "command = \"x\"\nagent = \"claude\"",
        &expect![[r#"
            plan.toml:5:9: error: task `a` has a `command`, but `claude` cannot run it
             5 | agent = "claude"
               |         ^^^^^^^^
            help: remove the agent: a `command` runs on `command`"#]],
    );
    check_task(
        "script = \"x\"\nbackend = \"command\"",
        &expect![[r#"
            plan.toml:5:11: error: task `a` has a `script`, but `command` cannot run it
             5 | backend = "command"
               |           ^^^^^^^^^
            help: remove the agent: a `script` runs on `builtin`"#]],
    );
    let text = "name = \"x\"\n[[task]]\nid = \"a\"\nprompt = \"x\"\nbackend = \"builtin\"\n";
    let crew = Some(crew(Readiness::NoModel));
    let defaults = PlanDefaults { crew, ..PlanDefaults::default() };
    let errors = parse_plan("plan.toml", text, &defaults).expect_err("no model");
    expect![[r#"
        plan.toml:5:11: error: task `a` has a prompt for `builtin`, but no model is set
         5 | backend = "builtin"
           |           ^^^^^^^^^
        help: set PITCREW_MODEL=provider/name or `[model]` in your settings, add `script = "..."`, or name another backend"#]]
    .assert_eq(&errors.to_string());
    check_task(
        "prompt = \"x\"\nagent = \"a b\"",
        &expect![[r#"
        plan.toml:5:9: error: `agent` cannot be `a b`
         5 | agent = "a b"
           |         ^^^^^
        help: write a backend such as `claude`, `backend:agent`, or `@agent`"#]],
    );
    check_task(
        "prompt = \"x\"\nbackend = \"claude:agent\"",
        &expect![[r#"
        plan.toml:5:11: error: `claude:agent` is an agent, not a backend
         5 | backend = "claude:agent"
           |           ^^^^^^^^^^^^^^
        help: write `agent = "claude:agent"`"#]],
    );
    check_task(
        "prompt = \"x\"\nbackend = \"claude\"\nagent = \"architect\"",
        &expect![[r#"
            plan.toml:5:11: error: the backend is `claude` here, but `architect` in `agent`
             5 | backend = "claude"
               |           ^^^^^^^^
            help: for an agent `architect` on `claude` write `claude:architect`"#]],
    );
}

#[test]
fn a_prompt_without_an_agent_suggests_a_fix() {
    let text = "name = \"x\"\n[[task]]\nid = \"a\"\nprompt = \"x\"\n";
    let crew = Some(crew(Readiness::NoModel));
    let defaults = PlanDefaults { crew, ..PlanDefaults::default() };
    let errors = parse_plan("plan.toml", text, &defaults).expect_err("no agent");
    expect![[r#"
        plan.toml:2:1: error: task `a` has a prompt but no agent
         2 | [[task]]
           | ^^^^^^^^
        help: write `agent = "claude"` (or another backend) in the task, set `agent = "claude"` in the settings, or give the task a `command` or a `script`"#]].assert_eq(&errors.to_string());
    let text = text.replace("prompt", "agent = \"@architect\"\nprompt");
    let errors = parse_plan("plan.toml", &text, &defaults).expect_err("no backend");
    expect![[r#"
        plan.toml:4:9: error: task `a` names `@architect`, but no backend that runs it
         4 | agent = "@architect"
           |         ^^^^^^^^^^^^
        help: write `agent = "claude:architect"` with a backend of yours, or set `agent` in the settings"#]].assert_eq(&errors.to_string());
}

#[test]
fn a_duration_and_a_count_have_limits() {
    check_task(
        "prompt = \"x\"\ntimeout = \"10\"\nmax_attempts = 0",
        &expect![[r#"
        plan.toml:5:11: error: `timeout` is invalid: `10` has no unit
         5 | timeout = "10"
           |           ^^^^
        help: write a number with a unit, such as "30s", "10min" or "1h30min", or whole seconds

        plan.toml:6:16: error: `max_attempts` is 0, but must be between 1 and 20
         6 | max_attempts = 0
           |                ^"#]],
    );
    check_task(
        "prompt = \"x\"\ntimeout = -1\nmax_attempts = 21",
        &expect![[r#"
        plan.toml:5:11: error: `timeout` is invalid: it is negative
         5 | timeout = -1
           |           ^^
        help: write a number with a unit, such as "30s", "10min" or "1h30min", or whole seconds

        plan.toml:6:16: error: `max_attempts` is 21, but must be between 1 and 20
         6 | max_attempts = 21
           |                ^^"#]],
    );
    check_task(
        "prompt = \"x\"\ntimeout = \"8d\"\nmax_attempts = 1.5",
        &expect![[r#"
        plan.toml:5:11: error: `timeout` is invalid: it is more than 7d
         5 | timeout = "8d"
           |           ^^^^
        help: write a number with a unit, such as "30s", "10min" or "1h30min", or whole seconds

        plan.toml:6:16: error: `max_attempts` must be a whole number, not a float
         6 | max_attempts = 1.5
           |                ^^^"#]],
    );
    check_task(
        "prompt = \"x\"\ntimeout = 0",
        &expect![[r#"
        plan.toml:5:11: error: `timeout` is invalid: it is zero
         5 | timeout = 0
           |           ^
        help: write a number with a unit, such as "30s", "10min" or "1h30min", or whole seconds"#]],
    );
}

#[test]
fn a_base_cannot_resemble_a_git_option() {
    check(
        "name = \"x\"\nbase = \"--upload-pack=x\"\n[[task]]\nid = \"a\"\nprompt = \"x\"\n",
        &expect![[r#"
        plan.toml:2:8: error: `base` cannot be used: it begins with a dash, like an option
         2 | base = "--upload-pack=x"
           |        ^^^^^^^^^^^^^^^^^
        help: write a branch, a tag or a commit, such as "main""#]],
    );
}

#[test]
fn a_syntax_error_has_a_location() {
    check(
        "name = \"x\"\n[[task]\nid = \"a\"\n",
        &expect![[r#"
        plan.toml:2:8: error: this is not TOML: unclosed array table, expected `]`
         2 | [[task]
           |        ^"#]],
    );
    check(
        "name = \"x\"\nname = \"y\"\n",
        &expect![[r#"
        plan.toml:2:1: error: this is not TOML: duplicate key
         2 | name = "y"
           | ^^^^"#]],
    );
    check(
        "name = ",
        &expect![[r#"
        plan.toml:1:8: error: this is not TOML: string values must be quoted, expected literal string
         1 | name =
           |        ^"#]],
    );
}

#[test]
fn invalid_utf_8_has_a_location() {
    let errors = parse_plan_bytes("plan.toml", b"# plan\nname = \"gr\xfcn\"\n", &with_agent());
    expect![[r#"
        plan.toml:2:11: error: byte 17 is not UTF-8
         2 | name = "gr�n"
           |           ^
        help: save the file as UTF-8"#]]
    .assert_eq(&errors.expect_err("latin 1").to_string());
    assert!(parse_plan_bytes("plan.toml", example_plan().as_bytes(), &with_agent()).is_ok());
}

/// A region that is denied entirely could change nothing.
#[test]
fn a_region_cannot_be_a_denied_path() {
    check(
        "name = \"x\"\ndenied = [\"infra\", \".\", \"src/*.rs\"]\nreads = \"all\"\ntask = [{id='a',prompt='b'}]\n",
        &expect![[r#"
            plan.toml:2:20: error: `denied` cannot name the whole repository
             2 | denied = ["infra", ".", "src/*.rs"]
               |                    ^^^
            help: name the paths in it

            plan.toml:2:25: error: `denied` cannot contain `src/*.rs`: it is a glob; only a path prefix is possible, such as `src` or `src/**`
             2 | denied = ["infra", ".", "src/*.rs"]
               |                         ^^^^^^^^^^
            help: did you mean `src`?

            plan.toml:3:9: error: `reads` cannot be `all`
             3 | reads = "all"
               |         ^^^^^
            help: possible values: guided, zone"#]],
    );
    check(
        "name = \"x\"\ndenied = \"infra\"\n\n[[task]]\nid = \"a\"\nprompt = \"b\"\nregion = [\"ui\", \"infra/prod\"]\n",
        &expect![[r#"
            plan.toml:7:1: error: the region of task `a` cannot contain `infra/prod`: `infra` is denied to all tasks
             7 | region = ["ui", "infra/prod"]
               | ^^^^^^
            help: choose another region, or remove it from `denied`"#]],
    );
    let denied = vec![pitcrew_model::RepoPath::parse("infra").expect("a path")];
    let defaults = PlanDefaults { denied, ..with_agent() };
    let text = "name = \"x\"\n[[task]]\nid = \"a\"\nprompt = \"b\"\nregion = \"infra\"\n";
    let errors = parse_plan("plan.toml", text, &defaults).expect_err("it is denied");
    assert!(errors.to_string().contains("your settings deny this one"), "{errors}");
}
