//! The steps of a snapshot: git commands that run one after another in one box. Making a box takes
//! longer than most of the commands.

use crate::{
    error::{GitError, GitErrorKind, VaultError},
    git::{Answer, Call, OUTPUT_BYTES_MAX, Waiting},
    git_dir::WORKER,
    snapshot::{Agent, Listed, Snapshot},
};
use pitcrew_model::{CommitId, limits};
use pitcrew_process::read_plain;
use std::{ffi::OsString, io};

const SCRIPT: &str = include_str!("steps.sh");

/// The same script, which first waits for a line of input.
const WAITING_SCRIPT: &str = concat!("read -r go || exit\n", include_str!("steps.sh"));

/// The exit codes of a shell for a command that was ended by a signal.
const ENDED_BY_SIGNAL: std::ops::RangeInclusive<i32> = 129..=192;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Lists the paths that differ from the index.
    Changed,
    /// Lists the same paths, and adds them to the index if they are few and not unusual. Otherwise,
    /// or if there are none, the script ends here.
    Listed,
    /// Adds everything but the given paths to the index.
    Add,
    /// Lists the differences of the index from the start.
    Nested,
    /// Creates a tree from the index.
    Tree,
    /// Finds the commit at the agent's HEAD, according to the agent's git folder.
    Head,
    /// Commits the tree on top of the agent's HEAD, or of the start if HEAD does not descend from
    /// it.
    Commit,
    /// Packs the objects that the commit has in addition to the start.
    Pack,
}

impl Step {
    const ALL: [Self; 8] = [
        Self::Changed,
        Self::Listed,
        Self::Add,
        Self::Nested,
        Self::Tree,
        Self::Head,
        Self::Commit,
        Self::Pack,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Listed => "listed",
            Self::Add => "add",
            Self::Nested => "nested",
            Self::Tree => "tree",
            Self::Head => "head",
            Self::Commit => "commit",
            Self::Pack => "pack",
        }
    }

    /// The git command that may fail in this step.
    fn command(self) -> &'static str {
        match self {
            Self::Changed | Self::Listed => "ls-files",
            Self::Add => "add",
            Self::Nested => "diff-index",
            Self::Tree => "write-tree",
            Self::Head => "rev-parse",
            Self::Commit => "commit-tree",
            Self::Pack => "pack-objects",
        }
    }
}

impl Snapshot<'_> {
    /// Runs the steps in this order, up to the first that fails, and stores their results in the
    /// snapshot. A pack that cannot be made is stored as a result too.
    pub(crate) fn take(&mut self, steps: &[Step]) -> Result<(), VaultError> {
        let mut answer = self.run(self.words(steps))?;
        let last = self.parse(&answer)?;
        if let Some(code) = answer.finished.code.filter(|it| ENDED_BY_SIGNAL.contains(it)) {
            (answer.finished.code, answer.finished.signal) = (None, Some(code - 128));
        }
        let succeeded = answer.finished.success();
        let answer = answer.of(last.map_or("steps", Step::command));
        if succeeded && last == Some(Step::Listed) {
            return Ok(());
        }
        if last == Some(Step::Pack) {
            self.broken = (!succeeded).then(|| answer.error());
        } else if !succeeded {
            return Err(answer.error().into());
        } else if last != steps.last().copied() {
            return Err(answer.unreadable("it did not take every step").into());
        }
        Ok(())
    }

    /// Runs the steps in the box where they already wait, or in a new box.
    fn run(&mut self, words: Vec<OsString>) -> Result<Answer, VaultError> {
        self.find_head()?;
        let waiting = self.waiting.take().filter(|it| it.0 == words);
        let answer = waiting.map(|it| it.1.go(self.cancel)).transpose()?;
        match answer {
            // If the waiting script never started, the steps are run in a new box.
            Some(answer) if !answer.finished.stdout.is_empty() => Ok(answer),
            Some(_) | None => Ok(self.ordered(SCRIPT, words).finish(self.cancel)?),
        }
    }

    fn ordered(&self, script: &'static str, words: Vec<OsString>) -> Call<'_> {
        let call = self.call("steps").script(script, words);
        WORKER.env().into_iter().fold(call, |call, (name, value)| call.env(name, value))
    }

    /// Creates the box of the steps. They start when they are taken, on this thread.
    pub(crate) fn wait_with(&self, steps: &[Step]) -> Option<(Vec<OsString>, Waiting)> {
        let words = self.words(steps);
        let waiting = self.ordered(WAITING_SCRIPT, words.clone()).wait_in_box()?;
        Some((words, waiting))
    }

    fn words(&self, steps: &[Step]) -> Vec<OsString> {
        let names: Vec<&str> = steps.iter().map(|it| it.name()).collect();
        let head = self.head.as_ref().map(|it| it.0.as_str()).unwrap_or_default();
        let agent = self.source.agent.word().into();
        let folder = self.folder.path().into();
        let large = limits::BLOB_BYTES_MAX.to_string().into();
        let before = self.vault.known.tree(self.source.start).unwrap_or_default().into();
        let [names, start, tree, head] =
            [&names.join(" "), self.source.start.0.as_str(), &self.tree, head].map(OsString::from);
        vec![names, folder, start, tree, head, agent, large, before]
    }

    /// Parses the output of the steps. Returns the last one that was started.
    fn parse(&mut self, answer: &Answer) -> Result<Option<Step>, GitError> {
        let mut last = None;
        for line in String::from_utf8_lossy(&answer.finished.stdout).lines() {
            let Some((name, value)) = line.split_once(' ') else { continue };
            let is_object = !value.is_empty() && value.bytes().all(|it| it.is_ascii_hexdigit());
            let object = || {
                let named = is_object.then(|| value.to_owned());
                named.ok_or_else(|| answer.unreadable(format!("`{line}` names no object")))
            };
            match name {
                "step" => last = Step::ALL.into_iter().find(|it| it.name() == value),
                "listed" if value == "nothing" => self.listed = Listed::Nothing,
                "listed" if value == "all" => self.listed = Listed::All,
                "added" => {
                    let stderr = answer.stderr();
                    let ended = if value == "1" { Added::InPart } else { Added::All };
                    self.left_out = left_out(&stderr, ended);
                    self.unread = unread(&stderr, ended, self.source.agent);
                }
                "tree" => self.tree = object()?,
                "head" => self.head = is_object.then(|| CommitId(value.to_owned())),
                "commit" => self.commit = CommitId(object()?),
                _ => {}
            }
        }
        Ok(last)
    }

    /// Reads what a step has written to the temporary folder. Other programs in the box may have
    /// changed the folder.
    pub(crate) fn written(&self, step: Step) -> Result<Vec<u8>, VaultError> {
        let path = self.folder.path().join(step.name());
        match read_plain(&path, OUTPUT_BYTES_MAX as u64) {
            Ok(content) => Ok(content.bytes),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                let kind = GitErrorKind::TooLong { bytes_max: OUTPUT_BYTES_MAX };
                Err(self.failed(step, kind).into())
            }
            Err(_) => Err(self.unreadable(step).into()),
        }
    }

    pub(crate) fn unreadable(&self, step: Step) -> GitError {
        let reason = "it is not what was asked for".into();
        self.failed(step, GitErrorKind::Unreadable { reason })
    }

    fn failed(&self, step: Step, kind: GitErrorKind) -> GitError {
        GitError { command: step.command(), place: self.source.path.to_owned(), kind }
    }
}

