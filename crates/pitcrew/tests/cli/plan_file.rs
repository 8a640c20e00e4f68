//! `pitcrew plan check` and `pitcrew plan show`.

use crate::support::{TWO_COMMANDS, sandbox};

#[test]
fn a_bad_plan_is_refused_with_its_place() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&TWO_COMMANDS.replace("[\"first\"]", "[\"frist\"]"));
    for command in [&["plan", "check", &plan][..], &["run", &plan, "--yes"]] {
        let refused = sandbox.pitcrew(command).expect(2);
        assert!(refused.stderr.contains("plan.toml:14:"), "{refused}");
        assert!(refused.stderr.contains('^'), "{refused}");
        assert!(refused.stderr.contains("did you mean `first`?"), "{refused}");
        assert!(refused.stdout.is_empty(), "{refused}");
    }
    assert!(sandbox.orchestrator().is_none(), "nothing was started for it");
}

#[test]
fn what_is_wrong_is_told_to_programs_too() {
    let sandbox = sandbox();
    let plan = sandbox.plan("name = \"x\"\n");
    let found = sandbox.pitcrew(&["plan", "check", &plan, "--json"]).expect(2).json();
    assert_eq!(found["valid"], false);
    assert_eq!(found["diagnostics"][0]["severity"], "error");
}

/// The graph as text, with every command verbatim.
#[test]
fn a_plan_is_shown_with_everything_that_it_executes() {
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
fn a_file_that_is_not_there_is_named() {
    let sandbox = sandbox();
    sandbox.pitcrew(&["run", "nowhere.toml", "--yes"]).expect(2).notes("nowhere.toml");
}

#[test]
fn a_script_that_cannot_be_run_is_refused_before_anything_runs() {
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
    assert!(sandbox.orchestrator().is_none(), "nothing was started for it");
}

#[test]
fn a_backend_that_does_not_exist_is_refused_with_those_that_do() {
    let sandbox = sandbox();
    let plan = sandbox
        .plan("name = \"x\"\n[[task]]\nid = \"slip\"\nprompt = \"Do it.\"\nagent = \"claud\"\n");
    let request = ["run", "--task", "Explain it", "--agent", "claud", "--yes"];
    for command in [&["plan", "check", &plan][..], &["run", &plan, "--yes"], &request] {
        let refused = sandbox.pitcrew(command).expect(2).notes("there is no backend `claud`");
        assert!(refused.stderr.contains("did you mean `claude`?"), "{refused}");
    }
    assert!(sandbox.orchestrator().is_none(), "nothing was started for it");
}

#[test]
fn a_base_that_does_not_exist_is_refused_before_anything_runs() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    let refused = sandbox.pitcrew(&["run", &plan, "--yes", "--base", "nowhere"]).expect(2);
    assert!(refused.stderr.contains("`nowhere` is no branch or commit"), "{refused}");
    assert!(refused.stderr.contains("help: "), "{refused}");
    assert!(sandbox.orchestrator().is_none(), "nothing was started for it");
}
