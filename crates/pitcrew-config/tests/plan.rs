//! Plan files: parsing and warnings.

use expect_test::expect;
use pitcrew_config::{PlanDefaults, describe, example_plan, parse_plan};
use pitcrew_model::{AgentRef, Caps, Deploy, Effort, Overlap, PlanSpec, TaskWork, limits};

fn with_agent() -> PlanDefaults {
    PlanDefaults { agent: Some(AgentRef::backend("claude")), ..PlanDefaults::default() }
}

fn spec(text: &str) -> PlanSpec {
    parse_plan("plan.toml", text, &with_agent()).unwrap_or_else(|it| panic!("{it}")).spec
}

fn warnings(text: &str) -> Vec<String> {
    let parsed = parse_plan("plan.toml", text, &with_agent()).unwrap_or_else(|it| panic!("{it}"));
    parsed.warnings.iter().map(|it| format!("{}:{} {}", it.line, it.column, it.message)).collect()
}

/// S0-012, S1-010, S1-012: a plan has a name, a description, a base and tasks; a task has an id,
/// its full prompt, its dependencies and its agent.
#[test]
fn every_key_arrives_in_the_spec() {
    let plan = spec(
        r#"
        name = " Login "
        description = "Everything about logging in."
        base = "main"
        deploy = "manual"
        overlap = "allow"
        effort = "high"
        shared = ["Makefile", "docs/**"]
        setup = "npm ci"
        setup_inputs = ["package-lock.json"]
        max_attempts = 5
        timeout = "30s"

        [[task]]
        id = "form"
        prompt = """
        Add a form.
        And test it."""
        region = ["src/ui", "./src/ui/", "assets/**"]
        agent = "claude:agent"
        checks = ["npm test", "npm run lint"]
        expected_files = "src/ui/[form].tsx"
        criteria = "an empty password is refused"
        max_attempts = 1
        timeout = 90

        [[task]]
        id = "api"
        backend = "codex"
        prompt = "Add the endpoint."
        depends_on = ["form", "form"]
    "#,
    );
    let head = &plan.head;
    assert_eq!(head.name, "Login");
    assert_eq!(head.description, "Everything about logging in.");
    assert_eq!(head.base.as_deref(), Some("main"));
    assert_eq!((head.deploy, head.overlap), (Deploy::Manual, Overlap::Allow));
    assert_eq!(head.effort, Effort::High);
    assert_eq!(
        head.shared.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["Makefile", "docs"]
    );
    assert_eq!(head.setup, ["npm ci"]);
    assert_eq!(head.setup_inputs[0].as_str(), "package-lock.json");
    let [form, api] = plan.tasks.as_slice() else { panic!("two tasks") };
    assert_eq!((form.key.as_str(), form.agent.to_string().as_str()), ("form", "claude:agent"));
    assert!(form.work.prompt().contains("Add a form.") && form.work.prompt().contains("test it."));
    assert_eq!(
        form.region.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["src/ui", "assets"]
    );
    assert_eq!(form.checks, ["npm test", "npm run lint"]);
    assert_eq!(form.expected_files[0].as_str(), "src/ui/[form].tsx");
    assert_eq!(form.criteria, ["an empty password is refused"]);
    assert_eq!((form.attempts_max, form.timeout_ms), (1, 90_000));
    assert_eq!(api.agent, AgentRef::backend("codex"));
    assert_eq!(api.depends_on, ["form"]);
    assert_eq!((api.attempts_max, api.timeout_ms), (5, 30_000), "what the plan says for all");
}

#[test]
fn missing_keys_have_defaults() {
    let plan = spec("name = \"x\"\n[[task]]\nid = \"a\"\nprompt = \"do it\"\n");
    let (head, task) = (&plan.head, &plan.tasks[0]);
    assert_eq!((head.deploy, head.overlap, head.effort), Default::default());
    assert_eq!((head.base.as_deref(), head.description.as_str()), (None, ""));
    assert!(head.shared.iter().any(|it| it.as_str() == "Cargo.lock"));
    assert!(head.setup.is_empty() && head.setup_inputs.is_empty());
    assert_eq!(task.agent, AgentRef::backend("claude"));
    assert!(task.region.is_empty() && task.depends_on.is_empty() && task.checks.is_empty());
    assert_eq!(task.attempts_max, limits::ATTEMPTS_PER_TASK_DEFAULT);
    assert_eq!(task.timeout_ms, limits::TASK_TIMEOUT_MS_DEFAULT);
    assert!(spec("name='x'\nshared=[]\ntask=[{id='a',prompt='b'}]").head.shared.is_empty());
}

