//! `pitcrew audit` and `pitcrew export`.

use crate::support::*;
use pitcrew_testkit::Sandbox;
use serde_json::Value;

const SECRET: &str = "hunter2-hunter2";

/// A finished plan whose prompt contains a password.
fn ran() -> Sandbox {
    let mut sandbox = sandbox();
    sandbox.set("SHOP_API_KEY", SECRET);
    let plan = TWO_COMMANDS.replace("echo 1 >", &format!("echo {SECRET} > /dev/null; echo 1 >"));
    let plan = sandbox.plan(&plan);
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    sandbox
}

/// S4-131: every operation is listed with actor, kind, target and context.
#[test]
fn audit_lists_who_did_what() {
    let sandbox = ran();
    let audit = sandbox.pitcrew(&["audit"]).expect(0);
    for words in [
        "person       plan_created         plan-1 tidy up: created",
        "orchestrator attempt_opened       task-1 first: attempt 1 by worker-1",
        "worker-1     completion_claimed   task-1 first: says: done",
        "orchestrator work_collected       task-2 second: changed 1 file",
        "orchestrator integrated           task-2 second",
    ] {
        assert!(audit.stdout.contains(words), "{words}: {audit}");
    }
    assert!(!audit.stdout.contains(SECRET), "{audit}");
    let persons = sandbox.pitcrew(&["audit", "--actor", "person", "--plan", "tidy up"]).expect(0);
    assert!(persons.stdout.lines().count() > 0);
    assert!(persons.stdout.lines().all(|it| it.contains(" person ")), "{persons}");
    let claims = sandbox.pitcrew(&["audit", "--kind", "claimed", "--since", "1h", "--json"]);
    let claims: Vec<Value> = lines(&claims.expect(0).stdout);
    assert_eq!(claims.len(), 2, "{claims:?}");
    assert_eq!(claims[0]["event"]["type"], "completion_claimed");
    assert_eq!(
        (&claims[0]["task"], &claims[0]["plan"]),
        (&Value::from("task-1"), &Value::from("plan-1"))
    );
    let none = sandbox.pitcrew(&["audit", "--since", "2100-01-01"]).expect(0);
    assert_eq!(none.stdout, "");
    sandbox.pitcrew(&["audit", "--since", "soon"]).expect(2).notes("`soon` is not a time");
    sandbox.pitcrew(&["audit", "--actor", "me"]).expect(2).notes("worker-3");
}

/// S4-134: a plan can be exported for someone else to analyze.
#[test]
fn export_removes_secrets() {
    let sandbox = ran();
    let exported = sandbox.pitcrew(&["export", "plan-1", "--format", "json"]).expect(0);
    assert!(!exported.stdout.contains(SECRET) && exported.stdout.contains("[redacted]"));
    let exported = exported.json();
    assert_eq!(exported["plan"]["status"], "completed");
    assert_eq!(exported["tasks"].as_array().map(Vec::len), Some(2));
    assert_eq!(exported["tasks"][0]["attempts"][0]["outcome"], "success");
    assert!(exported["timeline"].as_array().is_some_and(|it| it.len() > 20), "{exported}");
    let text = sandbox.pitcrew(&["export", "tidy up"]).expect(0);
    assert!(!text.stdout.contains(SECRET), "{text}");
    for words in
        ["# plan-1 tidy up", "### task-2 second", "- attempt 1 by worker-1: success", "## Timeline"]
    {
        assert!(text.stdout.contains(words), "{words}: {text}");
    }
    sandbox.pitcrew(&["export", "plan-9"]).expect(2).notes("there is no plan-9");
}

/// An unknown id is an error; an id without entries is an empty result.
#[test]
fn filter_by_unknown_id_is_an_error() {
    let sandbox = ran();
    for (command, id) in [
        (&["messages", "--worker", "worker-999"][..], "worker-999"),
        (&["messages", "--worker", "worker-999", "--json"], "worker-999"),
        (&["messages", "--plan", "plan-77", "--metrics"], "plan-77"),
        (&["messages", "--plan", "unknown"], "plan `unknown`"),
        (&["audit", "--plan", "plan-77"], "plan-77"),
        (&["audit", "--plan", "plan-77", "--json"], "plan-77"),
        (&["audit", "--actor", "worker-999"], "worker-999"),
        (&["export", "plan-77"], "plan-77"),
        (&["logs", "plan-77"], "plan-77"),
        (&["logs", "task-77"], "task-77"),
        (&["logs", "task-77", "--json"], "task-77"),
    ] {
        let refused = sandbox.pitcrew(command).expect(2);
        assert_eq!(refused.stdout, "", "{refused}");
        refused.notes(&format!("there is no {id}")).notes("`pitcrew status --all");
    }
    sandbox.pitcrew(&["messages", "--worker", "worker-1"]).expect(0).says("no messages");
    sandbox.pitcrew(&["messages", "--plan", "plan-1"]).expect(0).says("no messages");
    sandbox
        .pitcrew(&["audit", "--actor", "worker-1", "--plan", "plan-1"])
        .expect(0)
        .says("claimed");
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|it| serde_json::from_str(it).expect("a value a line")).collect()
}
