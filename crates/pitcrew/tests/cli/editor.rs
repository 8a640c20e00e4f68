//! `pitcrew agent` driven by an editor: no plan, no orchestrator, only ACP over pipes.

use crate::support::*;
use pitcrew_testkit::{Editor, Sandbox, eventually, model::ModelServer};
use serde_json::{Value, json};

/// Opens a session in the repository and returns its id.
fn open(editor: &mut Editor, sandbox: &Sandbox) -> String {
    let hello = json!({
        "protocolVersion": 1,
        "clientCapabilities": { "fs": { "readTextFile": false, "writeTextFile": false } },
        "clientInfo": { "name": "an editor", "version": "1" },
    });
    let met = editor.call("initialize", &hello).expect("an introduction");
    assert_eq!(met["protocolVersion"], 1, "{met}");
    assert_eq!(met["agentInfo"]["name"], "pitcrew-agent", "{met}");
    let place = json!({ "cwd": sandbox.repo(), "mcpServers": [] });
    let opened = editor.call("session/new", &place).expect("a session");
    text(&opened["sessionId"])
}

fn prompt(session: &str, words: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": words }] })
}

/// The editor's answer to a permission request.
fn decision(option: &Value) -> Value {
    json!({ "outcome": { "outcome": "selected", "optionId": option["optionId"] } })
}

/// The agent reads, edits, asks before it runs a command, reports its activity and usage, and
/// remembers the conversation.
#[test]
fn editor_decides_what_the_agent_runs() {
    let server = ModelServer::start();
    let sandbox = with_model(&server);
    let mut editor = sandbox.in_editor(&["agent"]);
    let session = open(&mut editor, &sandbox);
    let words = "Fix the number.\n@say I look first\n@usage 100 10\n@read core/one.txt\n\
        @usage 200 20\n@edit core/one.txt one => 1\n@usage 300 30\n@bash cp core/one.txt core/copy.txt\n\
        @usage 400 40\n@bash rm -r core\n@usage 500 50\n@say fixed";
    let turn = editor.ask("session/prompt", &prompt(&session, words));
    for (command, kind) in
        [("cp core/one.txt core/copy.txt", "allow_once"), ("rm -r core", "reject_once")]
    {
        let asked = editor.await_request("session/request_permission");
        assert_eq!(asked["params"]["sessionId"], session.as_str(), "{asked}");
        assert!(asked["params"]["toolCall"]["title"].to_string().contains(command), "{asked}");
        let options = asked["params"]["options"].as_array().expect("options");
        let option = options.iter().find(|it| it["kind"] == kind).expect("it is offered");
        editor.answer(&asked, &decision(option));
    }
    let ended = editor.await_answer(turn).expect("an end");
    assert_eq!(ended["stopReason"], "end_turn", "{ended}");
    assert_eq!(
        (&ended["usage"]["inputTokens"], &ended["usage"]["outputTokens"]),
        (&json!(1_500), &json!(150))
    );
    assert_eq!(
        (sandbox.read("core/one.txt"), sandbox.read("core/copy.txt")),
        ("1\n".into(), "1\n".into())
    );
    let said: String = editor
        .updates("agent_message_chunk")
        .iter()
        .map(|it| text(&it["content"]["text"]))
        .collect();
    assert!(said.contains("I look first") && said.ends_with("fixed"), "{said}");
    let begun: Vec<String> =
        editor.updates("tool_call").iter().map(|it| text(&it["kind"])).collect();
    assert_eq!(begun, ["read", "edit", "execute", "execute"]);
    assert!(!editor.updates("usage_update").is_empty());

    let turn = editor.call("session/prompt", &prompt(&session, "@say and again"));
    assert_eq!(turn.expect("an end")["stopReason"], "end_turn");
    let calls = server.calls();
    assert!(calls.last().expect("a call").1.to_string().contains("I look first"), "it remembers");
    assert_eq!(editor.close(), Some(0));
    assert!(sandbox.orchestrator().is_none(), "no orchestrator was needed");
}

