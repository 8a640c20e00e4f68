//! Creates the checkout that a worker works in.

use crate::{
    AttemptName, CheckoutKind, Vault,
    base_store::Store,
    commands::run_setup,
    error::{FileError, GitError},
    files::{self, failed, require_free_space},
    fill_ahead::Ahead,
    git_dir::exclude_line,
    records::{CheckoutRecord, CheckoutState},
    user_snapshot::listed,
    working_tree::WorkingTree,
};
use pitcrew_model::{CommitId, Failure};
use pitcrew_process::{Cancel, Policy};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The maximum number of untracked files from setup that are excluded although `.gitignore` does
/// not cover them. More than this are build results.
const SETUP_FILES_MAX: usize = 1_000;
/// Lists untracked files. Setup runs code of the repository and may leave pipes, on which git would
/// block.
const LIST_OTHERS: &str = "\
    find . -type p \\( -name '.git*' -o -path '*/.git/*' \\) -exec rm -f {} + 2>/dev/null
    \"$@\" ls-files -z --others --exclude-standard";

/// The number of names to try if a folder of that name exists already.
const FOLDERS_TRIED_MAX: u32 = 100;

#[derive(Clone, Debug)]
pub struct PrepareCheckout {
    pub name: AttemptName,
    pub kind: CheckoutKind,
    pub start: CommitId,
    /// Commands that make a new checkout usable.
    pub setup: Vec<String>,
}

