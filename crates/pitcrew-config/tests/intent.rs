//! Plans from requests in plain English.

use expect_test::{Expect, expect};
use pitcrew_config::{IntentRequest, PlanDefaults, intent_plan};
use pitcrew_model::{AgentProfile, AgentRef, BackendProfile, Crew, Readiness, TaskWork};

fn request(text: &str) -> IntentRequest {
    IntentRequest { text: text.into(), ..IntentRequest::default() }
}

fn with_agent() -> PlanDefaults {
    PlanDefaults { agent: Some(AgentRef::backend("goose")), ..PlanDefaults::default() }
}

/// Three programs and the built-in agent, in this state.
fn crew(builtin: Readiness) -> Crew {
    let profile = |title: &str, readiness| BackendProfile { title: title.into(), readiness };
    let backends = [
        ("builtin".to_owned(), profile("Built in", builtin)),
        ("claude".to_owned(), profile("Claude", Readiness::Ready)),
        ("codex".to_owned(), profile("Codex", Readiness::Ready)),
        ("command".to_owned(), profile("Command", Readiness::CommandsOnly)),
        ("goose".to_owned(), profile("Goose", Readiness::Ready)),
    ];
    let architect = AgentProfile { name: "architect".into(), ..AgentProfile::default() };
    let agents = [("architect".to_owned(), architect.into())].into();
    Crew { backends: backends.into(), agents, ..Crew::default() }
}

/// The tasks of a request, a line each.
fn tasks(request: &IntentRequest) -> String {
    let plan = intent_plan(request, &with_agent()).unwrap_or_else(|it| panic!("{it}"));
    let line = |task: &pitcrew_model::TaskSpec| {
        let region: Vec<String> = task.region.iter().map(ToString::to_string).collect();
        let prompt = task.work.prompt();
        format!("{} | {} | {} | {prompt}", task.key, task.agent, region.join(" "))
    };
    plan.tasks.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&tasks(&request(text)));
}

fn check_error(request: &IntentRequest, defaults: &PlanDefaults, expected: &Expect) {
    let errors = intent_plan(request, defaults).expect_err("it cannot be planned");
    expected.assert_eq(&errors.to_string());
}

#[test]
fn a_request_is_one_task() {
    let mut request = request("  Add a login form.\nWith validation, please.  ");
    request.checks = vec!["npm test".into()];
    request.regions = vec!["src/ui/**".into(), "assets".into()];
    request.agent = Some("claude:agent".into());
    request.base = Some("main".into());
    let plan = intent_plan(&request, &PlanDefaults::default()).unwrap_or_else(|it| panic!("{it}"));
    assert_eq!(plan.head.name, "Add a login form.");
    assert_eq!(plan.head.description, "Add a login form.\nWith validation, please.");
    assert_eq!(plan.head.base.as_deref(), Some("main"));
    let [task] = plan.tasks.as_slice() else { panic!("one task") };
    assert_eq!(task.key, "add-a-login-form-with-validation-please");
    let prompt = "Add a login form.\nWith validation, please.".to_owned();
    assert_eq!(task.work, TaskWork::Prompt { prompt });
    assert_eq!(
        task.region.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["src/ui", "assets"]
    );
    assert_eq!(task.checks, ["npm test"]);
    assert_eq!(task.agent.to_string(), "claude:agent");
}

/// S0-011: an agent and a region in the text are used.
#[test]
fn the_text_sets_agent_and_region() {
    check(
        "use claude for /ui: restyle the form",
        &expect!["restyle-the-form | claude | ui | restyle the form"],
    );
    check(
        "Restyle the form, use Claude for /ui",
        &expect!["restyle-the-form | claude | ui | Restyle the form"],
    );
    check(
        "Restyle the form. Use codex:fast in src/ui and ./assets. Keep it small.",
        &expect![
            "restyle-the-form-keep-it-small | codex:fast | assets src/ui | Restyle the form. Keep it small."
        ],
    );
    check(
        "use @architect for /core/, /api and /db: draw the borders",
        &expect!["draw-the-borders | @architect | api core db | draw the borders"],
    );
    check("in /ui: restyle the form", &expect!["restyle-the-form | goose | ui | restyle the form"]);
    check("use gemini: fix the typo", &expect!["fix-the-typo | gemini |  | fix the typo"]);
    check("use gemini to fix the typo", &expect!["fix-the-typo | gemini |  | fix the typo"]);
    check(
        "restyle the form using claude",
        &expect!["restyle-the-form | claude |  | restyle the form"],
    );
    check(
        "use claude for the tests",
        &expect!["use-claude-for-the-tests | claude |  | use claude for the tests"],
    );
}

