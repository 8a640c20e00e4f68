//! Activity notes: rate limited, and the newest is never lost.

use crate::stage::{LONG, Stage};
use pitcrew_acp::Event;
use pitcrew_model::{EffectId, limits};
use std::time::Duration;
use tokio::time::{Instant, timeout};

#[tokio::test]
async fn notes_are_rate_limited_and_the_newest_is_kept() {
    let flood = r#"
i=0; while [ $i -lt 2000 ]; do
  i=$((i + 1)); update "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"t$i\",\"title\":\"step $i\"}"
done
update '{"sessionUpdate":"tool_call_update","toolCallId":"t2000","status":"failed"}'
echo '{"jsonrpc":"2.0","id":16,"result":{"stopReason":"end_turn"}}'
exit 0
"#;
    let mut stage = Stage::new(flood).await;
    stage.session.prompt(EffectId(2), "go").await.expect("a turn");
    let mut notes = Vec::new();
    let mut exited = false;
    while let Some(event) = timeout(LONG, stage.events.next()).await.expect("in time") {
        match event {
            Event::Activity { note } => notes.push(note),
            Event::Exited(_) => exited = true,
            Event::Permission { .. } | Event::Usage(_) | Event::Blocked { .. } => {
                panic!("{event:?}")
            }
        }
    }
    assert!(exited);
    assert_eq!(notes.last().map(String::as_str), Some("failed: step 2000"));
    assert!(notes.len() < 100, "{} notes", notes.len());
}

#[tokio::test]
async fn two_notes_keep_the_minimum_distance() {
    let slowly = r#"
note() { update "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"$1\",\"title\":\"$1\"}"; }
note one; read line; note two; read line
"#;
    let mut stage = Stage::new(slowly).await;
    let session = stage.session.clone();
    let since = Instant::now();
    let turn = tokio::spawn(async move { session.prompt(EffectId(2), "go").await });
    let first = timeout(LONG, stage.events.next()).await.expect("in time");
    assert_eq!(first, Some(Event::Activity { note: "one".into() }));
    stage.session.cancel().await;
    let second = timeout(LONG, stage.events.next()).await.expect("in time");
    assert_eq!(second, Some(Event::Activity { note: "two".into() }));
    let apart = Duration::from_millis(limits::ACTIVITY_MS_MIN);
    assert!(since.elapsed() >= apart, "{:?}", since.elapsed());
    stage.session.stop(Duration::from_millis(100)).await;
    turn.await.expect("no panic").expect_err("it was stopped");
}
