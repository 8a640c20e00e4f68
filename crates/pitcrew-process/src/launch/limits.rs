//! Resource limits of a program and its descendants.

use crate::{Limits, tree};
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};
use std::{fs, io, os::unix::fs::MetadataExt};

pub(crate) fn apply(limits: &Limits) -> io::Result<()> {
    // A core dump could contain secrets.
    limit(Resource::Core, 0)?;
    // Not the address space: many programs reserve far more of it than they use.
    limits.memory_bytes.map_or(Ok(()), |it| limit(Resource::Data, it))?;
    limits.file_bytes.map_or(Ok(()), |it| limit(Resource::Fsize, it))?;
    limits.open_files.map_or(Ok(()), |it| limit(Resource::Nofile, it))?;
    limits.processes.map_or(Ok(()), |it| limit(Resource::Nproc, it.saturating_add(running())))
}

/// Limits the memory of a program that was just started and of its descendants. Processes that have
/// already ended are skipped.
pub(crate) fn limit_memory(program: Pid, bytes: u64) -> io::Result<()> {
    // The program has inherited the limits of this process. A lower limit is kept.
    let hard = getrlimit(Resource::Data).maximum.map_or(bytes, |it| it.min(bytes));
    let limit = Rlimit { current: Some(hard), maximum: Some(hard) };
    let mut open = vec![program];
    while let Some(pid) = open.pop() {
        match prlimit(Some(pid), Resource::Data, limit) {
            Ok(_) | Err(Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
        // Later children inherit the limit, but some may have been started before it was set.
        open.extend(tree::children(pid.as_raw_pid()).into_iter().filter_map(Pid::from_raw));
    }
    Ok(())
}

/// Lowers a limit. A limit that is already lower is kept.
fn limit(resource: Resource, value: u64) -> io::Result<()> {
    let before = getrlimit(resource);
    let hard = before.maximum.map_or(value, |it| it.min(value));
    let soft = before.current.map_or(hard, |it| it.min(hard));
    Ok(setrlimit(resource, Rlimit { current: Some(soft), maximum: Some(hard) })?)
}

/// Counts the visible processes and threads of this user. The kernel counts all of them against the
/// limit, so the program's own limit is added to this number. In a sandbox, only the processes of
/// that sandbox are visible.
fn running() -> u64 {
    let user = rustix::process::getuid().as_raw();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ours = entries.filter(|it| it.metadata().is_ok_and(|it| it.uid() == user));
    let threads = ours.map(|it| fs::read_dir(it.path().join("task")).map_or(0, Iterator::count));
    threads.map(|it| u64::try_from(it).unwrap_or(u64::MAX)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn current_process_is_counted() {
        assert!(running() >= 1);
    }
}
