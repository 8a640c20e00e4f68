//! Turns with a model, through the interface of every provider.

use crate::stage::{Stage, assert_ended, until};
use pitcrew_model::{EffectId, PermissionOptionKind, StopReason, Usage};
use pitcrew_testkit::model::ModelServer;
use serde_json::{Value, json};

pub const PROVIDERS: [&str; 4] = ["anthropic", "openai", "gemini", "ollama"];

/// The server has its own runtime, which cannot start within ours.
pub fn server() -> ModelServer {
    std::thread::spawn(ModelServer::start).join().expect("a server")
}

pub fn setup(server: &ModelServer, provider: &str) -> Value {
    let path = match provider {
        "anthropic" | "openai" => "/v1",
        "gemini" => "/v1beta/",
        _ => "",
    };
    let endpoint = format!("{}{path}", server.url());
    json!({ "provider": provider, "endpoint": endpoint, "key": "the-secret-key" })
}

pub async fn stage(setup: &Value) -> Stage {
    let stage = Stage::with_args(&["agent", "--model", &setup.to_string()]).await;
    stage.expect("a session")
}

/// S3-004: the same kind of session, with a loop of many model calls, for every provider.
#[tokio::test]
async fn a_model_reads_edits_runs_and_completes() {
    for provider in PROVIDERS {
        let server = server();
        let mut stage = stage(&setup(&server, provider)).await;
        std::fs::create_dir(stage.cwd.join(".git")).expect("a folder");
        std::fs::write(stage.cwd.join("a.txt"), "one\ntwo\n").expect("a file");
        let prompt = "Fix the numbers.\n\
            @think let me see\n@say I begin\n@usage 100 10 40\n@read a.txt\n\
            @usage 200 20\n@edit a.txt two => 2\n\
            @usage 300 30\n@write deep/er/new.txt here\n\
            @usage 400 40\n@bash cat a.txt && printf \"[$GIVEN]\" > given.txt\n\
            @usage 500 50\n@tool search {\"pattern\": \"^[0-9]$\"}\n\
            @usage 600 60\n@complete fixed the numbers\n";
        let (end, asked) = stage.prompt_with(prompt, PermissionOptionKind::AllowOnce).await;
        assert_ended(&end);
        assert_eq!(stage.file("a.txt").as_deref(), Some("one\n2\n"), "{provider}");
        assert_eq!(stage.file("deep/er/new.txt").as_deref(), Some("here\n"));
        assert_eq!(asked, ["cat a.txt && printf \"[$GIVEN]\" > given.txt"]);
        assert_eq!(stage.file("given.txt").as_deref(), Some("[]"), "the key is not passed on");
        assert_eq!(
            stage.calls(),
            [r#"orchestrator_complete_task {"summary":"fixed the numbers"}"#]
        );
        assert_eq!(server.calls_count(), 6, "no call follows the report");
        let transcript = stage.transcript();
        for line in ["Thought: let me see", "Said: I begin", "ToolDone: edit a.txt", "Output: one"]
        {
            assert!(transcript.contains(line), "{provider}: {line}\n{transcript}");
        }
        assert_eq!(stage.updates("agent_message_chunk").len(), 2, "{provider}: streamed");
        // The last one does not report its cached tokens.
        let tokens_cached = if provider == "ollama" { 0 } else { 40 };
        let tokens_in = 2_100 - tokens_cached;
        let usage = Usage { tokens_in, tokens_out: 210, tokens_cached, cost_micros: 0 };
        assert_eq!(end.usage, usage, "{provider}");
        stage.stop().await;
    }
}

/// S3-005: each session has its own conversation, tools and usage.
#[tokio::test]
async fn sessions_have_separate_conversations() {
    let server = server();
    let mut priced = setup(&server, "anthropic");
    priced["priced"] = json!(true);
    let (first, second) = (stage(&priced).await, stage(&priced).await);
    let end = first.prompt("@usage 1000 100\n@tool a2a_notify_orchestrator {\"kind\": \"question\", \"message\": \"which port?\"}\n@when 8080\n@usage 2000 200\n@complete it is 8080").await;
    assert_ended(&end);
    assert_eq!(server.calls_count(), 1, "the question ends the turn");
    assert_eq!(end.usage.cost_micros, 4_500);
    let end = second.prompt("@say hello").await;
    assert_ended(&end);
    assert_eq!(end.last_words, "hello");
    let end = first.prompt("The answer: 8080").await;
    assert_ended(&end);
    assert_eq!(end.usage.cost_micros, 9_000, "each turn reports its own cost");
    let updates = first.updates("usage_update");
    assert_eq!(updates.last().expect("an update")["cost"]["amount"], json!(0.0135));
    let bodies: Vec<String> = server.calls().into_iter().map(|it| it.1.to_string()).collect();
    assert!(bodies[2].contains("which port?") && bodies[2].contains("The answer: 8080"));
    assert!(!bodies[1].contains("which port?") && !bodies[2].contains("hello"));
    assert!(second.calls().is_empty() && first.calls().len() == 2);
    first.stop().await;
    second.stop().await;
}

#[tokio::test]
async fn without_prices_no_cost_is_reported() {
    let server = server();
    let stage = stage(&setup(&server, "openai")).await;
    assert_ended(&stage.prompt("@usage 10 5\n@say hello").await);
    let updates = stage.updates("usage_update");
    assert_eq!(updates.len(), 1);
    assert_eq!((&updates[0]["used"], &updates[0]["size"]), (&json!(15), &json!(100_000)));
    assert!(updates[0]["cost"].is_null(), "{}", updates[0]);
    stage.stop().await;
}

#[tokio::test]
async fn calls_are_reported_with_kind_location_and_diff() {
    let server = server();
    let stage = stage(&setup(&server, "anthropic")).await;
    std::fs::write(stage.cwd.join("a.txt"), "one\n").expect("a file");
    assert_ended(&stage.prompt("@read a.txt\n@edit a.txt one => two\n@say ready").await);
    let begun = stage.updates("tool_call");
    let kinds: Vec<&Value> = begun.iter().map(|it| &it["kind"]).collect();
    assert_eq!(kinds, ["read", "edit"]);
    let path = json!(stage.cwd.join("a.txt"));
    assert!(begun.iter().all(|it| it["locations"][0]["path"] == path), "{begun:?}");
    let ended = stage.updates("tool_call_update");
    let diff = &ended.last().expect("an end")["content"][0];
    assert_eq!(
        (&diff["type"], &diff["oldText"], &diff["newText"]),
        (&json!("diff"), &json!("one\n"), &json!("two\n"))
    );
    stage.stop().await;
}

#[tokio::test]
async fn a_denied_command_is_not_run_and_the_model_continues() {
    let server = server();
    let mut stage = stage(&setup(&server, "openai")).await;
    let prompt = "@bash touch made\n@complete did without";
    let (end, asked) = stage.prompt_with(prompt, PermissionOptionKind::RejectOnce).await;
    assert_ended(&end);
    assert_eq!(asked, ["touch made"]);
    assert_eq!(stage.file("made"), None);
    assert_eq!(stage.calls(), [r#"orchestrator_complete_task {"summary":"did without"}"#]);
    let heard = server.calls()[1].1.to_string();
    assert!(heard.contains("permission was denied"), "{heard}");
    stage.stop().await;
}

/// With a model a prompt is plain text: an order in it could be quoted from others.
#[tokio::test]
async fn quoted_orders_in_a_prompt_are_never_run() {
    let server = server();
    let stage = stage(&setup(&server, "anthropic")).await;
    let prompt = "The check said:\n```sh\ntouch made\n```\n@say I see";
    let end = stage.prompt(prompt).await;
    assert_ended(&end);
    assert_eq!((stage.file("made"), end.last_words.as_str()), (None, "I see"));
    stage.stop().await;
}

#[tokio::test]
async fn a_conversation_continues_after_a_cancelled_command() {
    let server = server();
    let mut stage = stage(&setup(&server, "anthropic")).await;
    let session = stage.session.clone();
    let turn = session.prompt(EffectId(2), "@bash touch begun; sleep 600\n@complete went on");
    let mut turn = std::pin::pin!(turn);
    let end = loop {
        tokio::select! {
            end = &mut turn => break end.expect("a turn"),
            event = stage.events.next() => {
                let Some(pitcrew_acp::Event::Permission { call, options, .. }) = event else { continue };
                session.answer_permission(&call, Some(&options[0].id)).await;
                let begun = stage.cwd.join("begun");
                until(|| begun.exists()).await;
                session.cancel().await;
            }
        }
    };
    assert_eq!(end.stop, StopReason::Cancelled);
    assert!(stage.calls().is_empty());
    let turn = session.prompt(EffectId(3), "go on").await.expect("a turn");
    assert_ended(&turn);
    assert_eq!(stage.calls(), [r#"orchestrator_complete_task {"summary":"went on"}"#]);
    stage.stop().await;
}
