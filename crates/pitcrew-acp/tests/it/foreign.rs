//! Agents that send arbitrary frames: the turn ends with a result.

use crate::stage::{END, LONG, Stage};
use pitcrew_model::EffectId;
use pitcrew_testkit::{cases, corpus};
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};
use std::{fs, time::Duration};
use tokio::time::timeout;

/// Frames of one agent: invalid ones are counted, and too many of them end the agent.
const FRAMES: usize = 60;

#[tokio::test]
async fn a_turn_ends_for_any_frames() {
    let home = tempfile::tempdir().expect("a folder");
    let mut runner = TestRunner::default();
    let changed = corpus!("frame").changed();
    for round in 0..cases(6).min(200) {
        let mut frames = Vec::new();
        for _ in 0..FRAMES {
            let frame = changed.new_tree(&mut runner).expect("a frame").current();
            frames.extend(frame.into_iter().filter(|it| *it != b'\n'));
            frames.push(b'\n');
        }
        let file = home.path().join(format!("frames-{round}"));
        fs::write(&file, frames).expect("room");
        let mut stage = Stage::new(&format!("cat '{}'\n{END}", file.display())).await;
        let turn = timeout(LONG, stage.session.prompt(EffectId(2), "go"));
        let ended = async {
            tokio::pin!(turn);
            loop {
                tokio::select! {
                    end = &mut turn => break end.expect("an end"),
                    _ = stage.events.next() => {}
                }
            }
        };
        let end = ended.await.unwrap_or_else(|it| panic!("{}: {it}", file.display()));
        assert!(end.last_words.len() <= 4 * 1_024);
        stage.session.stop(Duration::from_millis(100)).await;
    }
}
