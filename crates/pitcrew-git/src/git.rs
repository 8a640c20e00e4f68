//! Starts git and reads its output. Does not depend on any particular repository.

use crate::{
    error::{GitError, GitErrorKind},
    locks,
};
use pitcrew_model::{CommitId, limits};
use pitcrew_process::{
    CONFINE_PREFIX, Cancel, Finished, LANDLOCK_ABI_MIN, Limits, Net, Overflow, Policy, Prepared,
    Run, RunError, Tier, is_machine_root, landlock_abi, prepare_waiting, run_confined, run_trusted,
};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

const TIMEOUT: Duration = Duration::from_mins(10);
/// The maximum output of one call. Longer output is an error and is never truncated.
pub(crate) const OUTPUT_BYTES_MAX: usize = 64 * 1_024 * 1_024;
/// Keeps git from starting hooks, monitors or maintenance, whatever the repository's settings are.
const ALWAYS: [&str; 4] =
    ["core.hooksPath=/dev/null", "core.fsmonitor=false", "gc.auto=0", "maintenance.auto=false"];

/// Limits the memory that git uses on foreign objects: files above the accepted size are streamed,
/// and the memory and number of threads do not grow with the machine.
const FOREIGN: [&str; 3] =
    ["core.bigFileThreshold=32m", "pack.windowMemory=128m", "pack.threads=4"];

/// Indexes are copied, and a copy of a split index would lack its second file.
const WHOLE_INDEX: &str = "core.splitIndex=false";

/// How to start git.
#[derive(Clone, Debug, Default)]
pub struct Git {
    home: Option<PathBuf>,
    owner: Option<String>,
    /// The user's settings that are used in boxes.
    settings: Option<PathBuf>,
}

/// Who may have written to the repository or tree that git is started on.
#[derive(Clone, Copy)]
pub(crate) enum Trust<'a> {
    /// Only Pitcrew or the user.
    Ours,
    /// An agent may have written to it.
    Confined(&'a Policy),
    /// No agent so far: the folder is new and its `.git` was made by Pitcrew. Only the files come
    /// from an agent.
    Fresh(&'a Policy),
}

/// One git command, which is built and then run.
pub(crate) struct Call<'a> {
    command: &'static str,
    trust: Trust<'a>,
    options: Vec<OsString>,
    run: Run,
    /// The files of the user's own settings that git reads.
    settings: Vec<PathBuf>,
    /// The tree that git works on.
    tree: PathBuf,
    /// Other paths that git writes to.
    writes: Vec<PathBuf>,
    script: Option<Script>,
}

/// A script that a shell runs instead of one command. The words are its arguments, which Pitcrew
/// chooses.
struct Script {
    text: &'static str,
    words: Vec<OsString>,
}

impl Git {
    /// A git that reads the user settings in `home` and no system settings.
    pub fn at_home(home: impl Into<PathBuf>) -> Self {
        Self { home: Some(home.into()), ..Self::default() }
    }

    /// Marks every started git with its owner, so that `end_left_behind` of the process layer finds
    /// it if the parent process dies.
    #[must_use]
    pub fn owned_by(mut self, owner: &str) -> Self {
        self.owner = Some(owner.into());
        self
    }

    /// Uses these settings in boxes instead of the user's.
    #[must_use]
    pub(crate) fn with_settings(mut self, path: &Path) -> Self {
        self.settings = Some(path.to_owned());
        self
    }

