//! Agents' queries about code outside their region: answered from the index, by the owner, or not
//! found.

use crate::support::*;
use pitcrew_testkit::{Sandbox, eventually};
use serde_json::Value;
use std::fs;

/// A repository with a long file of which an agent needs only four lines.
fn with_validator() -> Sandbox {
    let sandbox = sandbox();
    let filler = "// Other documentation that the agent does not need.\n".repeat(100);
    let text = format!(
        "/// Checks the tokens of sessions.\npub struct AuthValidator {{\n    pub key: String,\n}}\n{filler}"
    );
    sandbox.write("core/auth.rs", &text);
    sandbox.commit("a validator");
    sandbox
}

fn plan_of(sandbox: &Sandbox) -> Value {
    sandbox.pitcrew(&["status", "--all", "--json"]).expect(0).json()["plans"][0].clone()
}

/// S0-003, S0-031, S0-032, S0-033, S0-039, S0-048, S0-051, S0-110, S0-131: the index answers with
/// the signature, through the tool and the command, at no cost; an unknown symbol is reported as
/// not found.
#[test]
fn query_returns_a_foreign_signature() {
    let sandbox = with_validator();
    let plan = sandbox.plan(
        r#"
name = "ui"

[[task]]
id = "ui"
region = "ui"
script = """
tool a2a_query {"symbol": "AuthValidator", "context": "use core::auth::AuthValidator;"}
expect struct AuthValidator (core/auth.rs:2-4)
expect pub key: String
save ui/answer.txt
run pitcrew tool a2a_query --json '{"question": "what are the fields of `AuthValidator`?"}' > ui/shell.txt
tool a2a_query {"symbol": "AuthValidatr"}
expect Symbol 'AuthValidatr' not found in workspace symbol tree or active agents.
expect AuthValidator
complete asked
"""
checks = ["grep -q 'pub key: String' ui/answer.txt", "grep -q 'pub key: String' ui/shell.txt"]
"#,
    );
    let done = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    done.says("2 questions answered from the index, 1 not answered, about ").says("0 spent");
    let queries = &plan_of(&sandbox)["queries"];
    assert_eq!(queries["indexed_count"], 2, "{queries}");
    assert_eq!(queries["unanswered_count"], 1, "{queries}");
    assert_eq!(queries["tokens_spent"], 0, "{queries}");
    // Twice the file of 5 400 bytes, minus the answer.
    let saved = queries["tokens_saved"].as_u64().unwrap_or_default();
    assert!((2_000..2_800).contains(&saved), "{queries}");
    sandbox.pitcrew(&["status", "--all"]).expect(0).says("2 questions answered from the index");
    sandbox.pitcrew(&["audit"]).expect(0).says("query-1 answered from the index, about ");
    sandbox.pitcrew(&["logs", "task-1"]).expect(0).says("query-3 not found");
}

/// S4-077, S4-084: the permissions and the index answer what they can; other questions are in the
/// inbox.
#[test]
fn known_questions_are_answered_without_a_person() {
    let sandbox = with_validator();
    let plan = sandbox.plan(
        r#"
name = "ask"

[[task]]
id = "ui"
region = "ui"
script = """
ask What are the fields of `AuthValidator`?
when "pub key: String" write ui/index.txt <<END
answered
END
ask May I run `git push --force`?
when "force_push is denied by a rule that is built in" write ui/rules.txt <<END
answered
END
ask Where is `Nowhere` defined?
when "Nowhere at all." write ui/person.txt <<END
answered
END
complete asked
"""
checks = "cat ui/index.txt ui/rules.txt ui/person.txt"
"#,
    );
    let running = sandbox.start(&["run", &plan, "--yes"]);
    let request = await_request(&sandbox);
    assert_eq!(request["title"], "Where is `Nowhere` defined?");
    assert_eq!(request["id"], "request-1", "no person was asked before: {request}");
    sandbox.pitcrew(&["answer", "request-1", "Nowhere at all."]).expect(0);
    running.wait().expect(0);
}

