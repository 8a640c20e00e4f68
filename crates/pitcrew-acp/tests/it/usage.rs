//! The usage of a turn: reported during it, at its end, and after a reattach; never twice.

use crate::stage::{LONG, Stage};
use pitcrew_acp::{Event, Profile, UsageScope, attach};
use pitcrew_model::{EffectId, Usage};
use std::time::Duration;
use tokio::time::timeout;

fn tokens(tokens_in: u64, tokens_out: u64) -> Usage {
    Usage { tokens_in, tokens_out, ..Usage::default() }
}

async fn next_usage(stage: &mut Stage) -> Usage {
    loop {
        let event = timeout(LONG, stage.events.next()).await.expect("in time").expect("an event");
        if let Event::Usage(usage) = event {
            return usage;
        }
    }
}

const CALL: &str = r#"
call() { update "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"\"},\"_meta\":{\"usage\":{\"inputTokens\":$1,\"outputTokens\":$2}}}"; }
"#;

#[tokio::test]
async fn usage_reports_are_rate_limited_and_the_newest_is_kept() {
    let script = format!(
        r#"{CALL}
call 100 20
until [ -e go ]; do sleep 0.01; done
i=0; while [ $i -lt 50 ]; do i=$((i + 1)); call 1 1; done
read cancel
echo '{{"id":16,"result":{{"stopReason":"cancelled"}}}}'
read forever
"#
    );
    let mut stage = Stage::new(&script).await;
    let session = stage.session.clone();
    let turn = tokio::spawn(async move { session.prompt(EffectId(2), "go").await });
    assert_eq!(next_usage(&mut stage).await, tokens(100, 20));
    std::fs::write(stage.home.path().join("checkout/go"), "").expect("a file");
    assert_eq!(next_usage(&mut stage).await, tokens(150, 70), "one report has everything");
    stage.session.cancel().await;
    let end = timeout(LONG, turn).await.expect("in time").expect("no panic").expect("a turn");
    assert_eq!(end.usage, tokens(150, 70));
    stage.session.stop(Duration::from_millis(100)).await;
    while let Some(event) = stage.events.next().await {
        assert!(!matches!(event, Event::Usage(_)), "the end of the turn reported it");
    }
}

/// The first turn ended while a client was attached, the second while none was.
#[tokio::test]
async fn a_reattach_counts_nothing_twice() {
    let script = r#"
total() { printf '{"id":%s,"result":{"stopReason":"end_turn","usage":{"inputTokens":%s,"outputTokens":%s}}}\n' "$1" "$2" "$3"; }
cost() { update "{\"sessionUpdate\":\"usage_update\",\"used\":$1,\"size\":9000,\"cost\":{\"amount\":$2,\"currency\":\"USD\"}}"; }
cost 10 0.5; total 16 100 10
read prompt; cost 20 0.75
until [ -e go ]; do sleep 0.01; done
total 24 130 14
read forever
"#;
    let profile = Profile { usage: UsageScope::Session, ..Profile::default() };
    let mut stage = Stage::of(script, profile.clone()).await;
    let first = stage.session.prompt(EffectId(2), "go").await.expect("a turn").usage;
    assert_eq!(first, Usage { cost_micros: 500_000, ..tokens(100, 10) });
    let session = stage.session.clone();
    let turn = tokio::spawn(async move { session.prompt(EffectId(3), "go").await });
    assert_eq!(next_usage(&mut stage).await, Usage { cost_micros: 250_000, ..tokens(0, 0) });
    turn.abort();
    turn.await.expect_err("it was given up");
    let Stage { session, events, home } = stage;
    drop((session, events));
    std::fs::write(home.path().join("checkout/go"), "").expect("a file");
    let (dir, cwd) = (home.path().join("attempt"), home.path().join("checkout"));
    let back = attach(&dir, &cwd, profile, None, LONG).await.expect("a session");
    let end = timeout(LONG, back.session.prompt(EffectId(3), "go")).await.expect("in time");
    let second = end.expect("a turn").usage;
    assert_eq!(second, Usage { cost_micros: 250_000, ..tokens(30, 4) });
    back.session.stop(Duration::from_millis(100)).await;
}

