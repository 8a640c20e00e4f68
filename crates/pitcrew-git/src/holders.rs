//! Reads /proc to find processes that have a file open or run git in a repository.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A running process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) pid: u32,
    pub(crate) command: String,
}

/// Finds a process that has the file open.
pub(crate) fn who_has_open(file: &Path) -> Option<Holder> {
    processes().find_map(|(pid, proc)| {
        let open = fs::read_dir(proc.join("fd")).ok()?;
        let has = open.flatten().any(|it| fs::read_link(it.path()).is_ok_and(|it| it == file));
        has.then(|| Holder { pid, command: command(&proc) })
    })
}

/// Finds another program's git in one of these folders. It may hold a lock without having it open.
pub(crate) fn git_in(folders: &[&Path]) -> Option<Holder> {
    gits().find_map(|(pid, proc)| {
        let folder = fs::read_link(proc.join("cwd")).ok()?;
        let is_there = folders.iter().any(|it| folder.starts_with(it));
        (is_there && !is_ours(&proc)).then(|| Holder { pid, command: command(&proc) })
    })
}

/// Whether any git, including Pitcrew's, runs in a repository or with `--git-dir` set to it.
pub(crate) fn is_git_at_work(git_dir: &Path) -> bool {
    let path = git_dir.as_os_str().as_encoded_bytes();
    gits().any(|(_, proc)| {
        let line = fs::read(proc.join("cmdline")).unwrap_or_default();
        let is_named = |it: &[u8]| it.strip_prefix(b"--git-dir=").unwrap_or(it) == path;
        fs::read_link(proc.join("cwd")).is_ok_and(|it| it.starts_with(git_dir))
            || line.split(|it| *it == 0).any(is_named)
    })
}

/// The start time of a running process, in ticks since boot. Together with the pid it identifies
/// the process.
pub(crate) fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may contain any character. The state follows it.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    // A process that has ended remains until its parent waits for it.
    let is_alive = !matches!(fields.next()?, "Z" | "X" | "x");
    fields.nth(18)?.parse().ok().filter(|_| is_alive)
}

/// An identifier that changes with each boot of the machine.
pub(crate) fn boot() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    boot.trim_end().to_owned()
}

fn processes() -> impl Iterator<Item = (u32, PathBuf)> {
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, entry.path()))
    })
}

fn gits() -> impl Iterator<Item = (u32, PathBuf)> {
    let is_git =
        |proc: &Path| fs::read_to_string(proc.join("comm")).is_ok_and(|it| it.starts_with("git"));
    processes().filter(move |(_, proc)| is_git(proc))
}

fn is_ours(proc: &Path) -> bool {
    let environment = fs::read(proc.join("environ")).unwrap_or_default();
    environment.split(|it| *it == 0).any(|it| it.starts_with(b"PITCREW_OWNER="))
}

fn command(proc: &Path) -> String {
    const SHOWN_MAX: usize = 60;
    let line = fs::read(proc.join("cmdline")).unwrap_or_default();
    let words: Vec<_> = line.split(|it| *it == 0).map(String::from_utf8_lossy).collect();
    pitcrew_model::text::cut(words.join(" ").trim_end(), SHOWN_MAX).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_with_the_file_open_is_found() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().canonicalize().expect("it exists").join("index.lock");
        assert_eq!(who_has_open(&path), None);
        let file = fs::File::create(&path).expect("a file");
        assert_eq!(who_has_open(&path).map(|it| it.pid), Some(std::process::id()));
        drop(file);
        assert_eq!(who_has_open(&path), None);
    }

    #[test]
    fn process_is_identified_by_pid_and_start() {
        let own = start_of(std::process::id());
        assert!(own.is_some());
        assert_eq!(own, start_of(std::process::id()));
        assert_eq!(start_of(u32::MAX), None);
    }
}
