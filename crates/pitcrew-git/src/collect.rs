//! Collects the work of an attempt into the vault, through the import gate.

use crate::{
    AttemptName, Ready, Vault,
    changes::Counted,
    error::{GitError, GitErrorKind, VaultError},
    files,
    gate::Verdict,
    import::{Checking, ImportError},
    records::{self, Durability},
    snapshot::{Agent, Nested, Snapshot, Source},
};
use pitcrew_model::{CommitId, Failure, RefusalKind, Work, Zone, limits};
use pitcrew_process::{Cancel, Policy};
use std::path::PathBuf;

#[derive(Clone, Debug)]
pub struct CollectWork {
    pub name: AttemptName,
    pub path: PathBuf,
    /// The commit that the attempt started from.
    pub start: CommitId,
    /// The commit that the gate compares with.
    pub base: CommitId,
    pub zone: Zone,
    /// The message for the commit of uncommitted work.
    pub message: String,
}

impl Vault {
    /// Commits uncommitted work, imports the work into the vault and runs the gate on it.
    pub fn collect(
        &self,
        order: &CollectWork,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<Work, Failure> {
        self.collect_ready(order, None, policy, cancel)
    }

    /// Like `collect`, but uses what `get_ready` has prepared.
    pub fn collect_ready(
        &self,
        order: &CollectWork,
        ready: Option<Ready>,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<Work, Failure> {
        if !files::is_folder(&order.path) {
            let message = format!("`{}` is gone", order.path.display());
            return Err(Failure::Checkout { message });
        }
        let source = Source {
            attempt: order.name.attempt,
            path: &order.path,
            start: &order.start,
            message: &order.message,
            nested: Nested::Listed,
            agent: Agent::Gone,
        };
        let mut snapshot = self.snapshot(source, ready, policy, cancel)?;
        snapshot.require_all_read()?;
        let mut verdict = Verdict::default();
        for path in &snapshot.left_out {
            verdict.refuse(path, RefusalKind::Gitlink);
        }
        let imported = import_sound(&mut snapshot, &mut verdict)?;
        let record = snapshot.record();
        let commit = record.commit.clone();
        if !imported {
            verdict.into_result()?;
            unreachable!("what was not imported was refused");
        }
        let end = std::thread::scope(|scope| {
            // Removing many small files takes time, and the gate does not need them.
            scope.spawn(|| drop(snapshot));
            self.judge(&order.base, &commit, &order.zone, &mut verdict, cancel)
        });
        let end = end.or_else(|error| too_many(error, &mut verdict))?;
        verdict.into_result()?;
        fail::fail_point!("collect-judged", |_| std::process::abort());
        self.set_ref(&order.name.work_ref(), &commit)?;
        let note = self.records().collected(order.name.attempt);
        records::write(&note, &record, Durability::Process)?;
        Ok(end.expect("what was judged was counted").into_work(commit))
    }
}

/// Imports the snapshot. If it is refused, adds the reason to the verdict and returns `false`.
///
/// If objects of the agent's own commits are missing, the snapshot is imported without them.
fn import_sound(snapshot: &mut Snapshot<'_>, verdict: &mut Verdict) -> Result<bool, VaultError> {
    let mut result = snapshot.deliver(Checking::Strict);
    if matches!(result, Err(ImportError::Broken(_))) {
        snapshot.squash()?;
        result = snapshot.deliver(Checking::Strict);
    }
    match result {
        Ok(()) => Ok(true),
        Err(ImportError::Refused(refusals)) => {
            for it in refusals {
                verdict.refuse(it.path, it.kind);
            }
            Ok(false)
        }
        Err(ImportError::Git(error)) if error.is_excess() => {
            let why = "an object that needs too much memory to be checked";
            verdict.refuse(why, RefusalKind::TooLarge);
            Ok(false)
        }
        Err(ImportError::Broken(error) | ImportError::Git(error)) => Err(error.into()),
    }
}

/// If the changes exceed the limits of git, there are too many of them.
fn too_many(error: GitError, verdict: &mut Verdict) -> Result<Option<Counted>, GitError> {
    let why = match error.kind {
        GitErrorKind::TooLong { bytes_max } => format!("more than {bytes_max} bytes"),
        GitErrorKind::OutOfMemory => {
            format!("more than {} bytes of memory", limits::GIT_FOREIGN_MEMORY_BYTES_MAX)
        }
        GitErrorKind::NotStarted(_)
        | GitErrorKind::Exit { .. }
        | GitErrorKind::Locked { .. }
        | GitErrorKind::TimedOut { .. }
        | GitErrorKind::Cancelled
        | GitErrorKind::Unreadable { .. }
        | GitErrorKind::Unread { .. } => return Err(error),
    };
    verdict.refuse(format!("a list of changes of {why}"), RefusalKind::TooMany);
    Ok(None)
}
