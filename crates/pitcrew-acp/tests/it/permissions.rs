//! Permission requests: described, answered, cancelled.

use crate::stage::{END, LONG, Stage};
use pitcrew_acp::Event;
use pitcrew_model::{EffectId, PermissionOption, PermissionOptionKind, StopReason};
use std::time::Duration;
use tokio::time::timeout;

const ASK: &str = r#"
update '{"sessionUpdate":"tool_call","toolCallId":"t1","title":"Remove it","kind":"execute","rawInput":{"command":"rm -r build","cwd":"/etc"}}'
echo '{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t1"},"options":[{"optionId":"ok","name":"Yes","kind":"allow_once"},{"optionId":"x","name":"?","kind":"allow_forever"},{"optionId":"no","name":"No","kind":"reject_once"}]}}'
read answer
[ -n "$cancelling" ] && read answer
say "$(printf %s "$answer" | tr -d '"')"
"#;

async fn asked(stage: &mut Stage) -> (String, Vec<PermissionOption>) {
    loop {
        let event = timeout(LONG, stage.events.next()).await.expect("in time").expect("an event");
        let Event::Permission { call, tool, options } = event else { continue };
        assert_eq!((tool.title.as_str(), tool.kind.as_str()), ("Remove it", "execute"));
        assert_eq!(tool.command.as_deref(), Some("rm -r build"));
        assert_eq!((tool.paths.len(), tool.outside), (0, vec!["/etc".to_owned()]));
        return (call, options);
    }
}

/// S0-098: a request is answered with its method's result, and a permission with the protocol's own
/// outcome.
#[tokio::test]
async fn a_choice_reaches_the_agent_once() {
    let mut stage = Stage::new(&format!("{ASK}{END}")).await;
    let session = stage.session.clone();
    let turn = session.prompt(EffectId(2), "go");
    let decide = async {
        let (call, options) = asked(&mut stage).await;
        let kinds: Vec<PermissionOptionKind> = options.iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [PermissionOptionKind::AllowOnce, PermissionOptionKind::RejectOnce]);
        session.answer_permission(&call, Some(&options[1].id)).await;
        session.answer_permission(&call, Some(&options[0].id)).await;
        session.answer_permission("ask-of-nobody", None).await;
    };
    let (end, ()) = tokio::join!(turn, decide);
    let words = end.expect("a turn").last_words;
    assert!(words.contains("outcome:selected") && words.contains("optionId:no"), "{words}");
    stage.session.stop(Duration::from_millis(100)).await;
}

#[tokio::test]
async fn a_cancel_withdraws_every_request() {
    let mut stage = Stage::new(&format!("cancelling=1{ASK}{END}")).await;
    let session = stage.session.clone();
    let turn = session.prompt(EffectId(2), "go");
    let cancel = async {
        asked(&mut stage).await;
        session.cancel().await;
    };
    let (end, ()) = tokio::join!(turn, cancel);
    let end = end.expect("a turn");
    assert_eq!(end.stop, StopReason::EndTurn, "the agent chooses the stop reason");
    assert!(end.last_words.contains("outcome:cancelled"), "{}", end.last_words);
    stage.session.stop(Duration::from_millis(100)).await;
}

#[tokio::test]
async fn a_request_without_a_tool_call_is_rejected() {
    let ask = r#"
echo '{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{}}'
read answer
say "$(printf %s "$answer" | tr -d '"')"
"#;
    let stage = Stage::new(&format!("{ask}{END}")).await;
    let end = stage.session.prompt(EffectId(2), "go").await.expect("a turn");
    assert!(end.last_words.contains("code:-32602"), "{}", end.last_words);
    stage.session.stop(Duration::from_millis(100)).await;
}

#[tokio::test]
async fn the_number_of_options_and_their_ids_are_limited() {
    let ask = r#"
options=$(printf '{"optionId":"%0257d","name":"?","kind":"allow_once"}' 0)
i=0; while [ $i -lt 40 ]; do
  i=$((i + 1)); options="$options,{\"optionId\":\"o$i\",\"name\":\"?\",\"kind\":\"allow_once\"}"
done
printf '{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t1"},"options":[%s]}}\n' "$options"
read answer
"#;
    let mut stage = Stage::new(&format!("{ask}{END}")).await;
    let session = stage.session.clone();
    let turn = session.prompt(EffectId(2), "go");
    let decide = async {
        let event = timeout(LONG, stage.events.next()).await.expect("in time").expect("an event");
        let Event::Permission { call, options, .. } = event else { panic!("{event:?}") };
        let ids: Vec<&str> = options.iter().map(|it| it.id.as_str()).collect();
        assert_eq!((ids.len(), ids[0], ids[15]), (16, "o1", "o16"));
        session.answer_permission(&call, None).await;
    };
    let (end, ()) = tokio::join!(turn, decide);
    end.expect("a turn");
    stage.session.stop(Duration::from_millis(100)).await;
}

#[tokio::test]
async fn parameters_that_are_not_an_object_are_harmless() {
    let ask = r#"
echo '{"jsonrpc":"2.0","method":"session/update","params":[1]}'
echo '{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":"now"}'
read answer
say "$(printf %s "$answer" | tr -d '"')"
"#;
    let stage = Stage::new(&format!("{ask}{END}")).await;
    let turn = stage.session.prompt(EffectId(2), "go");
    let end = timeout(LONG, turn).await.expect("in time").expect("a turn");
    assert!(end.last_words.contains("code:-32602"), "{}", end.last_words);
    stage.session.stop(Duration::from_millis(100)).await;
}
