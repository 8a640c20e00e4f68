//! Turns in which the model gives no answer.

use crate::{
    model::{PROVIDERS, server, setup, stage},
    stage::{Stage, assert_ended, until},
};
use pitcrew_model::{EffectId, ErrorCause, StopReason};
use pitcrew_testkit::model::ModelServer;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// The data of the error that ended the newest turn.
fn error(stage: &Stage) -> Value {
    let frames = stage.frames();
    frames.into_iter().rev().find(|it| !it["error"].is_null()).expect("an error")["error"].clone()
}

/// The error of a turn, and its classification by the client.
async fn refused(server: &ModelServer, provider: &str, prompt: &str) -> (Value, ErrorCause) {
    let stage = stage(&setup(server, provider)).await;
    let end = stage.prompt(prompt).await;
    let StopReason::Error { cause, .. } = end.stop else { panic!("{provider}: {end:?}") };
    let error = error(&stage);
    stage.stop().await;
    (error, cause)
}

#[tokio::test]
async fn a_wrong_key_is_reported_and_not_retried() {
    for provider in PROVIDERS {
        for status in [401, 403] {
            let server = server();
            let prompt = format!("@fail {status} the-secret-key is wrong\n@complete x");
            let (error, cause) = refused(&server, provider, &prompt).await;
            assert_eq!(cause, ErrorCause::Auth, "{provider}");
            assert_eq!(error["data"], json!({ "errorKind": "auth" }), "{provider}");
            let message = error["message"].as_str().expect("a message");
            assert!(message.contains(&format!("answered {status}: [key] is wrong")), "{message}");
            assert_eq!(server.calls_count(), 1);
        }
    }
}

#[tokio::test]
async fn a_missing_key_is_reported_before_any_request() {
    let server = server();
    let mut setup = setup(&server, "anthropic");
    setup["key"] = Value::Null;
    let stage = stage(&setup).await;
    let end = stage.prompt("@say hello").await;
    assert!(matches!(end.stop, StopReason::Error { .. }), "{end:?}");
    let error = error(&stage);
    assert_eq!(error["data"]["errorKind"], "auth");
    assert!(error["message"].as_str().is_some_and(|it| it.starts_with("KEY is not set")));
    assert_eq!(server.calls_count(), 0);
    stage.stop().await;
}

#[tokio::test]
async fn a_rejected_request_is_not_retried() {
    for provider in PROVIDERS {
        let server = server();
        let (error, cause) = refused(&server, provider, "@fail 404\n@complete x").await;
        assert_eq!(cause, ErrorCause::Model, "{provider}");
        assert_eq!(error["data"], json!({ "errorKind": "model" }), "{provider}");
        assert_eq!(server.calls_count(), 1);
    }
}

#[tokio::test]
async fn a_failing_service_is_retried_and_reported() {
    for (provider, status) in PROVIDERS.into_iter().zip([529, 500, 503, 502]) {
        let server = server();
        let stage = stage(&setup(&server, provider)).await;
        let end = stage.prompt(&format!("@fail {status} once\n@complete in the end")).await;
        assert_ended(&end);
        assert_eq!(stage.calls(), [r#"orchestrator_complete_task {"summary":"in the end"}"#]);
        assert_eq!(server.calls_count(), 2);
        let transcript = stage.transcript();
        let thought = format!("Thought: the model service answered {status}");
        assert!(
            transcript.contains(&thought) && transcript.contains("(try 2 of 3)"),
            "{transcript}"
        );
        stage.stop().await;
    }
}

#[tokio::test]
async fn a_permanently_failing_service_is_tried_three_times() {
    let server = server();
    let (error, _) = refused(&server, "openai", "@fail 503\n@complete x").await;
    assert_eq!(error["data"], json!({ "errorKind": "model" }));
    assert_eq!(server.calls_count(), 3);
    drop(server);
}

#[tokio::test]
async fn an_unreachable_service_is_reported() {
    let server = server();
    let mut setup = setup(&server, "openai");
    drop(server);
    setup["key"] = json!("k");
    let stage = stage(&setup).await;
    let end = stage.prompt("@say hello").await;
    assert!(matches!(end.stop, StopReason::Error { .. }), "{end:?}");
    let error = error(&stage);
    assert_eq!(error["data"], json!({ "errorKind": "unreachable" }));
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("cannot reach 127.0.0.1"), "{message}");
    stage.stop().await;
}

#[tokio::test]
async fn a_short_quota_wait_is_waited_for() {
    for provider in PROVIDERS {
        let server = server();
        let stage = stage(&setup(&server, provider)).await;
        assert_ended(&stage.prompt("@fail 429 once reset=1s\n@complete in the end").await);
        assert_eq!(stage.calls().len(), 1, "{provider}");
        assert_eq!(server.calls_count(), 2);
        assert!(stage.transcript().contains("answered 429"), "{}", stage.transcript());
        stage.stop().await;
    }
}

#[tokio::test]
async fn a_long_quota_wait_ends_the_turn_with_the_reset_time() {
    let now_ms = || SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_millis();
    for provider in ["anthropic", "openai", "gemini"] {
        let server = server();
        let before = now_ms();
        let prompt = "@fail 429 reset=3600s\n@complete x";
        let (error, cause) = refused(&server, provider, prompt).await;
        assert!(matches!(cause, ErrorCause::Quota { until: Some(_) }), "{provider}: {cause:?}");
        assert_eq!(error["data"]["errorKind"], "quota", "{provider}");
        let reset_at = u128::from(error["data"]["resetAt"].as_u64().expect("a time"));
        // One provider reports whole seconds only.
        assert!(reset_at + 2_000 >= before + 3_600_000, "{provider}: {reset_at}");
        assert!(reset_at <= now_ms() + 3_600_000, "{provider}: {reset_at}");
        assert_eq!(server.calls_count(), 1);
    }
}

#[tokio::test]
async fn a_cancel_ends_a_hanging_call_at_once() {
    for provider in PROVIDERS {
        let server = server();
        let stage = stage(&setup(&server, provider)).await;
        let session = stage.session.clone();
        let turn = session.prompt(EffectId(2), "@sleep 10m\n@complete x");
        let cancel = async {
            until(|| server.calls_count() == 1).await;
            session.cancel().await;
        };
        let (end, ()) = tokio::join!(turn, cancel);
        assert_eq!(end.expect("a turn").stop, StopReason::Cancelled, "{provider}");
        let end = session.prompt(EffectId(3), "@say still here").await.expect("a turn");
        assert_ended(&end);
        assert_eq!(end.last_words, "still here", "{provider}");
        stage.stop().await;
    }
}

#[tokio::test]
async fn an_oversized_conversation_ends_with_a_fix() {
    let server = server();
    let mut setup = setup(&server, "anthropic");
    setup["context_tokens"] = json!(5_000);
    let stage = stage(&setup).await;
    let end = stage.prompt("@usage 4900 200\n@tool search {\"pattern\": \"x\"}\n@complete x").await;
    assert!(matches!(end.stop, StopReason::Error { .. }), "{end:?}");
    let error = error(&stage);
    assert_eq!(error["data"], json!({ "errorKind": "model" }));
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("context_tokens") && message.contains("5000"), "{message}");
    assert_eq!(server.calls_count(), 1);
    let end = stage.prompt(&"word ".repeat(10_000)).await;
    assert!(matches!(end.stop, StopReason::Error { .. }), "it does not get shorter: {end:?}");
    assert_eq!(server.calls_count(), 1);
    stage.stop().await;
}
