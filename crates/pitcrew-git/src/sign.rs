//! Signs prepared commits as the user's own git would, in the terminal of the person.
//!
//! Only the command line calls this: a key may ask for a passphrase, or for a touch. The vault
//! accepts the result only if nothing but the signatures was added.

use crate::{
    Repository,
    commits::{Commit, identity_and_date, new_commits, read_commit},
    error::GitError,
};
use pitcrew_model::{CommitId, Unsigned};
use pitcrew_process::{Cancel, run_in_terminal};
use std::{collections::BTreeMap, ffi::OsString, io};

/// Why commits were not signed.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("git cannot be started")]
    Start(#[source] io::Error),
    /// Git or the program that signs has explained this on the terminal.
    #[error("git could not sign {commit}: it failed with {}", exit_of(*code))]
    Refused { commit: String, code: Option<i32> },
    #[error("{commit} cannot be signed: it is not a commit of pitcrew")]
    Foreign { commit: String },
}

fn exit_of(code: Option<i32>) -> String {
    code.map_or_else(|| "a signal".into(), |it| format!("exit code {it}"))
}

impl Repository {
    /// Signs the commits and returns the last of the signed ones.
    pub fn sign(&self, unsigned: &Unsigned, cancel: &Cancel) -> Result<CommitId, SignError> {
        let Unsigned { commit: end, below, .. } = unsigned;
        let commits = new_commits(self.call("rev-list"), end, below, cancel)?;
        let mut signed = BTreeMap::new();
        for id in &commits {
            let (commit, _) = read_commit(self.call("cat-file"), id, cancel)?;
            signed.insert(id.clone(), self.sign_one(id, &commit.onto(&signed))?);
        }
        Ok(signed.get(end).unwrap_or(end).clone())
    }

    fn sign_one(&self, id: &CommitId, commit: &Commit) -> Result<CommitId, SignError> {
        let foreign = || SignError::Foreign { commit: id.short().to_string() };
        let mut env = Vec::new();
        for (who, line) in [("AUTHOR", &commit.author), ("COMMITTER", &commit.committer)] {
            let (identity, date) = identity_and_date(line).ok_or_else(foreign)?;
            env.push((format!("GIT_{who}_NAME"), identity.name.to_owned()));
            env.push((format!("GIT_{who}_EMAIL"), identity.email.to_owned()));
            env.push((format!("GIT_{who}_DATE"), format!("@{date}")));
        }
        let env = env.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let mut argv: Vec<OsString> = vec!["git".into()];
        // The message stays as it is, whatever encoding the user has set.
        for setting in ["core.hooksPath=/dev/null", "i18n.commitEncoding=UTF-8"] {
            argv.extend(["-c".into(), setting.into()]);
        }
        argv.extend(["commit-tree", "-S", &commit.tree].map(OsString::from));
        for parent in &commit.parents {
            argv.extend(["-p".into(), OsString::from(&parent.0)]);
        }
        let (code, output) = run_in_terminal(&argv, self.root(), env, commit.message.as_bytes())
            .map_err(SignError::Start)?;
        let name = String::from_utf8_lossy(&output).trim().to_owned();
        if code != Some(0) || name.is_empty() {
            return Err(SignError::Refused { commit: id.short().to_string(), code });
        }
        Ok(CommitId(name))
    }
}
