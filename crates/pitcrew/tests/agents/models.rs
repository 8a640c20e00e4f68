//! Which model a real agent works with, and what it may cost.

use crate::support::with_crew;
use pitcrew_model::TaskStatus;
use pitcrew_testkit::eventually;
use serde_json::Value;

const PLAN: &str = r#"
name = "models"
max_attempts = 1

[[task]]
id = "task"
agent = "AGENT"
MORE
region = "core"
prompt = '''
@write core/new.txt new
@complete wrote it
'''
"#;

fn plan(agent: &str, more: &str) -> String {
    PLAN.replace("AGENT", agent).replace("MORE", more)
}

/// The models that were asked for the task's words.
fn asked(calls: &[(String, Value)]) -> Vec<&str> {
    let of_task = |it: &&(String, Value)| it.1.to_string().contains("# Task task (");
    calls.iter().filter(of_task).filter_map(|it| it.1["model"].as_str()).collect()
}

/// The key `model` of a task is the model that is asked, and a name that the agent does not have is
/// refused with those that it has.
#[test]
fn a_task_names_the_model_of_claude() {
    with_crew("models::a_task_names_the_model_of_claude", &["claude"], |crew| {
        let chosen = crew.sandbox.plan(&plan("claude", "model = \"haiku\""));
        crew.sandbox.pitcrew(&["run", &chosen, "--yes"]).expect(0);
        let calls = crew.model.calls();
        let asked = asked(&calls);
        assert!(!asked.is_empty() && asked.iter().all(|it| it.contains("haiku")), "{asked:?}");
        let unknown = crew.sandbox.plan(&plan("claude", "model = \"no-such-model\""));
        let refused = crew.sandbox.pitcrew(&["run", &unknown, "--yes"]);
        assert_ne!(refused.code, Some(0), "{refused}");
        for words in ["no-such-model", "haiku"] {
            assert!(format!("{refused}").contains(words), "{words}: {refused}");
        }
    });
}

/// Claude says what it costs: at the cap the worker waits for a person with its work kept.
#[test]
fn a_plan_that_has_cost_what_it_may_waits_for_a_person() {
    let test = "models::a_plan_that_has_cost_what_it_may_waits_for_a_person";
    with_crew(test, &["claude"], |crew| {
        let words = "@write core/new.txt new\n@say that is all\n@when paused in the middle\n@complete wrote it";
        let plan = plan("claude", "").replace("@write core/new.txt new\n@complete wrote it", words);
        let plan = crew.sandbox.plan(&plan);
        let run = ["run", &plan, "--yes", "--detach", "--max-cost", "0.01"];
        crew.sandbox.pitcrew(&run).expect(0);
        let inbox = eventually("the plan has cost what it may", || {
            let inbox = crew.sandbox.pitcrew(&["inbox"]).expect(0);
            inbox.stdout.contains("plan-1 has cost $").then_some(inbox)
        });
        assert!(inbox.stdout.contains("request-1"), "{inbox}");
        crew.sandbox.pitcrew(&["approve", "request-1"]).expect(0);
        eventually("it goes on and ends", || {
            let ended = crew.task("task").status == TaskStatus::Completed;
            // Every turn costs more than the cap: a person grants each.
            if !ended {
                let requests = crew.sandbox.pitcrew(&["inbox", "--json"]).expect(0).json();
                let open = requests["open"].as_array().and_then(|it| it.first()).cloned();
                if let Some(id) = open.as_ref().and_then(|it| it["id"].as_str()) {
                    crew.sandbox.pitcrew(&["approve", id]);
                }
            }
            ended.then_some(())
        });
        assert!(crew.task("task").usage.cost_micros > 0);
    });
}
