//! Errors of the journal, with what the caller or a person can do.

use pitcrew_model::{EffectId, Seq};
use std::{error::Error, path::PathBuf};

type Cause = Box<dyn Error + Send + Sync>;

#[derive(Debug, thiserror::Error)]
#[error("failed to open the journal at `{}`", path.display())]
pub struct OpenError {
    pub path: PathBuf,
    #[source]
    pub kind: OpenErrorKind,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenErrorKind {
    /// Absent `pid`: the other process has not written it yet.
    #[error("{} has it open; only one orchestrator works on a workspace: end that one first, or go through it", holder(*.pid))]
    Locked { pid: Option<u32> },
    #[error(
        "it was written by a newer pitcrew (journal version {found}, this one knows {known}): use the pitcrew that wrote it, or a newer one"
    )]
    Newer { found: i32, known: i32 },
    #[error(
        "it is the database of another program (application id {application_id:#010x}): it was left as it is, move it away"
    )]
    Foreign { application_id: i32 },
    #[error(
        "it is not a journal: it was left as it is, move it away or put a copy of the journal in its place"
    )]
    Garbage(#[source] Cause),
    #[error(
        "the file system cannot hold it (write-ahead logging is refused, journal mode is `{mode}`): put the state on a local disk"
    )]
    NoWriteAheadLog { mode: String },
    #[error("the disk is full: free some space and try again")]
    Full(#[source] Cause),
    #[error("it cannot be written: the folder, the file or the file system is read-only")]
    ReadOnly(#[source] Cause),
    #[error("another program holds a lock on the database file: end it and try again")]
    Busy(#[source] Cause),
    #[error("the database is damaged: put a copy of the journal in its place")]
    Corrupt(#[source] Cause),
    #[error("the operating system refused it")]
    Io(#[source] Cause),
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".into(), |pid| format!("process {pid}"))
}

#[derive(Debug, thiserror::Error)]
#[error("failed to append {events_count} events to the journal at `{}`", path.display())]
pub struct AppendError {
    pub path: PathBuf,
    pub events_count: usize,
    #[source]
    pub kind: AppendErrorKind,
}

/// What a caller may branch on. Nothing was written, except for `Io`, where that is unknown.
#[derive(Debug, thiserror::Error)]
pub enum AppendErrorKind {
    #[error("event {found} was handed in where event {expected} comes next")]
    OutOfOrder { expected: Seq, found: Seq },
    #[error("{effect} does not follow the event of its own batch that asks for it")]
    Unannounced { effect: EffectId },
    /// The journal works again as soon as there is space.
    #[error("the disk is full: free some space; nothing was written")]
    Full(#[source] Cause),
    #[error("the file system is read-only; nothing was written")]
    ReadOnly(#[source] Cause),
    #[error("another program holds a lock on the database file: end it; nothing was written")]
    Busy(#[source] Cause),
    #[error("the database is damaged; nothing was written")]
    Corrupt(#[source] Cause),
    /// The caller must end the process: after a failed sync only a restart can find out what is on
    /// the disk.
    #[error(
        "the disk did not take the write: this process must end, and the next one finds out what was written"
    )]
    Io(#[source] Cause),
}

#[derive(Debug, thiserror::Error)]
#[error("failed to read the journal at `{}`", path.display())]
pub struct ReadError {
    pub path: PathBuf,
    #[source]
    pub kind: ReadErrorKind,
}

#[derive(Debug, thiserror::Error)]
pub enum ReadErrorKind {
    #[error("event {seq} is not understood: it is damaged, or a newer pitcrew wrote it")]
    BadEvent { seq: Seq, source: serde_json::Error },
    #[error("{effect} is not understood: it is damaged, or a newer pitcrew wrote it")]
    BadEffect { effect: EffectId, source: serde_json::Error },
    #[error("event {seq} is missing")]
    Missing { seq: Seq },
    #[error("the database does not answer")]
    Database(#[source] Cause),
}
