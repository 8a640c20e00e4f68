//! The summary of a plan for the user who approves it.

use expect_test::expect;
use pitcrew_config::{PlanDefaults, describe, example_plan, parse_plan};
use pitcrew_model::{AgentRef, PlanSpec};

fn spec(text: &str) -> PlanSpec {
    let agent = Some(AgentRef::backend("claude"));
    let defaults = PlanDefaults { agent, ..PlanDefaults::default() };
    parse_plan("plan.toml", text, &defaults).unwrap_or_else(|it| panic!("{it}")).spec
}

/// A plan from lines such as `d: b c`: task `d` depends on `b` and `c`.
fn graph(lines: &[&str]) -> PlanSpec {
    let mut plan = spec(example_plan());
    let template = plan.tasks[0].clone();
    plan.tasks = lines
        .iter()
        .map(|line| {
            let (key, after) = line.split_once(':').expect("a colon");
            let depends_on = after.split_whitespace().map(ToOwned::to_owned).collect();
            pitcrew_model::TaskSpec { key: key.into(), depends_on, ..template.clone() }
        })
        .collect();
    plan
}

fn levels(lines: &[&str]) -> Vec<String> {
    let picture = describe(&graph(lines)).unwrap_or_else(|it| panic!("{it}"));
    let keys = |level: &Vec<pitcrew_config::PictureTask>| {
        level.iter().map(|it| it.key.clone()).collect::<Vec<_>>().join(" ")
    };
    picture.levels.iter().map(keys).collect()
}

/// S0-027: empty, no dependencies, a chain, a diamond, mixed, circular.
#[test]
fn levels_follow_the_dependencies() {
    assert_eq!(levels(&[]), Vec::<String>::new());
    assert_eq!(levels(&["a:", "b:", "c:"]), ["a b c"]);
    assert_eq!(levels(&["c: b", "b: a", "a:"]), ["a", "b", "c"]);
    assert_eq!(levels(&["a:", "b: a", "c: a", "d: b c"]), ["a", "b c", "d"]);
    let mixed = ["a:", "b: a", "c: b", "d: a c", "e:", "f: e"];
    assert_eq!(levels(&mixed), ["a e", "b f", "c", "d"], "a task stands behind its longest chain");
    let cycle = describe(&graph(&["x:", "a: c x", "b: a", "c: b"])).expect_err("a cycle");
    assert_eq!(cycle.to_string(), "the tasks depend on each other in a cycle: a -> c -> b -> a");
    let own = describe(&graph(&["a: a"])).expect_err("a cycle");
    assert_eq!(own.keys, ["a", "a"]);
}

#[test]
fn shows_all_commands_verbatim() {
    let plan = spec(
        r#"
        name = "Login"
        description = "Users can log in."
        base = "main"
        deploy = "manual"
        setup = ["npm ci"]

        [[task]]
        id = "form"
        prompt = "Add a form."
        region = ["src/ui", "assets"]
        checks = ["npm test", "npm run lint"]

        [[task]]
        id = "codemod"
        command = """
        find . -name '*.js' |
          xargs sed -i 's/a/b/'
        """
        region = "src/api"
        checks = "npm test"
        timeout = "90s"
        max_attempts = 1

        [[task]]
        id = "notes"
        script = "write NOTES.md\n\thello"
        depends_on = ["form", "codemod"]
    "#,
    );
    let picture = describe(&plan).unwrap_or_else(|it| panic!("{it}"));
    expect![[r#"
        plan "Login": 3 tasks in 2 levels
          Users can log in.
          starts from main; each task waits for `pitcrew deploy`; overlapping regions wait for each other

        level 1
          form     claude   src/ui, assets  (2 checks, 3 attempts of 1h)
          codemod  command  src/api  (1 check, 1 attempt of 1min30s)

        level 2
          notes  builtin  the whole repository  after form, codemod  (0 checks, 3 attempts of 1h)

        these commands will run exactly as shown
          setup of every checkout | npm ci
          script of notes
            | write NOTES.md
            | 	hello
          command of codemod
            |         find . -name '*.js' |
            |           xargs sed -i 's/a/b/'
          check of form, codemod | npm test
          check of form | npm run lint
    "#]].assert_eq(&picture.to_string());
}

#[test]
fn a_plan_cannot_hide_its_content() {
    let hostile = "name = \"x\\u202e\"\n[[task]]\nid = \"a\"\ncommand = \"rm -rf /\\r\\u001b[1A\\u202etrue\"\n";
    let picture = describe(&spec(hostile)).unwrap_or_else(|it| panic!("{it}")).to_string();
    assert!(!picture.contains(['\u{1b}', '\r', '\u{202e}']), "{picture:?}");
    assert!(picture.contains("rm -rf /\\u{d}\\u{1b}[1A\\u{202e}true"), "{picture}");
}
