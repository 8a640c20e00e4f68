//! Agents that run their commands in their own sandbox, inside our box.

use pitcrew_model::{TaskStatus, Tier};
use pitcrew_testkit::{PATIENCE, RealAgent, crew::Crew, skipped};
use std::{fs, path::Path};

/// Runs a task of this agent, which works and then tries something that only its own sandbox
/// refuses: it may write to its checkout, but not to the git configuration.
fn works_in_a_nested_sandbox(test: &str, agent: &str, prepare: impl FnOnce(&Crew)) {
    let found = match RealAgent::find(agent) {
        Ok(found) => found,
        Err(reason) => return skipped(test, &reason),
    };
    pitcrew_testkit::offline(test, || {
        // One of the agents does not work with a home in the system's folder for temporary files.
        // Created first, because it is needed until the orchestrator has stopped.
        let state = tempfile::tempdir_in("/var/tmp").expect("a folder");
        let mut crew = Crew::new(env!("CARGO_BIN_EXE_pitcrew"), &[found], PATIENCE);
        crew.sandbox.set("XDG_STATE_HOME", &state.path().display().to_string());
        prepare(&crew);
        let plan = crew.sandbox.plan(&format!(
            r#"
name = "nested"
max_attempts = 1

[[task]]
id = "task"
agent = "{agent}"
region = "core"
prompt = '''
@bash echo new > core/new.txt
@bash perl -e 'print open(my $file, ">>", ".git/config") ? "free" : "held"' > core/result.txt
@complete it works
'''
checks = ["grep -q new core/new.txt", "grep -q held core/result.txt"]
"#
        ));
        crew.sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("1 of 1 completed");
        assert_eq!(crew.task("task").status, TaskStatus::Completed);
        let confined = crew.board().workers[0].confined.clone().expect("it is confined");
        assert_eq!(confined.tier, Tier::T3);
    });
}

#[test]
fn codex_sandbox_works_inside_a_box() {
    let test = "nested::codex_sandbox_works_inside_a_box";
    works_in_a_nested_sandbox(test, "codex", |_| {});
}

/// In a box, even root cannot mount `/proc`; Claude has a setting for that.
#[test]
fn claude_sandbox_works_inside_a_box() {
    let test = "nested::claude_sandbox_works_inside_a_box";
    let tools = ["socat", "bwrap", "rg"].map(|it| Path::new("/usr/bin").join(it));
    if let Some(missing) = tools.iter().find(|it| !it.exists()) {
        return skipped(
            test,
            &format!("{} is missing, and its sandbox needs it", missing.display()),
        );
    }
    works_in_a_nested_sandbox(test, "claude", |crew| {
        let settings = r#"{"sandbox": {"enabled": true, "failIfUnavailable": true,
            "autoAllowBashIfSandboxed": true, "enableWeakerNestedSandbox": true}}"#;
        let folder = crew.sandbox.home().join(".claude");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("settings.json"), settings).expect("a file");
    });
}
