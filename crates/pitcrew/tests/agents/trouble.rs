//! Models that fail, and agents that are told to stop.

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

/// Some agents end their turn as if nothing had happened, others answer with an error. Neither is
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
fn a_model_error_behind_goose_is_not_success() {
    fails_with_its_model("trouble::a_model_error_behind_goose_is_not_success", "goose");
}

#[test]
fn a_model_error_behind_claude_is_not_success() {
    fails_with_its_model("trouble::a_model_error_behind_claude_is_not_success", "claude");
}

/// Another attempt would be refused as well: the person has to log in.
#[test]
fn a_key_that_is_not_taken_is_a_missing_login() {
    let test = "trouble::a_key_that_is_not_taken_is_a_missing_login";
    with_crew(test, &["goose"], |crew| {
        trouble(crew, "goose", Trouble::Auth).hold(Aspect::Auth);
    });
}

/// The task does not fail, and its worker keeps its session.
#[test]
fn a_quota_that_is_used_up_is_waited_for() {
    let test = "trouble::a_quota_that_is_used_up_is_waited_for";
    with_crew(test, &["claude"], |crew| {
        trouble(crew, "claude", Trouble::Quota).hold(Aspect::Quota);
    });
}

/// Whether the agent cares or not, its task is cancelled, and the sandbox proves that nothing of it is left.
fn is_cancelled(test: &str, agent: &str) {
    with_crew(test, &[agent], |crew| {
        let plan = crew.sandbox.plan(&plan(agent, "@hold forever\n@complete far too late"));
        let running = crew.sandbox.start(&["run", &plan, "--yes"]);
        eventually("the model is asked for what it never says", || {
            crew.model.has_held("forever").then_some(())
        });
        crew.sandbox.pitcrew(&["cancel", "task"]).expect(0);
        running.wait().expect(5);
        assert_eq!(crew.task("task").status, TaskStatus::Cancelled);
    });
}

/// S0-007
#[test]
fn goose_is_cancelled_while_its_model_thinks() {
    is_cancelled("trouble::goose_is_cancelled_while_its_model_thinks", "goose");
}

/// S0-007
#[test]
fn claude_is_cancelled_while_its_model_thinks() {
    is_cancelled("trouble::claude_is_cancelled_while_its_model_thinks", "claude");
}
