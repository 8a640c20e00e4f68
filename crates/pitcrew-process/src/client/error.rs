//! Errors between the orchestrator and a shim.

use crate::{ShimSpec, shim::read_spec};
use std::{
    io,
    path::{Path, PathBuf},
};

/// An agent could not be started, or its shim could not be reached.
#[derive(Debug, thiserror::Error)]
#[error("failed to drive agent `{program}` from `{}`", dir.display())]
pub struct ShimError {
    pub program: String,
    /// The attempt's folder.
    pub dir: PathBuf,
    #[source]
    pub kind: ShimErrorKind,
}

#[derive(Debug, thiserror::Error)]
pub enum ShimErrorKind {
    /// The agent's program does not exist or cannot be executed. No process is running.
    #[error("the agent is missing: {reason}")]
    AgentMissing { reason: String },
    /// Another shim owns the attempt's folder, and its agent may still be running.
    #[error("another shim already runs this attempt")]
    AlreadyRunning,
    /// The shim could not be started, or could not start the agent for another reason.
    #[error("the shim did not start: {reason}")]
    NotStarted { reason: String },
    /// The shim does not respond. Its events report how the agent ended.
    #[error("the shim is gone")]
    Gone(#[source] io::Error),
    #[error("the frame cannot be sent: {reason}")]
    BadFrame { reason: String },
}

/// The agent that an error refers to.
#[derive(Clone, Debug)]
pub(super) struct Context {
    program: String,
    pub(super) dir: PathBuf,
}

impl Context {
    pub(super) fn new(spec: &ShimSpec) -> Self {
        Self { program: spec.program(), dir: spec.dir.clone() }
    }

    /// Reads the program from the attempt's folder.
    pub(super) fn of(dir: &Path) -> Self {
        let program = read_spec(dir).map(|it| it.program()).unwrap_or_default();
        Self { program, dir: dir.to_owned() }
    }

    pub(super) fn error(&self, kind: ShimErrorKind) -> ShimError {
        ShimError { program: self.program.clone(), dir: self.dir.clone(), kind }
    }
}
