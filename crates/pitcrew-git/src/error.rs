//! Errors, and the attempt failure that each of them becomes.

use crate::locks;
use pitcrew_model::Failure;
pub(crate) use pitcrew_model::text::chain;
use pitcrew_process::RunError;
use std::{io, path::PathBuf};

/// A git command that Pitcrew started has failed.
#[derive(Debug, thiserror::Error)]
#[error("git {command} failed in `{}`", place.display())]
pub struct GitError {
    pub command: &'static str,
    pub place: PathBuf,
    #[source]
    pub kind: GitErrorKind,
}

impl GitError {
    /// Whether a signal killed the command.
    pub(crate) fn is_kill(&self) -> bool {
        matches!(self.kind, GitErrorKind::Exit { signal: Some(_), .. })
    }

    /// Whether the command exceeded a limit.
    pub(crate) fn is_excess(&self) -> bool {
        matches!(self.kind, GitErrorKind::OutOfMemory | GitErrorKind::TooLong { .. })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum GitErrorKind {
    #[error("git could not be started")]
    NotStarted(#[source] RunError),
    #[error("{}", describe_exit(*code, *signal, stderr))]
    Exit { code: Option<i32>, signal: Option<i32>, stderr: String },
    #[error("{}", locks::describe(lock))]
    Locked { lock: PathBuf },
    #[error("it did not end within {seconds} s")]
    TimedOut { seconds: u64 },
    #[error("it was cancelled")]
    Cancelled,
    #[error("its answer is longer than {bytes_max} bytes")]
    TooLong { bytes_max: usize },
    #[error("it needs more memory than it may have")]
    OutOfMemory,
    #[error("its answer cannot be read: {reason}")]
    Unreadable { reason: String },
    #[error(
        "cannot read {}, so the work is not complete: make it readable, or remove it",
        listed(paths)
    )]
    Unread { paths: Vec<String> },
}

fn listed(paths: &[String]) -> String {
    match paths {
        [] => "nothing".into(),
        [one] => format!("`{one}`"),
        [first, more @ ..] => format!("`{first}` and {} more", more.len()),
    }
}

fn describe_exit(code: Option<i32>, signal: Option<i32>, stderr: &str) -> String {
    let end = match (code, signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "it is gone".into(),
    };
    let words = stderr.trim();
    if words.is_empty() { end } else { format!("{end}: {words}") }
}

/// A file or folder could not be created, read or removed.
#[derive(Debug, thiserror::Error)]
#[error("failed to {attempted} `{}`", path.display())]
pub struct FileError {
    pub attempted: &'static str,
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

/// An operation of the vault failed for a reason other than the work it handles.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl From<GitError> for Failure {
    fn from(error: GitError) -> Self {
        match &error.kind {
            GitErrorKind::Cancelled => Self::Interrupted,
            GitErrorKind::Exit { stderr, .. } if stderr.contains("No space left on device") => {
                Self::DiskLow { path: error.place.display().to_string(), free_bytes: 0 }
            }
            GitErrorKind::NotStarted(_)
            | GitErrorKind::Locked { .. }
            | GitErrorKind::Exit { .. }
            | GitErrorKind::TimedOut { .. }
            | GitErrorKind::TooLong { .. }
            | GitErrorKind::OutOfMemory
            | GitErrorKind::Unread { .. }
            | GitErrorKind::Unreadable { .. } => Self::Git { message: chain(&error) },
        }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        if error.source.kind() == io::ErrorKind::StorageFull {
            return Self::DiskLow { path: error.path.display().to_string(), free_bytes: 0 };
        }
        Self::Git { message: chain(&error) }
    }
}

impl From<VaultError> for Failure {
    fn from(error: VaultError) -> Self {
        match error {
            VaultError::Git(error) => error.into(),
            VaultError::File(error) => error.into(),
        }
    }
}