const TOTALS: &str = r#"
total() { printf '{"id":%s,"result":{"stopReason":"end_turn","usage":{"inputTokens":50,"outputTokens":7}}}\n' "$1"; }
asked() { read -r ask; case "$ask" in *'"_totals"'*'"sessionId":"s1"'* | *'"sessionId":"s1"'*'"_totals"'*) ;; *) exit 9 ;; esac; }
sums() { printf '{"id":%s,"result":{"data":"{\\"accumulated_input_tokens\\":%s,\\"accumulated_output_tokens\\":%s,\\"accumulated_cost\\":null}"}}\n' "$1" "$2" "$3"; }
"#;

fn asked_for_totals() -> Profile {
    let usage_method = Some("_totals".to_owned());
    Profile { usage: UsageScope::Call, usage_method, ..Profile::default() }
}

/// The third turn ended and the totals were queried while no client was attached.
#[tokio::test]
async fn queried_totals_survive_a_reattach() {
    let script = format!(
        r#"{TOTALS}
total 16; asked; sums 21 150 27
read prompt; total 24; asked; echo '{{"id":29,"error":{{"code":-32601,"message":"not now"}}}}'
read prompt; until [ -e go ]; do sleep 0.01; done
total 32; asked; sums 37 300 50
read forever
"#
    );
    let stage = Stage::of(&script, asked_for_totals()).await;
    let first = stage.session.prompt(EffectId(2), "go").await.expect("a turn").usage;
    assert_eq!(first, tokens(150, 27));
    let second = stage.session.prompt(EffectId(3), "go").await.expect("a turn").usage;
    assert_eq!(second, tokens(50, 7), "its own report counts");
    let session = stage.session.clone();
    let turn = tokio::spawn(async move { session.prompt(EffectId(4), "go").await });
    std::fs::write(stage.home.path().join("checkout/go"), "").expect("a file");
    let spool = stage.home.path().join("attempt/spool.ndjson");
    crate::stage::until(|| std::fs::read_to_string(&spool).is_ok_and(|it| it.contains("300")))
        .await;
    turn.abort();
    let Stage { session, events, home } = stage;
    drop((session, events));
    let (dir, cwd) = (home.path().join("attempt"), home.path().join("checkout"));
    let back = attach(&dir, &cwd, asked_for_totals(), None, LONG).await.expect("a session");
    let end = timeout(LONG, back.session.prompt(EffectId(4), "go")).await.expect("in time");
    assert_eq!(end.expect("a turn").usage, tokens(100, 16), "including what was missing before");
    back.session.stop(Duration::from_millis(100)).await;
}

/// A report that came too soon after the previous one is not lost.
#[tokio::test]
async fn the_last_usage_is_reported_before_the_exit() {
    let script = r#"
cost() { update "{\"sessionUpdate\":\"usage_update\",\"used\":1,\"size\":9000,\"cost\":{\"amount\":$1,\"currency\":\"USD\"}}"; }
cost 0.5
until [ -e go ]; do sleep 0.01; done
cost 0.75
"#;
    let mut stage = Stage::of(script, Profile::default()).await;
    let session = stage.session.clone();
    let turn = tokio::spawn(async move { session.prompt(EffectId(2), "go").await });
    assert_eq!(next_usage(&mut stage).await.cost_micros, 500_000);
    std::fs::write(stage.home.path().join("checkout/go"), "").expect("a file");
    assert_eq!(next_usage(&mut stage).await.cost_micros, 750_000);
    turn.await.expect("a task").expect_err("the agent has exited");
}

/// Uses virtual time; nothing else here waits for it.
#[tokio::test]
async fn a_long_silence_is_reported() {
    let mut stage = Stage::new("say begun; read forever").await;
    let session = stage.session.clone();
    let turn = tokio::spawn(async move { session.prompt(EffectId(2), "go").await });
    let spool = stage.home.path().join("attempt/spool.ndjson");
    crate::stage::until(|| std::fs::read_to_string(&spool).is_ok_and(|it| it.contains("begun")))
        .await;
    tokio::time::pause();
    let mut notes = Vec::new();
    for _ in 0..2 {
        notes.push(stage.events.next().await);
    }
    tokio::time::resume();
    let note = |note: &str| Some(Event::Activity { note: note.into() });
    assert_eq!(notes, [note("no output for 60 s"), note("no output for 6 min")]);
    turn.abort();
    stage.session.stop(Duration::from_millis(100)).await;
}