/// How much `git add` has added.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Added {
    All,
    InPart,
}

/// Errors of `git add` that name no file which would be lost: the first follows another error, the
/// second is about a repository, the third about a socket or a device.
const EXPLAINED: [&str; 3] = [
    "unable to index file ",
    "does not have a commit checked out",
    "can only add regular files, symbolic links or git-directories",
];

/// Files and folders that git could not read. For a working agent, only those without read
/// permission, because other errors are caused by concurrent changes.
pub(crate) fn unread(stderr: &str, added: Added, agent: Agent) -> Vec<String> {
    let is_over = agent == Agent::Gone;
    let path = |line: &str| {
        let error = line.strip_prefix("error: ");
        let file = error.and_then(|it| it.strip_prefix("open(\"")).map(|it| (it, "\"): "));
        let folder = line.strip_prefix("warning: could not open directory '");
        match file.or_else(|| Some((folder?, "': "))) {
            Some((rest, end)) => match rest.rsplit_once(end) {
                Some((path, reason)) => {
                    (is_over || reason == "Permission denied").then(|| path.to_owned())
                }
                // The name contains a newline, and the reason is on a later line.
                None => Some(rest.to_owned()),
            },
            None => {
                let is_counted = is_over && added == Added::InPart;
                let error = error.filter(|_| is_counted)?;
                let is_explained = EXPLAINED.iter().any(|it| error.contains(it));
                (!is_explained && !is_cut_name(error)).then(|| error.to_owned())
            }
        }
    };
    stderr.lines().filter_map(path).collect()
}

/// Whether the error begins with a name that contains a newline, so that the rest is on a later
/// line. Only errors about repositories begin with a name.
fn is_cut_name(error: &str) -> bool {
    error.strip_prefix('\'').is_some_and(|it| !it.contains("' "))
}

/// The folders that git skipped because they are repositories without a commit.
pub(crate) fn left_out(stderr: &str, added: Added) -> Vec<String> {
    let path = |line: &str| {
        let rest = line.strip_prefix("error: '")?;
        match rest.strip_suffix("/' does not have a commit checked out") {
            Some(path) => Some(path.to_owned()),
            None => is_cut_name(&line["error: ".len()..]).then(|| rest.to_owned()),
        }
    };
    stderr.lines().filter(|_| added == Added::InPart).filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_paths_are_reported() {
        let said = "error: open(\"core/a b\"): Permission denied\n\
                    error: unable to index file 'core/a b'\n\
                    warning: could not open directory 'closed/': Permission denied\n\
                    error: open(\"gone\"): No such file or directory\n\
                    error: open(\"two\nlines\"): Permission denied\n";
        let unread = |agent| unread(said, Added::InPart, agent);
        assert_eq!(unread(Agent::Working), ["core/a b", "closed/", "two"]);
        assert_eq!(unread(Agent::Gone), ["core/a b", "closed/", "gone", "two"]);
    }

    #[test]
    fn unexpected_add_errors_are_reported() {
        let said = "error: read error while indexing core/a: Input/output error\n\
                    error: core/socket: can only add regular files, symbolic links or git-directories\n";
        let unread = |added, agent| unread(said, added, agent);
        let error = "read error while indexing core/a: Input/output error";
        assert_eq!(unread(Added::InPart, Agent::Gone), [error]);
        assert_eq!(unread(Added::InPart, Agent::Working), [""; 0]);
        assert_eq!(unread(Added::All, Agent::Gone), [""; 0]);
    }

    #[test]
    fn repositories_without_a_commit_are_left_out() {
        let said = "error: 'core/a b/' does not have a commit checked out\n\
                    error: unable to index file 'core/a b/'\n\
                    error: 'two\nlines/' does not have a commit checked out\n";
        assert_eq!(left_out(said, Added::InPart), ["core/a b", "two"]);
        assert_eq!(left_out(said, Added::All), [""; 0]);
        assert_eq!(unread(said, Added::InPart, Agent::Gone), [""; 0], "they are listed once");
    }
}