    /// The folder of the user's configuration.
    pub(crate) fn config_home(&self) -> Option<PathBuf> {
        match &self.home {
            Some(home) => Some(home.join(".config")),
            None => std::env::var_os("XDG_CONFIG_HOME")
                .map(PathBuf::from)
                .filter(|it| it.is_absolute())
                .or_else(|| self.home().map(|it| it.join(".config"))),
        }
    }

    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.home.clone().or_else(|| std::env::var_os("HOME").map(PathBuf::from))
    }

    /// A command in `place`, which only Pitcrew or the user writes to.
    pub(crate) fn ours(&self, place: &Path, command: &'static str) -> Call<'static> {
        self.call(Trust::Ours, place, command)
    }

    /// A command in `place`, which an agent may have written to.
    pub(crate) fn confined<'a>(
        &self,
        policy: &'a Policy,
        place: &Path,
        command: &'static str,
    ) -> Call<'a> {
        // Without a remote, LFS could not download anything, so its pointer files are checked out
        // unchanged.
        let call = self.call(Trust::Confined(policy), place, command);
        call.config(WHOLE_INDEX).env("GIT_LFS_SKIP_SMUDGE", "1")
    }

    /// A command that fills `place`, a new folder that no agent has used.
    pub(crate) fn fresh<'a>(
        &self,
        policy: &'a Policy,
        place: &Path,
        command: &'static str,
    ) -> Call<'a> {
        let call = self.call(Trust::Fresh(policy), place, command);
        call.config(WHOLE_INDEX).env("GIT_LFS_SKIP_SMUDGE", "1")
    }

    fn call<'a>(&self, trust: Trust<'a>, place: &Path, command: &'static str) -> Call<'a> {
        let mut run = Run::new("git", place)
            .timeout(TIMEOUT)
            .output_bytes_max(OUTPUT_BYTES_MAX)
            .overflow(Overflow::Kill)
            .memory_bytes_max(match trust {
                Trust::Ours => limits::GIT_MEMORY_BYTES_MAX,
                Trust::Confined(_) | Trust::Fresh(_) => limits::GIT_FOREIGN_MEMORY_BYTES_MAX,
            })
            // Messages are parsed, so they must be in English. On some systems LANGUAGE overrides
            // LC_ALL.
            .env("LC_ALL", "C.UTF-8")
            .env("LANGUAGE", "")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0");
        if let Some(home) = &self.home {
            run = run
                .env("HOME", home)
                .env("XDG_CONFIG_HOME", home.join(".config"))
                .env("GIT_CONFIG_NOSYSTEM", "1");
        }
        if let Some(owner) = &self.owner {
            run = run.owned_by(owner);
        }
        if let Trust::Confined(_) | Trust::Fresh(_) = trust {
            let settings = self.settings.as_deref().unwrap_or("/dev/null".as_ref());
            // Our copy has those of the system too, whose file is not readable in a box.
            run = run.env("GIT_CONFIG_GLOBAL", settings).env("GIT_CONFIG_NOSYSTEM", "1");
        }
        let foreign: &[&str] = match trust {
            Trust::Ours => &[],
            Trust::Confined(_) | Trust::Fresh(_) => &FOREIGN,
        };
        let options = ALWAYS.iter().chain(foreign);
        let options = options.flat_map(|it| ["-c".into(), OsString::from(it)]).collect();
        let (settings, tree) = (self.settings(trust), place.to_owned());
        let writes = Vec::new();
        Call { command, trust, options, run, settings, tree, writes, script: None }
    }

    /// The files of the user's settings that git reads in a box.
    fn settings(&self, trust: Trust<'_>) -> Vec<PathBuf> {
        match trust {
            Trust::Ours => Vec::new(),
            Trust::Confined(_) | Trust::Fresh(_) => {
                let names = ["ignore", "attributes"];
                let folder = self.config_home().map(|it| it.join("git"));
                let below = folder.iter().flat_map(|it| names.map(|name| it.join(name)));
                below.chain(self.settings.clone()).collect()
            }
        }
    }
}

impl<'a> Call<'a> {
    /// Adds an option of git itself, before the command.
    #[must_use]
    pub(crate) fn option(mut self, option: impl Into<OsString>) -> Self {
        self.options.push(option.into());
        self
    }

    #[must_use]
    pub(crate) fn config(self, setting: &str) -> Self {
        self.option("-c").option(setting)
    }

    /// The command reads an agent's objects outside of a box, with the same memory limit as in a
    /// box.
    #[must_use]
    pub(crate) fn on_foreign_objects(mut self) -> Self {
        self.run = self.run.memory_bytes_max(limits::GIT_FOREIGN_MEMORY_BYTES_MAX);
        FOREIGN.iter().fold(self, |call, it| call.config(it))
    }

    /// Ignores all settings of the user and the system, so none of their programs runs.
    #[must_use]
    pub(crate) fn without_user_settings(self) -> Self {
        self.env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_ATTR_NOSYSTEM", "1")
    }

    #[must_use]
    pub(crate) fn git_dir(self, path: &Path) -> Self {
        self.writing(path).option("--git-dir").option(path)
    }

