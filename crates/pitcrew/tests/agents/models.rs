//! The model of a real agent, and its cost.

use crate::support::with_crew;
use pitcrew_model::TaskStatus;
use pitcrew_testkit::eventually;
use serde_json::Value;
use std::fs;

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

/// The models that were called for the task's prompt.
fn asked(calls: &[(String, Value)]) -> Vec<&str> {
    let of_task = |it: &&(String, Value)| it.1.to_string().contains("# Task task (");
    calls.iter().filter(of_task).filter_map(|it| it.1["model"].as_str()).collect()
}

/// The task's `model` is the one that is called; an unknown name is refused with the available
/// ones.
#[test]
fn task_chooses_the_model_of_claude() {
    with_crew("models::task_chooses_the_model_of_claude", &["claude"], |crew| {
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

/// Claude reports its cost: at the cap the worker waits for a person, with its work saved.
#[test]
fn plan_at_its_cost_cap_waits_for_a_person() {
    let test = "models::plan_at_its_cost_cap_waits_for_a_person";
    with_crew(test, &["claude"], |crew| {
        let words = "@write core/new.txt new\n@say that is all\n@when paused in the middle\n@complete wrote it";
        let plan = plan("claude", "").replace("@write core/new.txt new\n@complete wrote it", words);
        let plan = crew.sandbox.plan(&plan);
        let run = ["run", &plan, "--yes", "--detach", "--max-cost", "0.01"];
        crew.sandbox.pitcrew(&run).expect(0);
        let inbox = eventually("the plan has reached its cost cap", || {
            let inbox = crew.sandbox.pitcrew(&["inbox"]).expect(0);
            inbox.stdout.contains("plan-1 has cost $").then_some(inbox)
        });
        assert!(inbox.stdout.contains("request-1"), "{inbox}");
        crew.sandbox.pitcrew(&["approve", "request-1"]).expect(0);
        eventually("it goes on and ends", || {
            let ended = crew.task("task").status == TaskStatus::Completed;
            // Every turn costs more than the cap, so a person approves each one.
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

/// At the end of a turn goose reports the tokens of a single model call; the cap counts all calls.
#[test]
fn goose_token_cap_counts_all_model_calls() {
    let test = "models::goose_token_cap_counts_all_model_calls";
    with_crew(test, &["goose"], |crew| {
        let words = "@usage 60000 10\n@write core/new.txt new\n@usage 60000 10\n@say that is all";
        let plan = plan("goose", "").replace("@write core/new.txt new\n@complete wrote it", words);
        let plan = crew.sandbox.plan(&plan);
        let run = ["run", &plan, "--yes", "--detach", "--max-tokens", "100000"];
        crew.sandbox.pitcrew(&run).expect(0);
        eventually("the plan has reached its token cap", || {
            let inbox = crew.sandbox.pitcrew(&["inbox"]).expect(0);
            inbox.stdout.contains("plan-1 has used 1").then_some(())
        });
        let used = crew.task("task").usage;
        assert!((120_000..130_000).contains(&used.tokens_in), "{used:?}");
        assert!((20..100).contains(&used.tokens_out), "{used:?}");
        assert_eq!(crew.task("task").attempts[0].turns_count, 1, "it was not reminded");
        crew.sandbox.pitcrew(&["cancel", "plan-1"]).expect(0);
    });
}

/// Codex reports its tokens and its model; the user sets the prices.
#[test]
fn codex_cost_uses_the_configured_prices() {
    with_crew("models::codex_cost_uses_the_configured_prices", &["codex"], |crew| {
        let settings = crew.sandbox.home().join(".config/pitcrew");
        fs::create_dir_all(&settings).expect("a folder");
        let prices = "[prices.\"gpt-5\"]\nprice_in = 1\nprice_out = 10\nprice_cached = 0\n";
        fs::write(settings.join("config.toml"), prices).expect("the settings");
        let plan = crew.sandbox.plan(&plan("codex", ""));
        let run = crew.sandbox.pitcrew(&["run", &plan, "--yes", "--max-cost", "50"]).expect(0);
        run.notes("the cost cap may not apply to codex");
        let used = crew.task("task").usage;
        assert!(used.tokens_in > 0 && used.tokens_out > 0, "{used:?}");
        assert_eq!(used.cost_micros, used.tokens_in + 10 * used.tokens_out, "{used:?}");
    });
}
