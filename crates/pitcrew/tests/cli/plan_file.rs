//! `pitcrew plan check` and `pitcrew plan show`.

use crate::support::{TWO_COMMANDS, sandbox};

#[test]
fn plan_error_has_a_location() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&TWO_COMMANDS.replace("[\"first\"]", "[\"frist\"]"));
    for command in [&["plan", "check", &plan][..], &["run", &plan, "--yes"]] {
        let refused = sandbox.pitcrew(command).expect(2);
        assert!(refused.stderr.contains("plan.toml:14:"), "{refused}");
        assert!(refused.stderr.contains('^'), "{refused}");
        assert!(refused.stderr.contains("did you mean `first`?"), "{refused}");
        assert!(refused.stdout.is_empty(), "{refused}");
    }
    assert!(sandbox.orchestrator().is_none(), "no orchestrator was started");
}

#[test]
fn plan_errors_are_in_the_json() {
    let sandbox = sandbox();
    let plan = sandbox.plan("name = \"x\"\n");
    let found = sandbox.pitcrew(&["plan", "check", &plan, "--json"]).expect(2).json();
    assert_eq!(found["valid"], false);
    assert_eq!(found["diagnostics"][0]["severity"], "error");
}

/// The graph as text, with every command verbatim.
#[test]
fn plan_show_lists_every_command() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    let shown = sandbox.pitcrew(&["plan", "show", &plan]).expect(0);
    for text in ["level 2", "after first", "| echo 1 > core/new.txt", "| grep -q 1 core/new.txt"] {
        assert!(shown.stdout.contains(text), "{text} in {shown}");
    }
    let spec = sandbox.pitcrew(&["plan", "show", &plan, "--json"]).expect(0).json();
    assert_eq!(spec["tasks"][1]["depends_on"][0], "first");
}

#[test]
fn missing_plan_file_is_reported() {
    let sandbox = sandbox();
    sandbox.pitcrew(&["run", "nowhere.toml", "--yes"]).expect(2).notes("nowhere.toml");
}

#[test]
fn invalid_script_is_refused_before_the_start() {
    let sandbox = sandbox();
    let plan = sandbox.plan(
        "name = \"x\"\n[[task]]\nid = \"slip\"\nregion = \"core\"\nscript = \"say hello\\nwriet a.txt\\n\"\n",
    );
    for command in [&["plan", "check", &plan][..], &["run", &plan, "--yes"]] {
        let refused = sandbox.pitcrew(command).expect(2);
        assert!(
            refused.stderr.contains("plan.toml: error: task `slip`: script line 2: "),
            "{refused}"
        );
    }
    let found = sandbox.pitcrew(&["plan", "check", &plan, "--json"]).expect(2).json();
    assert_eq!(found["valid"], false, "{found}");
    assert!(sandbox.orchestrator().is_none(), "no orchestrator was started");
}

#[test]
fn unknown_backend_is_refused_with_the_known_ones() {
    let sandbox = sandbox();
    let plan = sandbox
        .plan("name = \"x\"\n[[task]]\nid = \"slip\"\nprompt = \"Do it.\"\nagent = \"claud\"\n");
    let request = ["run", "--task", "Explain it", "--agent", "claud", "--yes"];
    for command in [&["plan", "check", &plan][..], &["run", &plan, "--yes"], &request] {
        let refused = sandbox
            .pitcrew(command)
            .expect(2)
            .notes("names `claud`, which is neither a backend nor an agent");
        assert!(refused.stderr.contains("did you mean `claude`?"), "{refused}");
    }
    assert!(sandbox.orchestrator().is_none(), "no orchestrator was started");
}

#[test]
fn unknown_base_is_refused_before_the_start() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    let refused = sandbox.pitcrew(&["run", &plan, "--yes", "--base", "nowhere"]).expect(2);
    assert!(refused.stderr.contains("`nowhere` is not a branch or commit"), "{refused}");
    assert!(refused.stderr.contains("help: "), "{refused}");
    assert!(sandbox.orchestrator().is_none(), "no orchestrator was started");
}