#[test]
fn a_script_or_a_command_selects_its_backend() {
    let plan = spec(
        r#"
        name = "x"
        [[task]]
        id = "codemod"
        command = "sed -i s/a/b/ file\necho done"
        [[task]]
        id = "steps"
        script = "write a.txt"
        prompt = "Write a file."
        [[task]]
        id = "said"
        command = "true"
        backend = "command"
    "#,
    );
    let agents: Vec<String> = plan.tasks.iter().map(|it| it.agent.to_string()).collect();
    assert_eq!(agents, ["command", "builtin", "command"]);
    let TaskWork::Command { prompt, command } = &plan.tasks[0].work else { panic!("a command") };
    assert_eq!((prompt.as_str(), command.lines().count()), ("run `sed -i s/a/b/ file`", 2));
    assert_eq!(plan.tasks[1].work.prompt(), "Write a file.");
}

#[test]
fn agent_and_backend_may_be_separate_keys() {
    let text = "name='x'\ntask=[{id='a',prompt='b',agent='@architect',backend='codex'}, {id='b',prompt='b',agent='@architect'}]";
    let plan = spec(text);
    assert_eq!(plan.tasks[0].agent.to_string(), "codex:architect");
    assert_eq!(plan.tasks[1].agent.to_string(), "claude:architect", "the backend of the settings");
}