/// A cancelled turn ends as cancelled in any situation, and the session continues.
#[test]
fn editor_cancels_a_turn_in_the_model_and_in_a_command() {
    let server = ModelServer::start();
    let sandbox = with_model(&server);
    let mut editor = sandbox.in_editor(&["agent"]);
    let session = open(&mut editor, &sandbox);
    let name = json!({ "sessionId": session });

    let turn = editor.ask("session/prompt", &prompt(&session, "@hold forever\n@say never"));
    eventually("the model is called", || server.has_held("forever").then_some(()));
    editor.tell("session/cancel", &name);
    assert_eq!(editor.await_answer(turn).expect("an end")["stopReason"], "cancelled");

    let begun = sandbox.root().join("begun");
    let words = format!("@bash touch {}; sleep 600\n@say never", begun.display());
    let turn = editor.ask("session/prompt", &prompt(&session, &words));
    let asked = editor.await_request("session/request_permission");
    editor.answer(&asked, &decision(&asked["params"]["options"][0]));
    eventually("the command runs", || begun.exists().then_some(()));
    editor.tell("session/cancel", &name);
    assert_eq!(editor.await_answer(turn).expect("an end")["stopReason"], "cancelled");

    let turn = editor.ask("session/prompt", &prompt(&session, "@bash touch never\n@say never"));
    let asked = editor.await_request("session/request_permission");
    editor.tell("session/cancel", &name);
    editor.answer(&asked, &json!({ "outcome": { "outcome": "cancelled" } }));
    assert_eq!(editor.await_answer(turn).expect("an end")["stopReason"], "cancelled");
    assert!(!sandbox.repo().join("never").exists());

    let turn = editor.call("session/prompt", &prompt(&session, "@say here again"));
    assert_eq!(turn.expect("an end")["stopReason"], "end_turn");
    assert_eq!(editor.close(), Some(0));
}

/// Errors of the editor and of the model are answered with a message; the agent keeps running.
#[test]
fn editor_gets_a_message_for_each_error() {
    let server = ModelServer::start();
    let sandbox = with_model(&server);
    let mut editor = sandbox.in_editor(&["agent"]);
    let session = open(&mut editor, &sandbox);
    let nowhere = json!({ "cwd": sandbox.root().join("nowhere"), "mcpServers": [] });
    let refused = editor.call("session/new", &nowhere).expect_err("no such folder");
    assert!(refused["message"].to_string().contains("does not exist"), "{refused}");
    let refused = editor.call("session/prompt", &prompt("session-9", "hello"));
    let refused = refused.expect_err("no such session");
    assert!(refused["message"].to_string().contains("session/new"), "{refused}");
    let refused = editor.call("session/no_such_thing", &json!({})).expect_err("no such method");
    assert_eq!(refused["code"], -32_601, "{refused}");

    let failed = editor.call("session/prompt", &prompt(&session, "@fail 401 invalid api key"));
    let failed = failed.expect_err("no key");
    assert_eq!((&failed["code"], &failed["data"]["errorKind"]), (&json!(-32_000), &json!("auth")));
    assert!(!failed.to_string().contains("the-secret-key"), "{failed}");
    let turn = editor.call("session/prompt", &prompt(&session, "@say still here"));
    assert_eq!(turn.expect("an end")["stopReason"], "end_turn");
    assert_eq!(editor.close(), Some(0));
}

/// Without a model, the error says how to set one.
#[test]
fn without_a_model_the_error_says_how_to_set_one() {
    let sandbox = sandbox();
    let mut editor = sandbox.in_editor(&["agent"]);
    let session = open(&mut editor, &sandbox);
    let ended = editor.call("session/prompt", &prompt(&session, "Add a parser."));
    assert_eq!(ended.expect("an end")["stopReason"], "end_turn");
    let said: String = editor
        .updates("agent_message_chunk")
        .iter()
        .map(|it| text(&it["content"]["text"]))
        .collect();
    assert!(said.contains("PITCREW_MODEL=provider/name"), "{said}");
    assert_eq!(editor.close(), Some(0));
}
