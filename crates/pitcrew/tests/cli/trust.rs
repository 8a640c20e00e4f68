//! Agent definitions that come with the repository.

use crate::support::sandbox;

const FILE: &str = ".github/agents/painter.agent.md";
const PAINTER: &str =
    "---\ndescription: Paints.\nbackend: command\ntools: [read]\n---\nYou paint sheds.\n";
const PLAN: &str = "name = \"p\"\n[[task]]\nid = \"a\"\nprompt = \"paint\"\nagent = \"@painter\"\n";

/// A definition of the repository counts only after the person has seen and trusted it.
#[test]
fn agents_of_a_repository_need_trust() {
    let sandbox = sandbox();
    sandbox.write(FILE, PAINTER);
    let plan = sandbox.plan(PLAN);
    let refused = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(11);
    let refused = refused.notes("`.github/agents/painter.agent.md` of the repository defines");
    refused.notes("pitcrew trust");
    assert!(sandbox.orchestrator().is_none(), "no orchestrator was started");

    let shown = sandbox.pitcrew(&["trust"]).expect(11).says("agent `painter`");
    assert!(shown.stdout.contains("tools        read"), "{shown}");
    assert!(shown.stdout.contains("| You paint sheds."), "the whole role is shown: {shown}");
    let listed = sandbox.pitcrew(&["trust", "--json"]).expect(11).json();
    assert_eq!(listed["untrusted"][0]["path"], FILE, "{listed}");
    sandbox.pitcrew(&["trust", "--yes"]).expect(0);
    sandbox.pitcrew(&["trust"]).expect(0).says("is trusted");

    // The agent is known now, and `command` cannot work from a prompt.
    let refused = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(2);
    refused.notes("runs on `command`, but has no command");
    sandbox.write(FILE, &PAINTER.replace("sheds", "houses"));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(11);
    let refused = sandbox.pitcrew(&["run", &plan, "--yes", "--trust"]).expect(2);
    refused.notes("trusted .github/agents/painter.agent.md");
}

/// A misspelled key is an error with a suggestion, in files of other programs too.
#[test]
fn broken_definitions_are_reported_with_their_line() {
    let sandbox = sandbox();
    sandbox.write(".github/agents/a.md", "---\ndescription: x\nstrenghts: [y]\n---\n");
    let found = sandbox.pitcrew(&["trust"]).expect(0);
    let found = found.notes(".github/agents/a.md:3:1: error: `strenghts` is not a key");
    found.notes("did you mean `strengths`?");
}
