//! Removes a checkout whose work is in the vault.

mod other_refs;

use crate::{
    Vault, agent_git,
    error::{GitError, GitErrorKind, VaultError, chain},
    files,
    import::Checking,
    names,
    records::CheckoutRecord,
    snapshot::Agent,
    take_pack::require_bundle,
};
use pitcrew_model::{AttemptId, CommitId, Failure};
use pitcrew_process::{Cancel, Policy};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// The result of a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    Removed,
    Kept { reason: String },
}

impl Vault {
    /// Removes the checkout if its state equals the saved one and no process is in it.
    ///
    /// Any other state is saved first. A changed checkout is kept, so that a person can inspect it.
    /// A repeated call removes it, because the changed state is saved by then.
    pub fn remove_checkout(
        &self,
        attempt: AttemptId,
        path: &Path,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<Removal, Failure> {
        if !files::is_there(path) {
            // The checkout may have been moved aside before an interruption.
            self.forget_checkout(attempt, path, policy, cancel)?;
            return Ok(Removal::Removed);
        }
        let kept = |reason: String| Ok(Removal::Kept { reason });
        let Some(record) = self.records().checkout(attempt)? else {
            return kept("nothing is known of it: look into it and remove it by hand".into());
        };
        if Path::new(&record.path) != path || !files::is_folder(path) {
            return kept(format!("the checkout of {attempt} was {}", record.path));
        }
        if let Some(process) = process_in(path) {
            return kept(format!("process {process} works in it"));
        }
        let known = self.known_trees(attempt, &record, cancel)?;
        let saved = match self.save_tree(attempt, path, &record.start, Agent::Gone, policy, cancel)
        {
            Err(VaultError::Git(error)) if matches!(error.kind, GitErrorKind::Unread { .. }) => {
                return kept(chain(&error));
            }
            other => other?,
        };
        if !agent_git::is_plain(path) {
            let reason = "its `.git` has links or special files where git would look: look into it \
                 and remove it by hand";
            return kept(reason.into());
        }
        // This runs git, so it comes after the pipes that git would block on are removed.
        let readable = self.lender(path, &record.start, cancel)?.readable(policy);
        for module in &record.submodules {
            if self.is_changed(path, module, &readable, cancel)? {
                return kept(format!("the submodule {module} has changes, which are not saved"));
            }
        }
        match self.save_branches(attempt, path, &record.start, &readable, cancel) {
            Err(VaultError::Git(error)) if is_of_the_agent(&error) => {
                return kept(format!(
                    "other branches and stashes in it could not be saved: {}",
                    chain(&error)
                ));
            }
            other => other?,
        }
        let tree = match known.get(&saved) {
            Some(tree) => tree.clone(),
            None => self.tree(&saved, cancel)?,
        };
        if !known.values().any(|it| *it == tree) {
            return kept(format!(
                "it changed after its work was saved; the change is saved as {}",
                saved.short()
            ));
        }
        fail::fail_point!("removal-before", |_| std::process::abort());
        // The folder is moved first, because after a crash a partly removed folder would look like
        // a changed checkout, and its remaining files like work.
        files::rename(path, &aside(attempt, path))?;
        fail::fail_point!("removal-half", |_| std::process::abort());
        self.forget_checkout(attempt, path, policy, cancel)?;
        Ok(Removal::Removed)
    }

    /// Removes the records of a checkout that is gone or was moved aside.
    fn forget_checkout(
        &self,
        attempt: AttemptId,
        path: &Path,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<(), Failure> {
        files::remove_folder(&aside(attempt, path))?;
        if let Some(record) = self.records().checkout(attempt)? {
            self.remove_copies(Some(record.task), policy, cancel)?;
        }
        self.remove_lent(attempt)?;
        self.give_back(path)?;
        self.drop_pulls(attempt, cancel)?;
        Ok(files::remove_folder(&self.records().attempt(attempt))?)
    }

    /// The saved trees, the collected trees and the start of an attempt, by commit.
    fn known_trees(
        &self,
        attempt: AttemptId,
        record: &CheckoutRecord,
        cancel: &Cancel,
    ) -> Result<BTreeMap<CommitId, String>, VaultError> {
        let (saved, work) = (names::saved_ref(attempt), record.name(attempt).work_ref());
        let names = [record.start.0.as_str(), &saved, &work];
        let asked = names.map(|it| format!("{it}^{{commit}}\n{it}^{{tree}}\n")).concat();
        let call = self.call("cat-file").arg("--batch-check=%(objectname)").stdin(asked);
        let said = call.line(cancel)?;
        let lines: Vec<&str> = said.lines().collect();
        // For a missing object, git prints its name followed by `missing`.
        let found = lines.as_chunks().0.iter().filter(|it| !it.iter().any(|it| it.contains(' ')));
        Ok(found.map(|[commit, tree]| (CommitId((*commit).into()), (*tree).into())).collect())
    }

    /// Saves the agent's other commits: branches, stashes, tags.
    fn save_branches(
        &self,
        attempt: AttemptId,
        path: &Path,
        start: &CommitId,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<(), VaultError> {
        let git_dir = path.join(".git");
        if !files::is_folder(&git_dir) || other_refs::are_none(&git_dir, start) {
            return Ok(());
        }
        let folder = files::TemporaryFolder::new(&self.layout.scratch, &attempt.to_string())?;
        let bundle = folder.path().join("bundle");
        let answer = self
            .git
            .confined(policy, path, "bundle")
            .writing(folder.path())
            .git_dir(&git_dir)
            .args(["create", "--quiet"])
            .arg(&bundle)
            .args(["--all", &format!("^{start}")])
            .finish(cancel)?;
        if !answer.finished.success() {
            // If there are no other commits, git reports an error.
            let is_empty = |it: &str| it.starts_with("fatal: Refusing to create empty bundle");
            let nothing_new = answer.stderr().lines().any(is_empty);
            return if nothing_new { Ok(()) } else { Err(answer.error().into()) };
        }
        if let Ok(()) = self.fetch_branches(attempt, &bundle, Checking::Strict, cancel) {
            return Ok(());
        }
        // Malformed commits are kept too: no work is based on them, but a person may want to
        // inspect them.
        Ok(self.fetch_branches(attempt, &bundle, Checking::Off, cancel)?)
    }

    fn fetch_branches(
        &self,
        attempt: AttemptId,
        bundle: &Path,
        checking: Checking,
        cancel: &Cancel,
    ) -> Result<(), GitError> {
        match checking {
            Checking::Strict => self.take_bundle(bundle, cancel)?,
            Checking::Off => drop(require_bundle(bundle)?),
        }
        self.foreign("fetch")
            .config("transfer.fsckObjects=false")
            .args(["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"])
            .arg("--no-recurse-submodules")
            .arg(bundle)
            .arg(format!("+refs/*:refs/pitcrew/saved-refs/{attempt}/*"))
            .done(cancel)
    }

    fn is_changed(
        &self,
        path: &Path,
        module: &str,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<bool, VaultError> {
        let module = path.join(module);
        if !files::is_folder(&module.join(".git")) {
            return Ok(false);
        }
        let status = self
            .git
            .confined(policy, &module, "status")
            .within(path)
            .args(["--porcelain", "-z", "--ignore-submodules=all"])
            .finish(cancel)?;
        Ok(!status.finished.success() || !status.finished.stdout.is_empty())
    }
}

/// Whether the error is caused by the contents of the agent's git folder.
fn is_of_the_agent(error: &GitError) -> bool {
    error.is_excess()
        || matches!(error.kind, GitErrorKind::Exit { .. } | GitErrorKind::Unreadable { .. })
}

/// The path that a checkout is moved to before it is removed.
fn aside(attempt: AttemptId, path: &Path) -> PathBuf {
    path.with_file_name(format!(".removed-{attempt}"))
}

/// Finds a process whose working folder is in the checkout.
pub(crate) fn process_in(path: &Path) -> Option<u32> {
    let own = std::process::id();
    fs::read_dir("/proc").into_iter().flatten().flatten().find_map(|entry| {
        let number: u32 = entry.file_name().to_str()?.parse().ok()?;
        let folder = fs::read_link(entry.path().join("cwd")).ok()?;
        (number != own && folder.starts_with(path)).then_some(number)
    })
}