/// S0-011: words that only resemble an override stay part of the request.
#[test]
fn ordinary_words_are_not_overrides() {
    for text in [
        "use tailwind for /ui",
        "use claude api keys from the vault",
        "reuse claude for nothing",
        "use the form in /ui",
        "fix the bug in src/main.rs: it crashes",
        "make and/or work",
    ] {
        let plan = tasks(&request(text));
        assert!(plan.ends_with(&format!(" | goose |  | {text}")), "{plan}");
    }
    check(
        "use claude for https://example.com/x",
        &expect![
            "use-claude-for-https-example-com-x | claude |  | use claude for https://example.com/x"
        ],
    );
}

/// S0-011: with a model, a request can name the built-in agent; without one, its name is an
/// ordinary word.
#[test]
fn a_request_can_name_the_built_in_agent_if_it_has_a_model() {
    let text = "use builtin for /ui: restyle the form";
    let defaults = PlanDefaults { crew: Some(crew(Readiness::Ready)), ..with_agent() };
    let plan = intent_plan(&request(text), &defaults).unwrap_or_else(|it| panic!("{it}"));
    let [task] = plan.tasks.as_slice() else { panic!("one task") };
    assert_eq!((task.agent.to_string().as_str(), task.region.len()), ("builtin", 1));
    assert_eq!(task.work.prompt(), "restyle the form");
    assert!(tasks(&request(text)).ends_with(&format!(" | goose |  | {text}")));
}

