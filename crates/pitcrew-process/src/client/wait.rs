//! The end of an agent that nobody has a connection to: one whose start was given up, or one of
//! an orchestrator that is gone.

use super::events::hunt;
use crate::{
    shim::{lock, marker, read_exit},
    tree,
};
use pitcrew_model::Exit;
use std::{
    path::Path,
    time::{Duration, Instant},
};
use tokio::time::sleep;

/// Between two looks at whether it is over. The system tells nobody when a lock is let go.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Waits until neither the shim of an attempt's folder nor anything of its agent lives, and tells
/// how the agent ended; nothing when that is not so before `patience` ended.
///
/// A shim ends by itself when its client is lost, after the lease, and at once when its start was
/// given up. What a shim that was killed left behind is ended here. Where no agent was ever
/// started, the end has neither code nor signal.
pub async fn wait_for_exit(dir: &Path, patience: Duration) -> Option<Exit> {
    let began = Instant::now();
    loop {
        let folder = dir.to_owned();
        let looked = tokio::task::spawn_blocking(move || look(&folder));
        if let Some(exit) = looked.await.ok().flatten() {
            return Some(exit);
        }
        if began.elapsed() >= patience {
            return None;
        }
        sleep(LOOK_AGAIN).await;
    }
}

fn look(dir: &Path) -> Option<Exit> {
    if lock::is_held(dir) {
        return None;
    }
    read_exit(dir).or_else(|| {
        let exit = hunt(dir, None);
        tree::marked(&marker(dir)).is_empty().then_some(exit)
    })
}
