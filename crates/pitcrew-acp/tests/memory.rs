//! Measures the orchestrator's memory while agents send the worst frames. The only test of its
//! program, because it measures the whole process.

#[path = "it/stage.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod stage;

use pitcrew_acp::{Event, transcript};
use pitcrew_model::{EffectId, StopReason};
use pitcrew_testkit::memory_peak;
use stage::{END, LONG, Stage};
use std::{fmt::Write, fs, time::Duration};
use tokio::time::timeout;

/// Far below the longest frame that is accepted, but the earlier bugs grew faster than the frames.
const FRAME_BYTES: usize = 1_024 * 1_024;
const PEAK_BYTES_MAX: u64 = 48 * 1_024 * 1_024;

fn call(id: usize, input: &str) -> String {
    let call = format!(
        r#"{{"sessionUpdate":"tool_call","toolCallId":"{id}","title":"t","rawInput":{input}}}"#
    );
    let params = format!(r#"{{"sessionId":"s1","update":{call}}}"#);
    format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{params}}}"#)
}

fn asks(input: &str) -> String {
    let params = format!(r#"{{"toolCall":{{"toolCallId":"x","rawInput":{input}}},"options":[]}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{params}}}"#)
}

/// Large frames, each bad in a different way.
fn worst() -> String {
    let size = FRAME_BYTES;
    let zeros = format!("[{}0]", "0,".repeat(size / 2));
    let nested = format!("[{}0]", "[],".repeat(size / 3));
    let keys = (0..size / 16).fold(String::new(), |mut it, index| {
        write!(it, "\"{index}\":0,").expect("memory takes it");
        it
    });
    let keys = format!("{{{keys}\"k\":0}}");
    // Nested commands: each level would be shown in full.
    let text = "x".repeat(size - 2_000);
    let commands = format!("{}\"{text}\"{}", r#"{"command":"#.repeat(90), "}".repeat(90));
    let mut frames = vec![asks(&commands), asks(&zeros), call(0, &nested), call(0, &keys)];
    // Each of these would be kept.
    frames.extend((0..24).map(|it| call(it, &format!("\"{text}\""))));
    frames.join("\n") + "\n"
}

async fn take_worst(stage: &mut Stage) {
    let mut turn = std::pin::pin!(stage.session.prompt(EffectId(2), "go"));
    let end = loop {
        tokio::select! {
            end = &mut turn => break end.expect("a turn"),
            event = stage.events.next() => {
                if let Some(Event::Permission { tool, .. }) = event {
                    assert!(tool.command.is_none_or(|it| it.len() <= 8 * 1_024));
                }
            }
        }
    };
    assert_eq!(end.stop, StopReason::EndTurn);
}

#[test]
fn the_worst_frames_take_bounded_memory() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("frames");
    fs::write(&file, worst()).expect("room");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let script = format!("cat '{}'\n{END}", file.display());
    let mut stage = runtime.block_on(Stage::new(&script));
    let taken = || runtime.block_on(async { timeout(2 * LONG, take_worst(&mut stage)).await });
    let (taken, peak) = memory_peak(taken);
    taken.expect("it ends in time");
    assert!(peak <= PEAK_BYTES_MAX, "the session took {} MB", peak >> 20);
    runtime.block_on(stage.session.stop(Duration::from_millis(100)));
    let spool = stage.home.path().join("attempt/spool.ndjson");
    let (lines, peak) = memory_peak(|| transcript(&spool, 0).expect("a conversation"));
    assert!(lines.len() > 20);
    assert!(peak <= PEAK_BYTES_MAX, "the conversation took {} MB", peak >> 20);
}