    /// Mounts this whole tree, which contains the working folder. An agent may replace any folder
    /// of its tree with a link at any time, and mounting that folder would mount the link's target.
    #[must_use]
    pub(crate) fn within(mut self, tree: &Path) -> Self {
        tree.clone_into(&mut self.tree);
        self
    }

    /// Allows git to write to this path too.
    #[must_use]
    pub(crate) fn writing(mut self, path: &Path) -> Self {
        self.writes.push(path.to_owned());
        self
    }

    #[must_use]
    pub(crate) fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.run = self.run.arg(arg);
        self
    }

    #[must_use]
    pub(crate) fn args<I>(mut self, args: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<OsString>,
    {
        self.run = self.run.args(args);
        self
    }

    #[must_use]
    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.run = self.run.env(name, value);
        self
    }

    #[must_use]
    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.run = self.run.stdin(bytes);
        self
    }

    #[must_use]
    pub(crate) fn stdin_file(mut self, path: &Path, from: u64) -> Self {
        self.run = self.run.stdin_file(path, from);
        self
    }

    /// Runs this text in a shell instead of the command. The arguments are these words, followed by
    /// git and its options.
    #[must_use]
    pub(crate) fn script(mut self, text: &'static str, words: Vec<OsString>) -> Self {
        self.script = Some(Script { text, words });
        self
    }

    /// Runs the command. Any exit code is accepted.
    pub(crate) fn finish(self, cancel: &Cancel) -> Result<Answer, GitError> {
        let Composed { command, trust, run, rights } = self.composed();
        let place = run.cwd.clone();
        let finished = match trust {
            Trust::Ours => run_trusted(run, cancel),
            Trust::Confined(policy) => run_confined(&rights.of(policy, policy.tier), run, cancel),
            Trust::Fresh(policy) => run_fresh(policy, &rights, run, cancel),
        };
        answered(command, place, finished)
    }

    /// Creates the box of a confined script that waits for a line of input. `None` if that fails;
    /// the error is then reported when the script is run.
    pub(crate) fn wait_in_box(self) -> Option<Waiting> {
        let Composed { command, trust, run, rights } = self.stdin(*b"\n").composed();
        let Trust::Confined(policy) = trust else { return None };
        let place = run.cwd.clone();
        let prepared = prepare_waiting(&rights.of(policy, policy.tier), run).ok()?;
        Some(Waiting { command, place, prepared })
    }

    fn composed(self) -> Composed<'a> {
        let Self { command, trust, options, mut run, settings, tree, writes, script } = self;
        let mut git = vec![OsString::from("git")];
        git.extend(options);
        if let Some(Script { text, words }) = script {
            run.argv = ["sh", "-c", text, "sh"].map(OsString::from).into();
            run.argv.extend(words.into_iter().chain(git));
        } else {
            git.push(command.into());
            git.extend(run.argv.drain(1..));
            run.argv = git;
        }
        Composed { command, trust, run, rights: Rights { tree, settings, writes } }
    }

    /// Runs the command and expects exit code 0.
    pub(crate) fn output(self, cancel: &Cancel) -> Result<Vec<u8>, GitError> {
        let answer = self.finish(cancel)?;
        if answer.finished.success() { Ok(answer.finished.stdout) } else { Err(answer.error()) }
    }

    pub(crate) fn done(self, cancel: &Cancel) -> Result<(), GitError> {
        self.output(cancel).map(drop)
    }

    /// Runs the command and expects exit code 0 and one line of text.
    pub(crate) fn line(self, cancel: &Cancel) -> Result<String, GitError> {
        let answer = self.finish(cancel)?;
        if answer.finished.success() { answer.line() } else { Err(answer.error()) }
    }

    /// Runs the command and expects the name of an object.
    pub(crate) fn object(self, cancel: &Cancel) -> Result<CommitId, GitError> {
        self.line(cancel).map(CommitId)
    }

    /// The output if the exit code is 0. `None` if it is 1, which means that there is no such
    /// value.
    pub(crate) fn maybe(self, cancel: &Cancel) -> Result<Option<String>, GitError> {
        let answer = self.finish(cancel)?;
        match answer.finished.code {
            Some(0) => answer.line().map(Some),
            Some(1) => Ok(None),
            _ => Err(answer.error()),
        }
    }

    /// Whether the exit code is 0 rather than 1.
    pub(crate) fn yes(self, cancel: &Cancel) -> Result<bool, GitError> {
        self.maybe(cancel).map(|it| it.is_some())
    }
}

