//! Marks the files of a checkout that its worker cannot see, so that git does not report them as
//! deleted.

use crate::{Vault, prepare_checkout::as_checkout_failure};
use pitcrew_model::Failure;
use pitcrew_process::{Cancel, Policy};
use std::path::Path;

impl Vault {
    /// Marks files at or below these paths as unchanged, although the worker cannot see them. Has
    /// to be called before the worker starts.
    pub fn narrow(
        &self,
        checkout: &Path,
        unseen: &[String],
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<(), Failure> {
        let narrowed = self.try_to_narrow(checkout, unseen, policy, cancel);
        narrowed.map_err(|error| as_checkout_failure(error.into()))
    }

    fn try_to_narrow(
        &self,
        checkout: &Path,
        unseen: &[String],
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<(), crate::GitError> {
        let files = self.git.confined(policy, checkout, "ls-files").args(["-z"]).output(cancel)?;
        let is_unseen = |file: &&[u8]| {
            let below = |it: &String| {
                let rest = file.strip_prefix(it.as_bytes());
                rest.is_some_and(|it| it.is_empty() || it.starts_with(b"/"))
            };
            !file.is_empty() && unseen.iter().any(below)
        };
        let mut list = files.split(|it| *it == 0).filter(is_unseen).collect::<Vec<_>>().join(&0);
        if list.is_empty() {
            return Ok(());
        }
        list.push(0);
        self.git
            .confined(policy, checkout, "update-index")
            .args(["--skip-worktree", "-z", "--stdin"])
            .stdin(list)
            .done(cancel)
    }
}
