//! Reports the network decisions that the egress proxies record.
//!
//! Processes that outlive us append to the record of an attempt, or of a plan's own checks. The
//! journal contains the position up to which it was reported, so a new orchestrator continues
//! there.

use crate::Handle;
use pitcrew_config::WorkspaceDirs;
use pitcrew_model::{EgressDecision, EgressOf, Signal};
use pitcrew_process::{EgressLine, ledger_path};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    time::Duration,
};
use tokio::time::MissedTickBehavior;

/// The polling interval.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The largest part of one record that is read at a time.
const READ_BYTES_MAX: u64 = 256 * 1_024;

/// Reports every decision once, until aborted.
pub async fn watch(handle: Handle, dirs: WorkspaceDirs) {
    let mut known: BTreeMap<EgressOf, u64> = BTreeMap::new();
    let mut look = tokio::time::interval(LOOK_EVERY);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        look.tick().await;
        let open: BTreeMap<EgressOf, u64> = handle.views().board.open_records().collect();
        // An attempt that has ended since the last poll is read once more.
        let ended: Vec<EgressOf> =
            known.keys().filter(|it| !open.contains_key(it)).copied().collect();
        for (whose, reported) in open {
            let from = known.entry(whose).or_insert(reported);
            *from = report(&handle, &dirs, whose, *from).await;
        }
        for whose in ended {
            if let Some(from) = known.remove(&whose) {
                report(&handle, &dirs, whose, from).await;
            }
        }
    }
}

/// Reports all recorded decisions now, so that a step's refusals are reported before its end.
pub async fn report_all(handle: &Handle, dirs: &WorkspaceDirs, whose: EgressOf) {
    let record = handle.views().board.open_records().find(|it| it.0 == whose);
    if let Some((_, from)) = record {
        report(handle, dirs, whose, from).await;
    }
}

/// Reports what was written after `from`, and returns the new position.
async fn report(handle: &Handle, dirs: &WorkspaceDirs, whose: EgressOf, from: u64) -> u64 {
    let path = ledger_path(&match whose {
        EgressOf::Attempt(attempt) => dirs.attempt(attempt),
        EgressOf::Plan(plan) => dirs.checks(plan),
    });
    let read = tokio::task::spawn_blocking(move || decisions(&path, whose, from));
    // If reading fails, the next poll tries again.
    let Ok(Ok((decisions, end))) = read.await else { return from };
    for decision in decisions {
        handle.signal(Signal::EgressDecided(decision)).await;
    }
    end
}

/// The decisions in the complete lines after `from`, and the end of those lines.
fn decisions(path: &Path, whose: EgressOf, from: u64) -> io::Result<(Vec<EgressDecision>, u64)> {
    if path.metadata()?.len() <= from {
        return Ok((Vec::new(), from));
    }
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(READ_BYTES_MAX).read_to_end(&mut bytes)?;
    let mut end = from;
    let mut decisions = Vec::new();
    for line in bytes.split_inclusive(|it| *it == b'\n').filter(|it| it.ends_with(b"\n")) {
        end += line.len() as u64;
        // A line that was cut by a crash is skipped; one without requests only counts bytes.
        let line = serde_json::from_slice(line).ok().filter(|it: &EgressLine| it.count > 0);
        decisions.extend(line.map(|it| EgressDecision {
            whose,
            host: it.host,
            port: it.port,
            allowed: it.allowed,
            reason: it.reason,
            count: it.count,
            offset: end,
        }));
    }
    Ok((decisions, end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_model::PlanId;
    use std::fs;

    #[test]
    fn complete_lines_are_reported_once_and_torn_ones_skipped() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = ledger_path(folder.path());
        let line = |host: &str, count: u32| {
            let line = EgressLine {
                at: 1,
                host: host.into(),
                port: 443,
                allowed: false,
                reason: "no".into(),
                count,
                bytes_up: 0,
                bytes_down: 0,
            };
            serde_json::to_string(&line).expect("plain data")
        };
        let (one, two) = (line("a.example", 1), line("b.example", 2));
        let bytes_only = line("a.example", 0);
        fs::write(&path, format!("{one}\n{{\"at\":1\n{bytes_only}\n{two}")).expect("a file");
        let hosts = |from| {
            let (found, end) = decisions(&path, EgressOf::Plan(PlanId(1)), from).expect("a record");
            (found.into_iter().map(|it| (it.host, it.offset)).collect::<Vec<_>>(), end)
        };
        let (found, end) = hosts(0);
        assert_eq!(found, [("a.example".to_owned(), one.len() as u64 + 1)]);
        assert_eq!(hosts(end), (Vec::new(), end), "the last line is incomplete");
        let text = fs::read_to_string(&path).expect("the file") + "\n";
        fs::write(&path, &text).expect("a file");
        let expected = vec![("b.example".to_owned(), text.len() as u64)];
        assert_eq!(hosts(end), (expected, text.len() as u64));
    }
}