/// Two tasks; the agent of the second one is waiting, and answers queries about `TokenStore`.
fn two(sandbox: &Sandbox, owner: &str) -> String {
    let gate = sandbox.root().join("gate");
    format!(
        r#"
name = "two"

[[task]]
id = "ui"
region = "ui"
script = """
run until [ -e '{gate}' ]; do sleep 0.02; done
tool a2a_query {{"symbol": "TokenStore", "context": "use core::tokens::TokenStore;"}}
expect pub struct TokenStore {{ path: PathBuf }}
expect worker-2
save ui/answer.txt
complete asked
"""
checks = "grep -q TokenStore ui/answer.txt"

[[task]]
id = "core"
region = "core"
script = """
write core/tokens.rs <<END
pub struct TokenStore {{
END
{owner}
when "I need the type signature and brief description of `TokenStore`. Context: use core::tokens::TokenStore;. Reply with ONLY the signature/definition, no explanation." tool a2a_notify_orchestrator {{"kind": "answer", "message": "pub struct TokenStore {{ path: PathBuf }}"}}
complete answered it
"""
"#,
        gate = gate.display(),
    )
}

/// With one slot in total, the asker lends its slot to the owner, which is waiting for something
/// else, and continues with the answer.
#[test]
fn asker_lends_its_only_slot_to_the_owner() {
    let sandbox = with_validator();
    let plan = sandbox.plan(
        r#"
name = "one"

[[task]]
id = "core"
region = "core"
script = """
ask May I go on?
when "brief description of `TokenStore`" tool a2a_notify_orchestrator {"kind": "answer", "message": "pub struct TokenStore"}
complete answered it
"""

[[task]]
id = "ui"
region = "ui"
script = """
tool a2a_query {"symbol": "TokenStore", "context": "use core::tokens::TokenStore;"}
expect pub struct TokenStore
complete asked
"""
"#,
    );
    let done = sandbox.pitcrew(&["run", &plan, "--yes", "--max-agents", "1"]).expect(0);
    done.says("2 of 2 completed").says("1 by their owners");
    let audit = sandbox.pitcrew(&["audit"]).expect(0);
    audit.says("query-1 answered by worker-1, about ");
}

/// S0-028, S0-035, S0-037, S0-049, S0-110: a symbol that exists only in the owner's checkout is
/// answered by the owner, which is waiting for something else.
#[test]
fn owner_answers_about_uncommitted_work() {
    let sandbox = with_validator();
    let plan = sandbox.plan(&two(&sandbox, "ask May I go on?"));
    let running = sandbox.start(&["run", &plan, "--yes"]);
    await_request(&sandbox);
    open_gate(&sandbox);
    let done = running.wait().expect(0).says("2 of 2 completed");
    done.says("0 questions answered from the index, 1 by their owners");
    let queries = &plan_of(&sandbox)["queries"];
    let spent = queries["tokens_spent"].as_u64().unwrap_or_default();
    assert!((40..200).contains(&spent), "{queries}");
    let audit = sandbox.pitcrew(&["audit"]).expect(0);
    audit.says("query-1 goes to worker-2").says("query-1 answered by worker-2, about ");
    let view = sandbox.pitcrew(&["messages", "--json"]).expect(0).json();
    let asked = view["messages"].as_array().expect("messages");
    let asked = asked.iter().find(|it| it["message"]["kind"] == "query").expect("a query");
    assert_eq!(asked["message"]["from"]["id"], "worker-1", "{view:#}");
    assert_eq!(asked["status"], "processed", "{view:#}");
}

/// S0-040: a query and the tool call that waits for it survive a kill -9 of the orchestrator. The
/// owner is in the middle of a turn and reads the query when that ends.
#[test]
fn query_survives_a_kill_and_waits_for_the_turn_end() {
    let mut sandbox = with_validator();
    sandbox.set("PITCREW_QUERY_DEADLINE", "9min");
    let busy = sandbox.root().join("busy");
    let owner = format!("run until [ -e '{}' ]; do sleep 0.02; done\nask And now?", busy.display());
    let plan = sandbox.plan(&two(&sandbox, &owner));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_task(&sandbox, "core", "running");
    open_gate(&sandbox);
    let waiting = || {
        let view = sandbox.pitcrew(&["messages", "--state", "queued", "--json"]).expect(0).json();
        (view["count"] == 1).then_some(())
    };
    eventually("the query waits for its owner", waiting);
    sandbox.kill_orchestrator();
    eventually("the query still waits", waiting);
    fs::write(&busy, "").expect("a file");
    await_task(&sandbox, "ui", "completed");
    await_task(&sandbox, "core", "completed");
    let audit = sandbox.pitcrew(&["audit", "--json"]).expect(0).json_lines();
    let ends = audit.iter().filter(|it| it.to_string().contains("query-1 answered by worker-2"));
    assert_eq!(ends.count(), 1, "{audit:#?}");
}