/// A call in the form that the process layer expects.
struct Composed<'a> {
    command: &'static str,
    trust: Trust<'a>,
    run: Run,
    rights: Rights,
}

/// A script that waits in its box. It has to be started on the thread that created the box.
pub(crate) struct Waiting {
    command: &'static str,
    place: PathBuf,
    prepared: Prepared,
}

impl Waiting {
    pub(crate) fn go(self, cancel: &Cancel) -> Result<Answer, GitError> {
        answered(self.command, self.place, self.prepared.go(TIMEOUT, cancel))
    }
}

fn answered(
    command: &'static str,
    place: PathBuf,
    finished: Result<Finished, RunError>,
) -> Result<Answer, GitError> {
    let failed = |kind| GitError { command, place: place.clone(), kind };
    let finished = finished.map_err(|error| failed(GitErrorKind::NotStarted(error)))?;
    if finished.cancelled {
        return Err(failed(GitErrorKind::Cancelled));
    }
    if finished.timed_out {
        return Err(failed(GitErrorKind::TimedOut { seconds: TIMEOUT.as_secs() }));
    }
    if finished.truncated {
        return Err(failed(GitErrorKind::TooLong { bytes_max: OUTPUT_BYTES_MAX }));
    }
    Ok(Answer { command, place, finished })
}

/// The access that git needs in addition to the files that every program may read.
struct Rights {
    tree: PathBuf,
    settings: Vec<PathBuf>,
    writes: Vec<PathBuf>,
}

impl Rights {
    /// Git needs neither the caches nor the network of other programs.
    fn of(&self, policy: &Policy, tier: Tier) -> Policy {
        let write = [std::slice::from_ref(&self.tree), &self.writes].concat();
        let read = [policy.read.as_slice(), &self.settings].concat();
        // Outside of a box, counting the running processes takes long, and no program of an agent
        // runs there.
        let processes = (tier == Tier::T3).then_some(limits::GIT_PROCESSES_MAX);
        let limits = Limits { processes, ..Limits::default() };
        Policy { tier, net: Net::None, limits, write, read, nests: false, ..policy.clone() }
    }
}

/// Runs git under Landlock alone if possible: a worker waits for it, and making a box takes longer
/// than filling a small checkout. The files cannot name a program; only the user's own settings
/// can.
fn run_fresh(
    policy: &Policy,
    rights: &Rights,
    run: Run,
    cancel: &Cancel,
) -> Result<Finished, RunError> {
    // An index records the owners of files, and root's boxes map owners.
    let is_boxed = policy.tier == Tier::T3 && !is_machine_root();
    if is_boxed && landlock_abi() >= LANDLOCK_ABI_MIN {
        let lighter = rights.of(policy, Tier::T2);
        let finished = run_confined(&lighter, run.clone(), cancel)?;
        // If Landlock could not be applied, the program was not started.
        if !finished.stderr.starts_with(CONFINE_PREFIX.as_bytes()) {
            return Ok(finished);
        }
    }
    run_confined(&rights.of(policy, policy.tier), run, cancel)
}

/// The output of git, whatever its exit code.
pub(crate) struct Answer {
    command: &'static str,
    place: PathBuf,
    pub(crate) finished: Finished,
}

impl Answer {
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.finished.stderr).into_owned()
    }

    /// Converts the output to an error.
    pub(crate) fn error(&self) -> GitError {
        let stderr = self.stderr();
        self.failed(match locks::named_by(&stderr) {
            Some(lock) => GitErrorKind::Locked { lock },
            None if stderr.lines().any(is_out_of_memory) => GitErrorKind::OutOfMemory,
            None => {
                let (code, signal) = (self.finished.code, self.finished.signal);
                GitErrorKind::Exit { code, signal, stderr }
            }
        })
    }

    pub(crate) fn unreadable(&self, reason: impl Into<String>) -> GitError {
        self.failed(GitErrorKind::Unreadable { reason: reason.into() })
    }

    /// Attributes the output to another command, which is part of a script.
    pub(crate) fn of(self, command: &'static str) -> Self {
        Self { command, ..self }
    }

    fn failed(&self, kind: GitErrorKind) -> GitError {
        GitError { command: self.command, place: self.place.clone(), kind }
    }

    fn line(&self) -> Result<String, GitError> {
        let text = std::str::from_utf8(&self.finished.stdout)
            .map_err(|_| self.unreadable("it is not UTF-8"))?;
        Ok(text.strip_suffix('\n').unwrap_or(text).to_owned())
    }
}

