//! Turns that end well, fail, or never end.

use crate::stage::{END, LONG, Stage, until};
use pitcrew_acp::{Event, TurnEnd, TurnError};
use pitcrew_model::{EffectId, ErrorCause, Failure, StopReason, Usage};
use std::time::Duration;
use tokio::time::timeout;

async fn turn(script: &str) -> (Stage, Result<TurnEnd, TurnError>) {
    let stage = Stage::new(script).await;
    let end = timeout(LONG, stage.session.prompt(EffectId(2), "go")).await.expect("an end");
    (stage, end)
}

async fn stop(stage: &Stage) {
    stage.session.stop(Duration::from_millis(100)).await;
}

#[tokio::test]
async fn noise_and_unknown_frames_do_not_end_a_turn() {
    let noise = r#"
for i in 1 2 3 4 5 6 7 8 9; do echo "log line $i"; done
printf '\377\376\n'
head -c 200000 /dev/zero | tr '\0' '['; echo
update '{"sessionUpdate":"levitation","height":3}'
echo '{"jsonrpc":"2.0","method":"_vendor/thing"}'
echo '{"jsonrpc":"2.0","id":99,"result":{}}'
echo '{"jsonrpc":"2.0","id":"q","method":"craft/drain","params":{}}'
read refusal
case "$refusal" in *'"code":-32601'*) say refused;; esac
"#;
    let (stage, end) = turn(&format!("{noise}{END}")).await;
    let end = end.expect("a turn");
    assert_eq!((end.stop, end.last_words.as_str()), (StopReason::EndTurn, "refused"));
    stop(&stage).await;
}

#[tokio::test]
async fn too_much_noise_ends_the_agent() {
    let (mut stage, end) = turn("while :; do echo rubbish; done").await;
    let error = end.expect_err("no end");
    assert!(matches!(error.failure(), Failure::Protocol { .. }), "{error}");
    let exited = timeout(LONG, async {
        loop {
            if let Event::Exited(exit) = stage.events.next().await.expect("an event") {
                return exit;
            }
        }
    });
    exited.await.expect("it is stopped");
    assert!(stage.events.next().await.is_none(), "nothing comes after the end");
}

#[tokio::test]
async fn an_exit_in_a_turn_is_reported_with_the_last_output() {
    let (stage, end) = turn("say 'I begin'; echo 'out of memory' >&2; exit 9").await;
    let error = end.expect_err("no end");
    let Failure::AgentExited { exit, output } = error.failure() else { panic!("{error}") };
    assert_eq!((exit.as_str(), output.trim_end()), ("exit code 9", "out of memory"));
    let again = stage.session.prompt(EffectId(3), "go").await.expect_err("it is gone");
    assert!(matches!(again, TurnError::Exited(_)), "{again}");
    assert_eq!(stage.session.stop(Duration::from_millis(100)).await.code, Some(9));
}

#[tokio::test]
async fn an_invalid_end_of_a_turn_does_not_end_the_session() {
    for (answer, message) in [
        (r#""result":{"stopReason":"enlightenment"}"#, "unknown stop reason `enlightenment`"),
        (r#""result":{}"#, "the turn ended without a stop reason"),
        (
            r#""error":{"code":-32603,"message":"no credit","data":"top up"}"#,
            "no credit: top up (code -32603)",
        ),
    ] {
        let script = format!(
            "echo '{{\"jsonrpc\":\"2.0\",\"id\":16,{answer}}}'; read prompt; echo '{{\"id\":24,\"result\":{{\"stopReason\":\"refusal\"}}}}'; read line"
        );
        let (stage, end) = turn(&script).await;
        assert_eq!(
            end.expect("a turn").stop,
            StopReason::Error { cause: ErrorCause::Other, message: message.into() }
        );
        let next = stage.session.prompt(EffectId(3), "go").await.expect("another turn");
        assert_eq!(next.stop, StopReason::Refusal);
        stop(&stage).await;
    }
}

#[tokio::test]
async fn collects_tokens_and_cost_from_all_reports() {
    let script = r#"
update '{"sessionUpdate":"usage_update","used":120,"size":1000,"cost":{"amount":0.0125,"currency":"USD"}}'
echo '{"jsonrpc":"2.0","id":16,"result":{"stopReason":"max_tokens","usage":{"totalTokens":30,"inputTokens":20,"outputTokens":10}}}'
read line
"#;
    let (stage, end) = turn(script).await;
    let end = end.expect("a turn");
    assert_eq!(end.stop, StopReason::MaxTokens);
    assert_eq!(
        end.usage,
        Usage { tokens_in: 20, tokens_out: 10, tokens_cached: 0, cost_micros: 12_500 }
    );
    stop(&stage).await;
}

#[tokio::test]
async fn one_turn_at_a_time() {
    let stage = Stage::new(
        "read cancel; echo '{\"id\":16,\"result\":{\"stopReason\":\"cancelled\"}}'; read line",
    )
    .await;
    let first = stage.session.prompt(EffectId(2), "go");
    let second = async {
        let busy = stage.session.prompt(EffectId(3), "go too").await;
        assert_eq!(busy, Err(TurnError::Busy));
        stage.session.cancel().await;
        stage.session.cancel().await;
    };
    let (end, ()) = tokio::join!(first, second);
    assert_eq!(end.expect("a turn").stop, StopReason::Cancelled);
    stop(&stage).await;
}

/// S0-007, S0-115: one agent is spawned, prompted and killed.
#[tokio::test]
async fn an_agent_that_ignores_everything_is_killed() {
    let script = "trap '' TERM INT; touch deaf; while :; do read line || sleep 1; done";
    let mut stage = Stage::new(script).await;
    let deaf = stage.home.path().join("checkout/deaf");
    let session = stage.session.clone();
    let turn = session.prompt(EffectId(2), "go");
    let kill = async {
        until(|| deaf.exists()).await;
        session.cancel().await;
        session.stop(Duration::from_millis(200)).await
    };
    let (end, exit) = timeout(LONG, async { tokio::join!(turn, kill) }).await.expect("an end");
    assert_eq!(exit.signal, Some(9));
    assert_eq!(end, Err(TurnError::Exited(exit.clone())));
    assert_eq!(stage.events.next().await, Some(Event::Exited(exit)));
}