/// S0-011: several requests with their own regions become several tasks.
#[test]
fn several_requests_become_several_tasks() {
    check(
        "use claude for /ui: restyle the form; use codex for /api: add the endpoint",
        &expect![[r#"
            restyle-the-form | claude | ui | restyle the form
            add-the-endpoint | codex | api | add the endpoint"#]],
    );
    check(
        "Users can log in.\n- use claude for /ui: add the form\n- in /api and /db: add the endpoint\n",
        &expect![[r#"
            add-the-form | claude | ui | Users can log in.

            add the form
            add-the-endpoint | goose | api db | Users can log in.

            add the endpoint"#]],
    );
    check(
        "use claude for /a: fix it; use codex for /b: fix it",
        &expect![[r#"
        fix-it | claude | a | fix it
        fix-it-2 | codex | b | fix it"#]],
    );
    check(
        "Add a login, use codex for /api and claude for /ui",
        &expect![[r#"
            add-a-login | codex | api | Add a login
            add-a-login-2 | claude | ui | Add a login"#]],
    );
}

/// S0-011: flags override the text.
#[test]
fn flags_override_the_text() {
    let text = "use claude for /ui: restyle the form";
    let by_agent = IntentRequest { agent: Some("codex".into()), ..request(text) };
    expect!["restyle-the-form | codex | ui | restyle the form"].assert_eq(&tasks(&by_agent));
    let by_region = IntentRequest { regions: vec!["web".into()], ..request(text) };
    expect!["restyle-the-form | claude | web | restyle the form"].assert_eq(&tasks(&by_region));
    let several = "use claude for /ui: restyle; use claude for /api: extend";
    let by_region = IntentRequest { regions: vec!["web".into()], ..request(several) };
    expect!["restyle-extend | claude | web | restyle; extend"].assert_eq(&tasks(&by_region));
}

#[test]
fn an_invalid_request_gives_the_reason() {
    let defaults = PlanDefaults { crew: Some(crew(Readiness::NoModel)), ..with_agent() };
    check_error(
        &request("use claude for /ui"),
        &defaults,
        &expect![[r#"
        --task:1:1: error: the request does not say what to do
         1 | use claude for /ui
           | ^^^^^^^^^^^^^^^^^^
        help: describe the work, for example: use claude for /ui: restyle the login form"#]],
    );
    check_error(
        &request(" \n"),
        &defaults,
        &expect![[r#"
        --task:1:1: error: the request does not say what to do
        help: describe the work, for example: use claude for /ui: restyle the login form"#]],
    );
    check_error(
        &request("fix it, use claude, use codex"),
        &defaults,
        &expect![[r#"
        --task:1:21: error: the request names two agents for one task: claude and codex
         1 | fix it, use claude, use codex
           |                     ^^^^^^^^^
        help: name one, add `--agent claude`, or say what each does: use claude for /a: ...; use codex for /b: ..."#]],
    );
    check_error(
        &request("use claude for ../x: fix"),
        &defaults,
        &expect![[r#"
        --task:1:16: error: `../x` is not a region: it leaves the repository
         1 | use claude for ../x: fix
           |                ^^^^
        help: name a path below the root of the repository"#]],
    );
    check_error(
        &request("fix it"),
        &PlanDefaults { crew: Some(crew(Readiness::NoModel)), ..PlanDefaults::default() },
        &expect![[r#"
        --task:1:1: error: no agent is set for the request
         1 | fix it
           | ^^^^^^
        help: add `--agent claude` (or another backend), begin the request with `use claude: ...`, or set `agent = "claude"` in the settings"#]],
    );
    let flags = IntentRequest {
        regions: vec!["/ui".into(), "a/*.rs".into()],
        agent: Some("a b".into()),
        checks: vec![" ".into()],
        base: Some("-x".into()),
        ..request("fix it")
    };
    check_error(
        &flags,
        &defaults,
        &expect![[r#"
        --region:1:1: error: `/ui` is not a region: it is absolute; write it relative to the root of the repository
         1 | /ui
           | ^^^
        help: did you mean `ui`?

        --region:1:1: error: `a/*.rs` is not a region: it is a glob; only a path prefix is possible, such as `src` or `src/**`
         1 | a/*.rs
           | ^^^^^^
        help: did you mean `a`?

        --agent:1:1: error: `a b` is not an agent
         1 | a b
           | ^^^
        help: write a backend such as `claude`, `backend:agent`, or `@agent`

        --check:1:1: error: the check is empty or contains a NUL character

        --base:1:1: error: `-x` cannot be used: it begins with a dash, like an option
         1 | -x
           | ^^"#]],
    );
    let builtin = IntentRequest { agent: Some("command".into()), ..request("fix it") };
    check_error(
        &builtin,
        &defaults,
        &expect![[r#"
            --task:1:1: error: the request runs on `command`, but has no command
             1 | fix it
               | ^^^^^^
            help: `--agent command` needs a plan file: add `command = "..."`, or name a backend that works from a prompt"#]],
    );
    let builtin = IntentRequest { agent: Some("builtin".into()), ..request("fix it") };
    check_error(
        &builtin,
        &defaults,
        &expect![[r#"
            --task:1:1: error: the request has a prompt for `builtin`, but no model is set
             1 | fix it
               | ^^^^^^
            help: set PITCREW_MODEL=provider/name or `[model]` in your settings, or name another agent with `--agent`; a `script` needs a plan file"#]],
    );
    let huge = request(&"x".repeat(300_000));
    assert!(intent_plan(&huge, &defaults).is_err());
}

#[test]
fn the_tasks_of_a_request_use_its_model() {
    let mut request = request("use claude for /ui: restyle it. use codex for /api: test it.");
    request.model = Some("small".into());
    let plan = intent_plan(&request, &with_agent()).expect("a plan");
    assert!(plan.tasks.iter().all(|it| it.model.as_deref() == Some("small")), "{plan:?}");
    request.model = Some(" ".into());
    let errors = intent_plan(&request, &with_agent()).expect_err("no model").to_string();
    assert!(errors.contains("the model is empty"), "{errors}");
}
