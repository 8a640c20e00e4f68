//! Failing models, and cancelled agents.

use crate::support::with_crew;
use pitcrew_model::{Failure, TaskStatus};
use pitcrew_testkit::{
    crew::{Aspect, Trouble, trouble},
    eventually,
};

fn plan(agent: &str, steps: &str) -> String {
    format!(
        r#"
name = "trouble"
max_attempts = 1

[[task]]
id = "task"
agent = "{agent}"
region = "core"
prompt = '''
@write core/half.txt half
{steps}
'''
"#
    )
}

/// Some agents end their turn normally when their model fails, others return an error. Neither is
/// success, and both are the same failure.
fn fails_with_its_model(test: &str, agent: &str) {
    with_crew(test, &[agent], |crew| {
        let plan = crew.sandbox.plan(&plan(agent, "@fail 400 the model is out of order"));
        crew.sandbox.pitcrew(&["run", &plan, "--yes"]).expect(5).says("0 of 1 completed");
        let task = crew.task("task");
        assert_eq!(task.status, TaskStatus::Failed);
        let attempt = task.newest_attempt().expect("an attempt");
        let Some(Failure::Model { message }) = &attempt.failure else {
            panic!("{:?}", attempt.failure)
        };
        assert!(message.contains("the model is out of order"), "{message}");
        assert_eq!(attempt.turns_count, 1, "a model that fails is not reminded");
    });
}

#[test]
fn goose_model_error_is_a_failure() {
    fails_with_its_model("trouble::goose_model_error_is_a_failure", "goose");
}

#[test]
fn claude_model_error_is_a_failure() {
    fails_with_its_model("trouble::claude_model_error_is_a_failure", "claude");
}

/// Another attempt would fail as well: the person has to log in.
#[test]
fn rejected_key_is_a_missing_login() {
    let test = "trouble::rejected_key_is_a_missing_login";
    with_crew(test, &["goose"], |crew| {
        trouble(crew, "goose", Trouble::Auth).hold(Aspect::Auth);
    });
}

/// The task does not fail, and its worker keeps its session.
#[test]
fn exhausted_quota_is_waited_for() {
    let test = "trouble::exhausted_quota_is_waited_for";
    with_crew(test, &["claude"], |crew| {
        trouble(crew, "claude", Trouble::Quota).hold(Aspect::Quota);
    });
}

/// Asserts that the task is cancelled, even if the agent ignores it, and that nothing of the agent
/// is left.
fn is_cancelled(test: &str, agent: &str) {
    with_crew(test, &[agent], |crew| {
        let plan = crew.sandbox.plan(&plan(agent, "@hold forever\n@complete far too late"));
        let running = crew.sandbox.start(&["run", &plan, "--yes"]);
        eventually("the model gets a request without an answer", || {
            crew.model.has_held("forever").then_some(())
        });
        crew.sandbox.pitcrew(&["cancel", "task"]).expect(0);
        running.wait().expect(5);
        assert_eq!(crew.task("task").status, TaskStatus::Cancelled);
    });
}

/// S0-007
#[test]
fn goose_is_cancelled_during_a_model_call() {
    is_cancelled("trouble::goose_is_cancelled_during_a_model_call", "goose");
}

/// S0-007
#[test]
fn claude_is_cancelled_during_a_model_call() {
    is_cancelled("trouble::claude_is_cancelled_during_a_model_call", "claude");
}
