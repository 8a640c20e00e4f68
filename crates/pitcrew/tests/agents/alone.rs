//! One agent, one task.

use crate::support::with_crew;
use pitcrew_model::TaskStatus;

/// Writes a file, edits another, and says that it is done through the tool that we give it.
fn edits_and_completes(test: &str, agent: &str, before_an_edit: &str) {
    with_crew(test, &[agent], |crew| {
        let plan = crew.sandbox.plan(&format!(
            r#"
name = "alone"
max_attempts = 1

[[task]]
id = "edits"
agent = "{agent}"
region = "core"
prompt = '''
@say I begin.
@write core/new.txt hello
{before_an_edit}
@edit core/one.txt one => two
@tool orchestrator_complete_task {{"summary": "wrote and edited"}}
@say That was all.
'''
checks = ["grep -q hello core/new.txt", "grep -q two core/one.txt"]
"#
        ));
        crew.sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("1 of 1 completed");
        let task = crew.task("edits");
        assert_eq!(task.status, TaskStatus::Completed);
        let attempt = task.newest_attempt().expect("an attempt");
        assert_eq!(attempt.summary.as_deref(), Some("wrote and edited"));
        assert_eq!(attempt.turns_count, 1, "no reminder was needed");
        assert!(attempt.usage.tokens_in > 0 && attempt.usage.tokens_out > 0, "{:?}", attempt.usage);
        let said = crew.conversation("edits");
        assert!(said.contains("I begin.") && said.contains("That was all."), "{said}");
        let inbox = crew.sandbox.pitcrew(&["inbox", "--all"]).expect(0).stdout;
        assert!(!inbox.contains("may it"), "a person was asked: {inbox}");
    });
}

#[test]
fn goose_edits_its_region_and_completes() {
    edits_and_completes("alone::goose_edits_its_region_and_completes", "goose", "");
}

#[test]
fn claude_edits_its_region_and_completes() {
    let test = "alone::claude_edits_its_region_and_completes";
    // It edits only what it has read.
    edits_and_completes(test, "claude", "@read core/one.txt");
}
