//! Runs the user's hooks on a landing: `pre-merge-commit` once, and `commit-msg` for each message.
//!
//! Hooks are run as checks are: confined, in a clean checkout of the result. The files that they
//! change are dropped; the messages that they change are used.

use crate::{
    Vault,
    bootstrap::copy_missing,
    commands::Commands,
    error::{GitError, VaultError},
    files::{self, require_free_space},
    history::shown,
    land::LandPlan,
    scratch::require_passed,
};
use pitcrew_model::{CheckResult, CommitId, Failure, limits};
use pitcrew_process::{Cancel, Folder, Policy};
use std::{
    collections::BTreeMap,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

const PRE_MERGE: &str = "pre-merge-commit";
const COMMIT_MSG: &str = "commit-msg";
/// The file of git that a hook finds the message in.
const MESSAGE_FILE: &str = ".git/COMMIT_EDITMSG";
/// The folder of the messages in a checkout.
const MESSAGES: &str = ".git/pitcrew-messages";
const MESSAGE_BYTES_MAX: u64 = 64 * 1_024;

/// The hooks of the user that apply to a landing.
pub(crate) struct UserHooks {
    folder: PathBuf,
    names: Vec<&'static str>,
}

impl UserHooks {
    fn has(&self, name: &str) -> bool {
        self.names.contains(&name)
    }
}

impl Vault {
    /// The hooks that the user's git would run. `None` if there are none.
    pub(crate) fn user_hooks(&self, cancel: &Cancel) -> Result<Option<UserHooks>, GitError> {
        let folder = self.hooks_folder(cancel)?;
        let is_executable = |name: &&str| {
            let metadata = std::fs::metadata(folder.join(name));
            metadata.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
        };
        let names: Vec<_> = [PRE_MERGE, COMMIT_MSG].into_iter().filter(is_executable).collect();
        Ok((!names.is_empty()).then_some(UserHooks { folder, names }))
    }

    /// Pitcrew turns hooks off on its own command line, so that setting is skipped.
    fn hooks_folder(&self, cancel: &Cancel) -> Result<PathBuf, GitError> {
        let call = self.user.call("config").args(["--show-scope", "--type=path", "-z"]);
        let output = call.args(["--get-all", "core.hooksPath"]).output(cancel)?;
        let output = String::from_utf8_lossy(&output);
        let mut fields = output.split('\0');
        let mut folder = None;
        while let (Some(scope), Some(value)) = (fields.next(), fields.next()) {
            if scope != "command" {
                folder = Some(self.user.root().join(value));
            }
        }
        Ok(folder.unwrap_or_else(|| self.user.common_dir().join("hooks")))
    }

    /// Runs setup, these checks and the hooks in a checkout of `end`. Returns the messages that the
    /// hooks have changed.
    pub(crate) fn try_hooks(
        &self,
        (order, hooks): (&LandPlan, &UserHooks),
        (tip, end): (&CommitId, &CommitId),
        (checks, commits): (&[String], &[CommitId]),
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<BTreeMap<CommitId, String>, Failure> {
        require_free_space(&self.layout.scratch)?;
        let (_folder, path) = self.scene(&format!("{}-hooks", order.plan))?.parts();
        self.while_lent((&path, &order.head), policy, cancel, |store, policy| {
            self.make_tree(&path, "pitcrew/check", end, store, policy, cancel)?;
            self.run_hooks((order, hooks), (tip, &path), (checks, commits), policy, cancel)
        })
    }

    fn run_hooks(
        &self,
        (order, hooks): (&LandPlan, &UserHooks),
        (tip, path): (&CommitId, &Path),
        (checks, commits): (&[String], &[CommitId]),
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<BTreeMap<CommitId, String>, Failure> {
        // Everything is written before a program runs there, which could replace folders by links.
        let place = self.copy_hooks(hooks, path)?;
        let messages = self.write_messages(path, commits, cancel)?;
        let mut commands = Commands::of(policy, path);
        commands.run_setup(&order.setup, cancel)?;
        require_passed(&commands.run_checks(checks, cancel)?)?;
        let mut run = |name: &str, command: &str| {
            // Hooks find the branch at HEAD, and what is added to it in the index, as in git.
            let command = format!("git update-ref HEAD {tip} && export GIT_EDITOR=: && {command}");
            commands
                .run_one(&command, limits::CHECK_TIMEOUT_MS, cancel)
                .and_then(|it| if it.passed() { Ok(()) } else { Err(refusal(name, it)) })
        };
        if hooks.has(PRE_MERGE) {
            run(PRE_MERGE, &quoted(&place.join(PRE_MERGE)))?;
        }
        let mut changed = BTreeMap::new();
        if !hooks.has(COMMIT_MSG) {
            return Ok(changed);
        }
        let hook = quoted(&place.join(COMMIT_MSG));
        for (number, (commit, message)) in messages.iter().enumerate() {
            let file = format!("{MESSAGES}/{number}");
            let command = format!(
                "cp {file} {MESSAGE_FILE} && {{ {hook} {MESSAGE_FILE}; code=$?; \
                 cp {MESSAGE_FILE} {file}; exit $code; }}"
            );
            run(COMMIT_MSG, &command).map_err(|it| about(it, message))?;
            let after = read_message(path, &file)?;
            if after.trim().is_empty() {
                let output = "it left an empty message".into();
                let failure = Failure::Hook { hook: COMMIT_MSG.into(), code: Some(0), output };
                return Err(about(failure, message));
            }
            if after.trim() != message.trim() {
                changed.insert(commit.clone(), after);
            }
        }
        Ok(changed)
    }

    /// Copies the hooks into the checkout and returns their folder, relative to it.
    ///
    /// Hooks that are part of the working tree stay at their path, and files of the result win.
    fn copy_hooks(&self, hooks: &UserHooks, checkout: &Path) -> Result<PathBuf, VaultError> {
        let git_dirs = [self.user.git_dir(), self.user.common_dir()];
        let is_ours = !git_dirs.iter().any(|it| hooks.folder.starts_with(it));
        if let Ok(below) = hooks.folder.strip_prefix(self.user.root())
            && is_ours
        {
            copy_missing(self.user.root(), checkout, below)?;
            return Ok(below.to_owned());
        }
        let (Some(parent), Some(name)) = (hooks.folder.parent(), hooks.folder.file_name()) else {
            return Ok(hooks.folder.clone());
        };
        copy_missing(parent, &checkout.join(".git"), Path::new(name))?;
        Ok(Path::new(".git").join(name))
    }

    /// Writes each message to a file, and returns them in order.
    fn write_messages(
        &self,
        checkout: &Path,
        commits: &[CommitId],
        cancel: &Cancel,
    ) -> Result<Vec<(CommitId, String)>, VaultError> {
        files::create_folder(&checkout.join(MESSAGES))?;
        let mut messages = Vec::new();
        for (number, id) in commits.iter().enumerate() {
            let message = self.commit_text(id, cancel)?.0.message;
            files::write(&checkout.join(MESSAGES).join(number.to_string()), &message)?;
            messages.push((id.clone(), message));
        }
        Ok(messages)
    }
}

/// Reads a message back. Programs may have replaced the folder, so no link is followed.
fn read_message(checkout: &Path, file: &str) -> Result<String, Failure> {
    let path = Path::new(file);
    let read = Folder::open(checkout).and_then(|it| it.read(path, MESSAGE_BYTES_MAX));
    let content = read.map_err(files::failed("read", &checkout.join(path)))?;
    Ok(shown(&String::from_utf8_lossy(&content.bytes)))
}

fn refusal(hook: &str, result: CheckResult) -> Failure {
    Failure::Hook { hook: hook.into(), code: result.code, output: result.output }
}

/// Names the message that a hook refused.
fn about(mut failure: Failure, message: &str) -> Failure {
    if let Failure::Hook { output, .. } = &mut failure {
        let subject = message.lines().next().unwrap_or_default();
        *output = format!("in the message `{subject}`:\n{output}");
    }
    failure
}

fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let path = if path.is_absolute() { text } else { format!("./{text}") };
    format!("'{}'", path.replace('\'', r"'\''"))
}