/// Whether this line of stderr means that git ran out of memory.
fn is_out_of_memory(line: &str) -> bool {
    let words = ["fatal: Out of memory", "fatal: mmap failed: Cannot allocate memory"];
    // Git forwards this message from its child processes with a prefix.
    words.iter().any(|it| line.trim_start_matches("remote: ").starts_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{Lab, attempt};
    use tempfile::TempDir;

    /// The environment of a program that git starts.
    fn environment(git: &Git, trust: Trust<'_>, place: &Path) -> String {
        let call = git.call(trust, place, "print-environment");
        let output = call.config("alias.print-environment=!env").output(&Cancel::default());
        String::from_utf8(output.expect("git runs the alias")).expect("UTF-8")
    }

    /// Root's boxes map owners. If the index had recorded other owners than the files have there,
    /// every git would read all files again.
    #[test]
    fn boxed_git_lacks_root_rights_and_finds_files_unchanged() {
        let lab = Lab::new();
        let vault = lab.vault();
        let base = lab.plan(&vault);
        let path = lab.checkout(&vault, &attempt(1), &base.start).path;
        let output = |call: Call<'_>| {
            String::from_utf8(call.output(&lab.cancel).expect("git runs")).expect("UTF-8")
        };
        let git = |command| vault.git.confined(&lab.policy, &path, command);
        let user = output(git("print-user").config("alias.print-user=!id -u"));
        assert_ne!(user.trim(), "0");
        // Lists the files that git would have to read to compare them.
        assert_eq!(output(git("diff-files").arg("--raw")), "");
    }

    #[test]
    fn git_and_its_children_have_a_memory_limit() {
        let home = TempDir::new().expect("a temporary folder");
        let git = Git::at_home(home.path());
        let policy = Policy::unconfined();
        let limit = |call: Call<'_>| {
            // The limit is set before the program gets any input.
            let call = call.config("alias.print-limit=!read -r go && ulimit -d").stdin(*b"go\n");
            let kib = call.line(&Cancel::default()).expect("git runs the alias");
            kib.parse::<u64>().expect("a limit") * 1_024
        };
        let call = |trust| git.call(trust, home.path(), "print-limit");
        assert_eq!(limit(call(Trust::Ours)), limits::GIT_MEMORY_BYTES_MAX);
        for foreign in [
            call(Trust::Ours).on_foreign_objects(),
            call(Trust::Confined(&policy)),
            call(Trust::Fresh(&policy)),
        ] {
            assert_eq!(limit(foreign), limits::GIT_FOREIGN_MEMORY_BYTES_MAX);
        }
    }

    #[test]
    fn out_of_memory_is_detected_only_from_git_messages() {
        for said in [
            "fatal: Out of memory, malloc failed (tried to allocate 9 bytes)",
            "remote: fatal: Out of memory, realloc failed",
            "fatal: mmap failed: Cannot allocate memory",
        ] {
            assert!(is_out_of_memory(said), "{said}");
        }
        assert!(!is_out_of_memory("error: object 1: badName: fatal: Out of memory"));
    }

    #[test]
    fn every_git_is_marked_with_its_owner() {
        let home = TempDir::new().expect("a temporary folder");
        let git = Git::at_home(home.path());
        let policy = Policy::unconfined();
        for trust in [Trust::Ours, Trust::Confined(&policy), Trust::Fresh(&policy)] {
            assert!(!environment(&git, trust, home.path()).contains("PITCREW_OWNER"));
            let owned = environment(&git.clone().owned_by("/state/1"), trust, home.path());
            assert!(owned.lines().any(|it| it == "PITCREW_OWNER=/state/1"), "{owned}");
        }
    }
}