#[test]
fn surprising_plans_give_warnings() {
    let text = "name = \"x\"\nsetup_inputs = \"a\"\n[[task]]\nid = \"task-1\"\nprompt = \"x\"\n";
    expect![[r#"
        2:1 `setup_inputs` has no effect: there is no `setup`
        4:6 task `task-1` has no `region`: it may change any file, also one that another task is changing
        4:6 task `task-1` has no `checks`: nothing will verify its work
        4:6 `task-1` looks like an id that Pitcrew assigns, but the task will get a different id"#]].assert_eq(&warnings(text).join("\n"));
}

/// S2-047: tasks have regions, and overlaps are reported before the tasks run.
#[test]
fn overlapping_regions_of_independent_tasks_give_a_warning() {
    let task = |id: &str, region: &str, after: &str| {
        format!(
            "[[task]]\nid='{id}'\nprompt='x'\nchecks='x'\nregion={region}\ndepends_on=[{after}]\n"
        )
    };
    let plan = |head: &str, tasks: &[String]| format!("name='x'\n{head}\n{}", tasks.concat());
    let tasks = [
        task("core", "'src'", ""),
        task("api", "['src/api', 'Cargo.toml']", ""),
        task("later", "'src/core'", "'core'"),
        task("last", "'src'", "'later', 'api'"),
        task("docs", "['docs', 'Cargo.toml']", ""),
        task("src2", "'src2'", ""),
        task("a", "'.'", "'last'"),
    ];
    expect![[r#"
        13:1 the region of task `api` overlaps with that of `core`: they will not run at the same time
        43:1 the region of task `a` overlaps with that of `docs` and `src2`: they will not run at the same time"#]].assert_eq(&warnings(&plan("", &tasks)).join("\n"));
    assert!(warnings(&plan("overlap = 'allow'", &tasks)).is_empty());
    let crowd: Vec<String> = (0..6).map(|it| task(&format!("t{it}"), "'src'", "")).collect();
    let last = warnings(&plan("", &crowd)).pop().expect("a warning");
    assert!(last.contains("that of `t0`, `t1`, `t2` and others: they"), "{last}");
}

#[test]
fn sizes_are_limited() {
    let first = |text: &str| {
        let errors = parse_plan("plan.toml", text, &with_agent()).expect_err("too much");
        errors.diagnostics[0].message.clone()
    };
    let prompt = "x".repeat(limits::PROMPT_BYTES_MAX + 1);
    expect!["`prompt` has 262145 bytes; at most 262144 are allowed"]
        .assert_eq(&first(&format!("name='x'\n[[task]]\nid='a'\nprompt='{prompt}'")));
    let task = |it| format!("[[task]]\nid='t{it}'\nprompt='x'\n");
    let tasks: Vec<String> = (0..=limits::TASKS_PER_PLAN_MAX).map(task).collect();
    let tasks = tasks.concat();
    expect!["the plan has 10001 tasks; at most 10000 are allowed"]
        .assert_eq(&first(&format!("name='x'\n{tasks}")));
    let many = "'a',".repeat(1_001);
    expect!["`depends_on` has 1001 elements; at most 1000 are allowed"]
        .assert_eq(&first(&format!("name='x'\n[[task]]\nid='b'\nprompt='x'\ndepends_on=[{many}]")));
    expect!["`checks` has 1001 elements; at most 1000 are allowed"]
        .assert_eq(&first(&format!("name='x'\n[[task]]\nid='b'\nprompt='x'\nchecks=[{many}]")));
    expect!["the plan has 16777217 bytes; at most 16777216 are allowed"]
        .assert_eq(&first(&"#".repeat(16 * 1_024 * 1_024 + 1)));
}

#[test]
fn a_plan_of_the_largest_size_parses() {
    let task = |it: usize| {
        let after = if it >= 100 { format!("'t{}'", it - 100) } else { String::new() };
        format!(
            "[[task]]\nid='t{it}'\nprompt='x'\nregion='src/m{}'\ndepends_on=[{after}]\n",
            it % 150
        )
    };
    let tasks: String = (0..limits::TASKS_PER_PLAN_MAX).map(task).collect();
    let plan = spec(&format!("name='x'\n{tasks}"));
    assert_eq!(plan.tasks.len(), limits::TASKS_PER_PLAN_MAX);
}

#[test]
fn the_example_is_a_plan_without_a_warning() {
    let parsed = parse_plan("example.toml", example_plan(), &PlanDefaults::default());
    let parsed = parsed.unwrap_or_else(|it| panic!("{it}"));
    assert_eq!(parsed.warnings, []);
    assert_eq!(parsed.spec.tasks.len(), 3);
    let commented = example_plan().split_once("# [[task]]").expect("a task to uncomment").1;
    let uncommented: Vec<&str> = commented.lines().map(|it| it.trim_start_matches("# ")).collect();
    let whole = format!("{}\n[[task]]{}", example_plan(), uncommented.join("\n"));
    let parsed = parse_plan("example.toml", &whole, &PlanDefaults::default());
    assert_eq!(parsed.unwrap_or_else(|it| panic!("{it}")).spec.tasks.len(), 4);
}

/// S0-009: the spending caps of a plan and a task are kept exactly.
#[test]
fn caps_are_numbers_or_amounts_of_dollars() {
    let defaults =
        PlanDefaults { caps: Caps { tokens: Some(9), cost_micros: Some(8) }, ..with_agent() };
    let text = "name = \"x\"\nmax_cost = 2.5\n[[task]]\nid = \"a\"\nprompt = \"p\"\n\
                max_tokens = 400_000\nmax_cost = \"$0.75\"\n";
    let spec = parse_plan("plan.toml", text, &defaults).expect("a plan").spec;
    assert_eq!(spec.head.caps, Caps { tokens: Some(9), cost_micros: Some(2_500_000) });
    let caps = Caps { tokens: Some(400_000), cost_micros: Some(750_000) };
    assert_eq!(spec.tasks[0].caps, caps);
    for wrong in ["max_tokens = 0", "max_tokens = \"many\"", "max_cost = -1", "max_cost = []"] {
        let text = format!("name = \"x\"\n{wrong}\n[[task]]\nid = \"a\"\nprompt = \"p\"\n");
        assert!(parse_plan("plan.toml", &text, &defaults).is_err(), "{wrong}");
    }
}

/// S4-005: a task can choose its model.
#[test]
fn a_task_may_name_its_model() {
    let task = |keys: &str| format!("name = \"x\"\n[[task]]\nid = \"a\"\n{keys}\n");
    let plan = task("prompt = \"p\"\nagent = \"claude\"\nmodel = \"opus\"");
    let plan = parse_plan("plan.toml", &plan, &PlanDefaults::default()).expect("a plan");
    assert_eq!(plan.spec.tasks[0].model.as_deref(), Some("opus"));
    let picture = describe(&plan.spec).expect("a picture").to_string();
    assert!(picture.contains("claude with opus"), "{picture}");
    for (wrong, reason) in [
        ("prompt = \"p\"\nagent = \"claude\"\nmodel = \" \"", "`model` is empty"),
        ("prompt = \"p\"\nagent = \"claude\"\nmodel = 4", "`model` must be a string"),
        ("command = \"make\"\nmodel = \"opus\"", "`model`, but no `prompt`"),
    ] {
        let errors = parse_plan("plan.toml", &task(wrong), &PlanDefaults::default());
        let errors = errors.expect_err(wrong).to_string();
        assert!(errors.contains(reason), "{errors}");
    }
}

/// The settings are a minimum: a plan adds to the denied paths and is at least as strict.
#[test]
fn a_plan_only_adds_to_the_denied_paths() {
    use pitcrew_model::{Reads, RepoPath};
    let denied = vec![RepoPath::parse("infra").expect("a path")];
    let mut defaults = PlanDefaults { denied, reads: Reads::Zone, ..PlanDefaults::default() };
    let read = |text: &str, defaults: &PlanDefaults| {
        let text = format!("name='x'\n{text}\ntask=[{{id='a',command='b'}}]");
        let head =
            parse_plan("plan.toml", &text, defaults).unwrap_or_else(|it| panic!("{it}")).spec.head;
        (head.denied.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "), head.reads)
    };
    assert_eq!(read("", &defaults), ("infra".into(), Reads::Zone));
    assert_eq!(
        read("denied=['a','infra']\nreads='guided'", &defaults),
        ("a infra".into(), Reads::Zone)
    );
    defaults.reads = Reads::Guided;
    assert_eq!(
        read("denied='docs/**'\nreads='zone'", &defaults),
        ("docs infra".into(), Reads::Zone)
    );
}
