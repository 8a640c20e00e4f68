//! Resource limits of one program, which all its children inherit.

use crate::{Limits, tree};
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};
use std::{fs, io, os::unix::fs::MetadataExt};

pub(crate) fn apply(limits: &Limits) -> io::Result<()> {
    // A core dump could contain secrets.
    limit(Resource::Core, 0)?;
    // Data, not address space: many programs reserve far more addresses than they use.
    limits.memory_bytes.map_or(Ok(()), |it| limit(Resource::Data, it))?;
    limits.file_bytes.map_or(Ok(()), |it| limit(Resource::Fsize, it))?;
    limits.open_files.map_or(Ok(()), |it| limit(Resource::Nofile, it))?;
    limits.processes.map_or(Ok(()), |it| limit(Resource::Nproc, it.saturating_add(running())))
}

/// Limits the memory of a program that was just started, and of each that it starts. One that has
/// ended meanwhile needs no limit.
pub(crate) fn limit_memory(program: Pid, bytes: u64) -> io::Result<()> {
    // It has the limits of this process, which stay where they are lower.
    let hard = getrlimit(Resource::Data).maximum.map_or(bytes, |it| it.min(bytes));
    let limit = Rlimit { current: Some(hard), maximum: Some(hard) };
    let mut open = vec![program];
    while let Some(pid) = open.pop() {
        match prlimit(Some(pid), Resource::Data, limit) {
            Ok(_) | Err(Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
        // Those that it starts from now on inherit the limit; it may have started some before.
        open.extend(tree::children(pid.as_raw_pid()).into_iter().filter_map(Pid::from_raw));
    }
    Ok(())
}

/// Lowers a limit. One that is lower already stays.
fn limit(resource: Resource, value: u64) -> io::Result<()> {
    let before = getrlimit(resource);
    let hard = before.maximum.map_or(value, |it| it.min(value));
    let soft = before.current.map_or(hard, |it| it.min(hard));
    Ok(setrlimit(resource, Rlimit { current: Some(soft), maximum: Some(hard) })?)
}

/// Processes and threads of this user that are visible here. The kernel counts all of them against the
/// limit, so the program's share comes on top. In a box only those of the box are visible.
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
    fn we_are_counted_ourselves() {
        assert!(running() >= 1);
    }
}
