//! Turns and sessions that fail because of the login, a limit or the model.

use crate::stage::{END, LONG, Stage, failure};
use pitcrew_acp::{ErrorKind, ErrorRule, Profile};
use pitcrew_model::{EffectId, ErrorCause, Failure, StopReason};
use std::time::Duration;
use tokio::time::timeout;

fn profile() -> Profile {
    let rule = |says: &str, kind| ErrorRule { says: says.into(), kind };
    let errors = vec![
        rule("Ran into this error: Rate limit", ErrorKind::Quota),
        rule("Ran into this error:", ErrorKind::Model),
        rule("systemError", ErrorKind::Model),
    ];
    Profile { errors, ..Profile::default() }
}

async fn stop_of(turn: &str) -> StopReason {
    let stage = Stage::of(turn, profile()).await;
    let end = timeout(LONG, stage.session.prompt(EffectId(2), "go")).await.expect("in time");
    stage.session.stop(Duration::from_millis(100)).await;
    end.expect("a turn").stop
}

#[tokio::test]
async fn a_turn_with_an_error_text_at_its_end_failed() {
    let said = |text: &str| format!("say '{text}'{END}");
    assert_eq!(
        stop_of(&said("Ran into this error: Bad request (400)")).await,
        StopReason::Error {
            cause: ErrorCause::Model,
            message: "Ran into this error: Bad request (400)".into()
        }
    );
    let StopReason::Error { cause: ErrorCause::Quota { until: Some(until) }, .. } =
        stop_of(&said("Ran into this error: Rate limit, retry after 1200s")).await
    else {
        panic!("another end");
    };
    let now = std::time::UNIX_EPOCH.elapsed().expect("after it").as_millis();
    let left = u128::from(until.0).saturating_sub(now);
    assert!((1_000_000..=1_200_000).contains(&left), "{left} ms are left");
    assert_eq!(stop_of(&said("It said: Ran into this error: x")).await, StopReason::EndTurn);
}

#[tokio::test]
async fn a_session_marker_reveals_a_failed_turn() {
    let marked = |state: &str| {
        format!(
            r#"update '{{"sessionUpdate":"session_info_update","_meta":{{"codex":{{"threadStatus":{{"type":"{state}"}}}}}}}}'
say 'high demand'{END}"#
        )
    };
    let failed = StopReason::Error { cause: ErrorCause::Model, message: "high demand".into() };
    assert_eq!(stop_of(&marked("systemError")).await, failed);
    assert_eq!(stop_of(&marked("idle")).await, StopReason::EndTurn);
}

#[tokio::test]
async fn text_before_a_tool_call_is_not_the_end() {
    let call = r#"say 'Ran into this error: no such file'
update '{"sessionUpdate":"tool_call","toolCallId":"t1","title":"look"}'"#;
    assert_eq!(stop_of(&format!("{call}\nsay 'all is well'{END}")).await, StopReason::EndTurn);
    assert_eq!(stop_of(&format!("{call}{END}")).await, StopReason::EndTurn);
}

#[tokio::test]
async fn classifies_error_answers() {
    let answered = |error: &str| format!("echo '{{\"id\":16,\"error\":{error}}}'\nread forever");
    for (error, wanted) in [
        (r#"{"code":-32000,"message":"Authentication required"}"#, ErrorCause::Auth),
        (
            r#"{"code":-32603,"message":"no","data":{"errorKind":"rate_limit"}}"#,
            ErrorCause::Quota { until: None },
        ),
        (r#"{"code":400,"message":"no"}"#, ErrorCause::Model),
        (r#"{"code":-32603,"message":"no"}"#, ErrorCause::Other),
    ] {
        let StopReason::Error { cause, .. } = stop_of(&answered(error)).await else {
            panic!("no error: {error}");
        };
        assert_eq!(cause, wanted, "{error}");
    }
}

#[tokio::test]
async fn an_error_after_a_logout_is_a_login_error() {
    let status = |kind: &str| {
        format!(
            r#"echo '{{"method":"_auth/status_update","params":{{"authStatus":{{"kind":"{kind}"}}}}}}'
"#
        )
    };
    let error = "echo '{\"id\":16,\"error\":{\"code\":-32603,\"message\":\"no\"}}'\nread forever";
    let cause_of = async |script: String| {
        let stop = stop_of(&script).await;
        let StopReason::Error { cause, .. } = stop else { panic!("{stop:?}") };
        cause
    };
    assert_eq!(cause_of(format!("{}{error}", status("none"))).await, ErrorCause::Auth);
    let back = format!("{}{}{error}", status("none"), status("api_key"));
    assert_eq!(cause_of(back).await, ErrorCause::Other, "there is a login again");
}

#[tokio::test]
async fn opening_a_session_fails_for_the_same_reasons() {
    let opening = |error: &str| {
        format!(
            r#"read line; echo '{{"id":8,"result":{{"protocolVersion":1}}}}'; read line; echo '{{"id":9,"error":{error}}}'; read line"#
        )
    };
    let auth = opening(r#"{"code":-32000,"message":"Authentication required"}"#);
    let message = "`session/new` failed: Authentication required (code -32000)".into();
    assert_eq!(failure(&["sh", "-c", &auth], LONG).await, Failure::Auth { message });
    let quota = opening(r#"{"code":429,"message":"used up, retry after 60s"}"#);
    let Failure::Quota { until: Some(_), message } = failure(&["sh", "-c", &quota], LONG).await
    else {
        panic!("another failure");
    };
    assert_eq!(message, "`session/new` failed: used up, retry after 60s (code 429)");
}

/// What an agent reports after a cancel is not an error of its model.
#[tokio::test]
async fn a_cancelled_turn_ends_without_an_error() {
    let late = "say begun; read cancel\n";
    for (answer, wanted) in [
        (r#""error":{"code":-32603,"message":"aborted"}"#, StopReason::Cancelled),
        (r#""result":{"stopReason":"end_turn"}"#, StopReason::EndTurn),
        (r#""result":{"stopReason":"cancelled"}"#, StopReason::Cancelled),
    ] {
        let script = format!(
            "{late}say 'Ran into this error: aborted'\necho '{{\"id\":16,{answer}}}'\nread forever"
        );
        let stage = Stage::of(&script, profile()).await;
        let turn = stage.session.prompt(EffectId(2), "go");
        let cancel = async {
            // The turn may be registered before the prompt is sent.
            tokio::task::yield_now().await;
            stage.session.cancel().await;
        };
        let (end, ()) = timeout(LONG, async { tokio::join!(turn, cancel) }).await.expect("in time");
        assert_eq!(end.expect("a turn").stop, wanted, "{answer}");
        stage.session.stop(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn requests_beyond_our_capabilities_are_rejected_with_a_reason() {
    let script = r#"
echo '{"jsonrpc":"2.0","id":7,"method":"fs/write_text_file","params":{"path":"/x","content":"y"}}'
read answer
say "$(printf %s "$answer" | tr -d '"')"
"#;
    let stage = Stage::new(&format!("{script}{END}")).await;
    let end = stage.session.prompt(EffectId(2), "go").await.expect("a turn");
    assert!(end.last_words.contains("code:-32601"), "{}", end.last_words);
    assert!(end.last_words.contains("did not offer this capability"), "{}", end.last_words);
    stage.session.stop(Duration::from_millis(100)).await;
}
