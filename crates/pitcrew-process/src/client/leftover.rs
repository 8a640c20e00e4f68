//! Ends an agent without a connection: after an abandoned start, or after its orchestrator has
//! ended.

use super::stop_at;
use crate::{
    shim::{ExitRecord, lock, marker, read_exit, read_spec, spec_path},
    tail::Tail,
    tree::{self, ProcessId, See},
};
use pitcrew_model::{Exit, limits::OUTPUT_TAIL_BYTES};
use std::{
    path::Path,
    time::{Duration, Instant},
};
use tokio::time::{sleep, timeout};

/// Between two checks. The system gives no notification when a lock is released.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// How long ending a silent shim or a killed shim's process tree may take. After that, the end is
/// reported anyway.
const HUNT_MS_MAX: u64 = 5_000;

/// Ends the agent of an attempt's folder, if there is one, and returns how it ended, now or
/// earlier. A shim that still runs after `patience` is killed with all of its agent's processes.
/// Returns nothing if the system does not end them even then.
///
/// Also ends what a killed shim left behind. If no agent was ever started, the result has neither
/// an exit code nor a signal.
pub async fn end_shim(dir: &Path, grace: Duration, patience: Duration) -> Option<Exit> {
    let until = Instant::now() + patience;
    let mut was_told = false;
    loop {
        if let Some(record) = ended(dir).await {
            return Some(record.exit);
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            hunted(dir, None).await;
            return ended(dir).await.map(|it| it.exit);
        }
        // A shim that is just starting does not listen yet.
        if !was_told && let Ok(spec) = read_spec(dir) {
            was_told = matches!(timeout(left, stop_at(&spec.socket, grace)).await, Ok(Ok(true)));
        }
        sleep(LOOK_AGAIN).await;
    }
}

/// Returns how the agent of the folder ended, or nothing while a shim is running.
pub(super) async fn ended(dir: &Path) -> Option<ExitRecord> {
    let dir = dir.to_owned();
    let look = move || {
        if lock::is_held(&dir) {
            return None;
        }
        if !spec_path(&dir).exists() {
            // No agent was ever started here.
            let exit = Exit { code: None, signal: None, stderr: String::new() };
            return Some(ExitRecord { exit, ordered: false });
        }
        read_exit(&dir).or_else(|| {
            let record = ExitRecord { exit: hunt(&dir, None), ordered: false };
            let mut is_empty = true;
            tree::marked(&marker(&dir), &mut |_| is_empty = false);
            is_empty.then_some(record)
        })
    };
    tokio::task::spawn_blocking(look).await.ok().flatten()
}

/// Waits until the folder has no shim. Then the agent has left no process, no open file and no
/// lock.
pub async fn until_gone(dir: &Path) {
    while lock::is_held(dir) {
        sleep(LOOK_AGAIN).await;
    }
}

/// Runs `hunt` on a blocking thread.
pub(super) async fn hunted(dir: &Path, agent: Option<ProcessId>) -> Exit {
    let dir = dir.to_owned();
    let hunted = tokio::task::spawn_blocking(move || hunt(&dir, agent)).await;
    hunted.unwrap_or(Exit { code: None, signal: None, stderr: String::new() })
}

/// Kills what a killed shim left behind. Finds the processes by the agent's marker and, if it is
/// known, by the agent's process id. A shim that still runs is killed too, with all of its
/// descendants; it is found as the process that holds the folder's lock.
pub(super) fn hunt(dir: &Path, agent: Option<ProcessId>) -> Exit {
    let marker = marker(dir);
    let find = |see: See<'_>| {
        tree::marked(&marker, see);
        let mut shims = Vec::new();
        tree::fed_by(&lock::path(dir), &mut |it| shims.push(it));
        for root in shims.into_iter().chain(agent.and_then(ProcessId::living)) {
            see(root);
            tree::descendants(root.id.pid, see);
        }
    };
    tree::end(find, Some(Instant::now() + Duration::from_millis(HUNT_MS_MAX)));
    let mut tail = Tail::new(OUTPUT_TAIL_BYTES);
    tail.push(&std::fs::read(dir.join("stderr.log")).unwrap_or_default());
    Exit { code: None, signal: None, stderr: tail.text() }
}