impl PrepareCheckout {
    fn record(&self, path: String) -> CheckoutRecord {
        CheckoutRecord {
            state: CheckoutState::Making,
            path,
            plan: self.name.plan,
            task: self.name.task,
            number: self.name.number,
            slug: self.name.slug.clone(),
            start: self.start.clone(),
            submodules: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// A checkout that is ready for an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    pub path: PathBuf,
    /// Notes for a person, such as submodules that were left empty.
    pub notes: Vec<String>,
}

impl Vault {
    /// Creates the checkout of an attempt, or returns the existing one.
    ///
    /// If a checkout was unfinished at a crash, it is removed and made again. A checkout that a
    /// worker may have used is never removed here.
    ///
    /// Calls `claimed` with the path as soon as the folder exists.
    pub fn prepare_checkout(
        &self,
        order: &PrepareCheckout,
        policy: &Policy,
        cancel: &Cancel,
        claimed: &dyn Fn(&Path),
    ) -> Result<Checkout, Failure> {
        let attempt = order.name.attempt;
        if let Some(record) = self.records().checkout(attempt)? {
            let path = PathBuf::from(&record.path);
            match record.state {
                CheckoutState::Ready if files::is_folder(&path) => {
                    return Ok(Checkout { path, notes: record.notes });
                }
                CheckoutState::Making => files::remove_folder(&path)?,
                CheckoutState::Ready => {}
            }
        }
        files::create_private_folder(&self.layout.checkouts)?;
        require_free_space(&self.layout.checkouts)?;
        let (mut record, ahead) = self.claim(order)?;
        let path = PathBuf::from(&record.path);
        let made = self.lend_to(&path, &order.start, ahead.as_ref(), cancel).and_then(|store| {
            claimed(&path);
            let policy = &store.readable(policy);
            let ahead = ahead.as_ref();
            let tree = self.fill_checkout(order, &path, ahead, claimed, &store, policy, cancel)?;
            self.make_usable(order, &path, tree, &mut record, policy, cancel)
        });
        if let Err(failure) = made {
            self.give_back(&path).ok();
            // No agent has used the folder. If this fails, it is removed at the next attempt.
            files::remove_folder(&path).ok();
            return Err(as_checkout_failure(failure));
        }
        fail::fail_point!("checkout-made", |_| std::process::abort());
        record.state = CheckoutState::Ready;
        self.records().set_checkout(attempt, &record)?;
        Ok(Checkout { path, notes: record.notes })
    }

    /// Takes the folder that is already being filled for this order, or creates a new one, and
    /// records that it is not ready.
    fn claim(&self, order: &PrepareCheckout) -> Result<(CheckoutRecord, Option<Ahead>), Failure> {
        let task = order.name.task;
        let Some(ahead) = self.take_ahead(order) else {
            // This may remove a note that should have been removed earlier but could not be.
            self.forget_ahead(task)?;
            return Ok((self.claim_folder(order)?, None));
        };
        let record = order.record(ahead.path.to_string_lossy().into_owned());
        let noted = self.records().set_checkout(order.name.attempt, &record);
        if let Err(error) = noted.and_then(|()| self.forget_ahead(task)) {
            self.end_ahead(&ahead);
            return Err(error.into());
        }
        Ok((record, Some(ahead)))
    }

    /// Creates an empty folder that certainly belongs to Pitcrew and records that it is being
    /// filled.
    fn claim_folder(&self, order: &PrepareCheckout) -> Result<CheckoutRecord, Failure> {
        let folder = order.name.folder(order.kind);
        for number in 1..=FOLDERS_TRIED_MAX {
            let name = if number == 1 { folder.clone() } else { format!("{folder}-{number}") };
            let path = self.layout.checkouts.join(name);
            if files::is_there(&path) {
                continue;
            }
            let text = path.to_str().ok_or_else(|| Failure::Checkout {
                message: format!("`{}` is not UTF-8: move the repository", path.display()),
            })?;
            let record = order.record(text.to_owned());
            self.records().set_checkout(order.name.attempt, &record)?;
            match fs::create_dir(&path) {
                Ok(()) => return Ok(record),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed("create the folder", &path)(error).into()),
            }
        }
        let message = format!(
            "`{}` and its like are taken: remove old folders in `{}`",
            folder,
            self.layout.checkouts.display()
        );
        Err(Failure::Checkout { message })
    }

    /// The store of a new checkout. A folder that is being filled has one already.
    fn lend_to(
        &self,
        path: &Path,
        start: &CommitId,
        ahead: Option<&Ahead>,
        cancel: &Cancel,
    ) -> Result<Store, Failure> {
        Ok(match ahead {
            Some(_) => self.lender(path, start, cancel)?,
            None => self.lend(path, start, cancel)?,
        })
    }

    /// Fills the folder, unless that was already done ahead of the order.
    #[expect(clippy::too_many_arguments, reason = "a folder, what fills it, and who may")]
    fn fill_checkout(
        &self,
        order: &PrepareCheckout,
        path: &Path,
        ahead: Option<&Ahead>,
        claimed: &dyn Fn(&Path),
        store: &Store,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<WorkingTree, Failure> {
        let (branch, start) = (order.name.branch(order.kind), &order.start);
        if let Some(ahead) = ahead {
            if self.catch_up(ahead, start, store, policy, cancel) {
                let exclude = self.write_git_dir(path, &branch, start, store, cancel)?;
                return Ok(self.complete_tree(path, exclude, store, policy, cancel)?);
            }
            // The caller may already use the old path, so the new one is reported too.
            files::remove_folder(path)?;
            files::create_folder(path)?;
            claimed(path);
        }
        Ok(self.make_tree(path, &branch, start, store, policy, cancel)?)
    }

    fn make_usable(
        &self,
        order: &PrepareCheckout,
        path: &Path,
        mut tree: WorkingTree,
        record: &mut CheckoutRecord,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<(), Failure> {
        let attempt = order.name.attempt;
        files::copy_with_times(&path.join(".git/index"), &self.records().index(attempt))?;
        if !order.setup.is_empty() {
            run_setup(policy, &order.setup, path, cancel)?;
            tree.exclude.extend(self.made_by_setup(path, policy, cancel)?);
            write_exclude(path, &tree.exclude)?;
        }
        files::write(&self.records().exclude(attempt), &tree.exclude)?;
        record.submodules = tree.submodules.filled;
        record.notes = tree.submodules.notes;
        if !record.submodules.is_empty() {
            let names = listed(&record.submodules);
            record
                .notes
                .push(format!("changes inside these submodules are not collected: {names}"));
        }
        Ok(())
    }

    /// Excludes for files that setup created, because they are not the agent's work.
    fn made_by_setup(
        &self,
        path: &Path,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<Vec<u8>, GitError> {
        let output = self
            .git
            .confined(policy, path, "ls-files")
            .script(LIST_OTHERS, Vec::new())
            .output(cancel)?;
        Ok(output
            .split(|it| *it == 0)
            .filter(|it| !it.is_empty())
            .take(SETUP_FILES_MAX)
            .flat_map(exclude_line)
            .collect())
    }
}

/// Setup runs code of the repository, which may have put a link at this path.
fn write_exclude(path: &Path, exclude: &[u8]) -> Result<(), FileError> {
    files::write_below(path, ".git/info/exclude", exclude)
}

/// Reports failures of git or the file system as failures of the checkout.
pub(crate) fn as_checkout_failure(failure: Failure) -> Failure {
    if let Failure::Git { message } = failure { Failure::Checkout { message } } else { failure }
}
