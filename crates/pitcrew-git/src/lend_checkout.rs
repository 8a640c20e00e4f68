//! Lends checkouts to sub-tasks that only read a state of their parent's work.
//!
//! Readers of the same state share a checkout. A free checkout is updated to the next state by
//! changing only what differs. A reader may write; its changes are detected and undone before
//! another reader gets the checkout. Ignored files are absent, and setup is not run.

use crate::{
    Checkout, Vault,
    base_store::Store,
    error::{GitError, VaultError},
    files::{self, TemporaryFolder, failed, require_free_space},
    fill::Fill,
    git::Call,
    git_dir::GitDir,
    pool::{Lent, Pool},
    prepare_checkout::as_checkout_failure,
    records::CheckoutState,
};
use pitcrew_model::{AttemptId, CommitId, Failure};
use pitcrew_process::{Cancel, Policy};
use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

const BRANCH: &str = "reading";
const SCRIPT: &str = include_str!("lend.sh");
const SUBMODULES: &str = "submodules are empty in a checkout that is only read";

#[derive(Clone, Debug)]
pub struct LendCheckout {
    /// The attempt of the reader.
    pub attempt: AttemptId,
    /// The attempt whose work is read.
    pub parent: AttemptId,
    pub start: CommitId,
    /// The readers that may still be in a lent checkout. All others have left.
    pub present: BTreeSet<AttemptId>,
}

impl Vault {
    /// Reuses, updates or creates a checkout with the requested state.
    ///
    /// A repeated call for the same attempt returns the same checkout. A checkout that was
    /// unfinished at a crash is made again, because no reader has used it.
    ///
    /// Calls `claimed` with the path before the checkout is updated, and again if another path is
    /// used in the end.
    pub fn lend_checkout(
        &self,
        order: &LendCheckout,
        policy: &Policy,
        cancel: &Cancel,
        claimed: &dyn Fn(&Path),
    ) -> Result<Checkout, Failure> {
        let lock = self.lock_of_pool(order.parent);
        let _held = lock.lock().expect("no holder of the lock panics");
        let mut pool = self.pool(order.parent)?;
        if let Some(index) = pool.of(order.attempt)
            && pool.checkouts[index].is_ready()
        {
            return Ok(pool.checkouts[index].as_checkout());
        }
        self.drop_unfinished(&mut pool)?;
        for lent in &mut pool.checkouts {
            lent.readers.retain(|it| order.present.contains(it));
        }
        let lending = Lending { vault: self, order, policy, cancel };
        let index = match lending.shared(&pool, claimed)? {
            Some(index) => {
                pool.checkouts[index].readers.push(order.attempt);
                index
            }
            None => lending.own(&mut pool, claimed)?,
        };
        self.set_pool(order.parent, &pool)?;
        Ok(pool.checkouts[index].as_checkout())
    }

    /// Undoes the changes of a reader that has left and has no running processes, so that the next
    /// reader need not wait for that.
    pub fn leave_lent(
        &self,
        reader: AttemptId,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<(), Failure> {
        for parent in self.lenders() {
            let lock = self.lock_of_pool(parent);
            let _held = lock.lock().expect("no holder of the lock panics");
            let mut pool = self.pool(parent)?;
            let Some(index) = pool.of(reader) else { continue };
            let lent = &mut pool.checkouts[index];
            lent.readers.retain(|it| *it != reader);
            if lent.is_ready() && lent.is_free() {
                lent.state = CheckoutState::Making;
                let (start, present) = (lent.commit.clone(), BTreeSet::new());
                let order = LendCheckout { attempt: reader, parent, start, present };
                let lent = lent.clone();
                self.set_pool(parent, &pool)?;
                let lending = Lending { vault: self, order: &order, policy, cancel };
                pool.checkouts[index] = lending.tidy(lent)?;
            }
            self.set_pool(parent, &pool)?;
        }
        Ok(())
    }

    /// Removes every checkout that was lent to sub-tasks of an attempt. They contain no work.
    pub fn remove_lent(&self, parent: AttemptId) -> Result<(), Failure> {
        let lock = self.lock_of_pool(parent);
        let _held = lock.lock().expect("no holder of the lock panics");
        for lent in self.pool(parent)?.checkouts {
            files::remove_folder(Path::new(&lent.path))?;
            self.give_back(Path::new(&lent.path))?;
        }
        files::remove_folder(&self.records().pool(parent))?;
        Ok(())
    }

    fn drop_unfinished(&self, pool: &mut Pool) -> Result<(), Failure> {
        for lent in pool.checkouts.iter().filter(|it| it.state == CheckoutState::Making) {
            files::remove_folder(Path::new(&lent.path))?;
        }
        pool.checkouts.retain(Lent::is_ready);
        files::create_private_folder(&self.layout.checkouts)?;
        require_free_space(&self.layout.checkouts)
    }
}

impl Lent {
    fn as_checkout(&self) -> Checkout {
        let notes = if self.has_submodules { vec![SUBMODULES.to_owned()] } else { Vec::new() };
        Checkout { path: PathBuf::from(&self.path), notes }
    }
}

/// One order in progress.
struct Lending<'a> {
    vault: &'a Vault,
    order: &'a LendCheckout,
    policy: &'a Policy,
    cancel: &'a Cancel,
}

impl Lending<'_> {
    /// An unchanged checkout of the same state that other readers use.
    fn shared(&self, pool: &Pool, claimed: &dyn Fn(&Path)) -> Result<Option<usize>, Failure> {
        for (index, lent) in pool.checkouts.iter().enumerate() {
            let is_used = !lent.readers.is_empty() && !lent.has_submodules;
            if is_used && lent.commit == self.order.start {
                // Reported before the check, because such a checkout is rarely changed.
                claimed(Path::new(&lent.path));
                let tree = self.tree(lent)?;
                if tree.beside()? == lent.beside {
                    return Ok(Some(index));
                }
            }
        }
        Ok(None)
    }

    /// A checkout for this reader alone: a free one, preferably of the same state, or a new one.
    fn own(&self, pool: &mut Pool, claimed: &dyn Fn(&Path)) -> Result<usize, Failure> {
        let is_best = |it: &Lent| it.is_free() && it.commit == self.order.start;
        let free = pool.checkouts.iter().position(is_best);
        let free = free.or_else(|| pool.checkouts.iter().position(Lent::is_free));
        let index = match free {
            Some(index) => index,
            None => {
                pool.checkouts.push(self.claim_folder(pool)?);
                pool.checkouts.len() - 1
            }
        };
        let lent = &mut pool.checkouts[index];
        let before = free.is_some().then(|| lent.commit.clone());
        lent.state = CheckoutState::Making;
        lent.readers = vec![self.order.attempt];
        let lent = lent.clone();
        self.vault.set_pool(self.order.parent, pool)?;
        self.vault.lend(Path::new(&lent.path), &self.order.start, self.cancel)?;
        claimed(Path::new(&lent.path));
        match self.fill(lent, before.as_ref()) {
            Ok(lent) => {
                pool.checkouts[index] = lent;
                Ok(index)
            }
            Err(error) => {
                // If this fails, the folder is removed at the next attempt.
                files::remove_folder(Path::new(&pool.checkouts[index].path)).ok();
                let failure = as_checkout_failure(error.into());
                // A reader may have left a folder that cannot be reset.
                if before.is_none() || failure == Failure::Interrupted {
                    return Err(failure);
                }
                pool.checkouts.remove(index);
                self.own(pool, claimed)
            }
        }
    }

    fn claim_folder(&self, pool: &Pool) -> Result<Lent, Failure> {
        let numbers = pool.checkouts.iter().map(|it| it.number);
        let mut number = numbers.max().unwrap_or_default();
        loop {
            number += 1;
            let path =
                self.vault.layout.checkouts.join(format!("{}-reads-{number}", self.order.parent));
            match fs::create_dir(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(failed("create the folder", &path)(error).into()),
            }
            let path = path.to_str().ok_or_else(|| Failure::Checkout {
                message: format!("`{}` is not UTF-8: move the repository", path.display()),
            })?;
            return Ok(Lent {
                number,
                state: CheckoutState::Making,
                path: path.to_owned(),
                commit: self.order.start.clone(),
                readers: Vec::new(),
                beside: Vec::new(),
                has_submodules: false,
                is_tidy: false,
            });
        }
    }

    /// Updates a folder to the requested state, from `before` or from an empty folder.
    fn fill(&self, mut lent: Lent, before: Option<&CommitId>) -> Result<Lent, VaultError> {
        let (start, path) = (&self.order.start, PathBuf::from(&lent.path));
        let tree = self.tree(&lent)?;
        if lent.commit != *start {
            let objects = tree.git_dir().join("objects");
            self.vault.supply(&tree.store, &objects, &start.0, self.cancel)?;
        }
        // A reader may have changed this git folder, so it is not reused.
        files::remove_folder(&path.join(".git"))?;
        match before {
            Some(before) if lent.is_tidy => tree.take(before, start)?,
            Some(before) => tree.undo_and_take(before, start)?,
            None => tree.fill_with(start)?,
        }
        lent.is_tidy = false;
        lent.has_submodules = files::is_there(&path.join(".gitmodules"));
        lent.commit = start.clone();
        let copied = self.vault.bootstrap(&path, self.cancel)?;
        tree.write_git_dir(&path.join(".git"), start)?;
        files::copy_with_times(&tree.index(), &path.join(".git/index"))?;
        files::copy_with_times(&tree.index(), &self.index(&lent))?;
        lent.beside = if copied.is_empty() { Vec::new() } else { tree.beside_of(start)? };
        lent.state = CheckoutState::Ready;
        Ok(lent)
    }

    /// Resets an unused folder to the state that was lent.
    fn tidy(&self, mut lent: Lent) -> Result<Lent, VaultError> {
        let tree = self.tree(&lent)?;
        files::remove_folder(&Path::new(&lent.path).join(".git"))?;
        tree.undo_and_take(&lent.commit, &lent.commit)?;
        files::copy_with_times(&tree.index(), &self.index(&lent))?;
        lent.state = CheckoutState::Ready;
        lent.is_tidy = true;
        Ok(lent)
    }

    fn index(&self, lent: &Lent) -> PathBuf {
        self.vault.lent_index(self.order.parent, lent.number)
    }

    /// Creates a private git folder for the tree, with the last known index.
    fn tree(&self, lent: &Lent) -> Result<Tree<'_>, VaultError> {
        let name = format!("{}-reads", self.order.parent);
        let folder = TemporaryFolder::new(&self.vault.layout.scratch, &name)?;
        let path = PathBuf::from(&lent.path);
        let store = self.vault.lender(&path, &lent.commit, self.cancel)?;
        let policy = store.readable(self.policy);
        let tree = Tree { lending: self, path, folder, store, policy };
        tree.write_git_dir(&tree.git_dir(), &lent.commit)?;
        let index = self.index(lent);
        if files::is_there(&index) {
            files::copy_with_times(&index, &tree.index())?;
        }
        Ok(tree)
    }
}

/// A tree that its readers may have written to, accessed with a git folder that they cannot reach.
struct Tree<'a> {
    lending: &'a Lending<'a>,
    path: PathBuf,
    folder: TemporaryFolder,
    store: Store,
    /// Allows to read the store.
    policy: Policy,
}

impl Tree<'_> {
    fn git_dir(&self) -> PathBuf {
        self.folder.path().join("git")
    }

    fn index(&self) -> PathBuf {
        self.git_dir().join("index")
    }

    fn call(&self, command: &'static str) -> Call<'_> {
        self.of_this(self.lending.vault.git.confined(&self.policy, &self.path, command))
    }

    fn of_this<'a>(&self, call: Call<'a>) -> Call<'a> {
        call.git_dir(&self.git_dir()).option("--work-tree=.").config("submodule.recurse=false")
    }

    /// Fills a new folder.
    fn fill_with(&self, start: &CommitId) -> Result<(), GitError> {
        let Lending { vault, cancel, .. } = self.lending;
        let call = |command| self.of_this(vault.git.fresh(&self.policy, &self.path, command));
        let fill = Fill { call: &call, place: &self.path, index: self.index(), commit: start };
        fill.done(vault.parts(), cancel)
    }

    /// Updates a tree that no reader has used since it was reset. Only the differences between the
    /// two states are read.
    fn take(&self, before: &CommitId, start: &CommitId) -> Result<(), GitError> {
        if before == start {
            return Ok(());
        }
        let Lending { vault, cancel, .. } = self.lending;
        let taken = self
            .of_this(vault.git.fresh(&self.policy, &self.path, "read-tree"))
            .args(["-m", "-u", &start.0])
            .done(cancel);
        taken.or_else(|_| self.undo_and_take(before, start))
    }

    /// Updates a tree that readers have used and that was not checked since.
    fn undo_and_take(&self, before: &CommitId, start: &CommitId) -> Result<(), GitError> {
        let folder = self.folder.path();
        let words = vec![(&before.0).into(), (&start.0).into(), folder.into()];
        let call = self.call("read-tree").writing(folder).script(SCRIPT, words);
        call.done(self.lending.cancel)
    }

    fn write_git_dir(&self, path: &Path, commit: &CommitId) -> Result<(), VaultError> {
        let vault = self.lending.vault;
        let exclude = vault.settings.excludes(&vault.user)?;
        let objects = [self.store.objects()];
        let settings = &vault.settings;
        let git_dir =
            GitDir { branch: BRANCH, commit, objects: &objects, settings, exclude: &exclude };
        git_dir.write(path)?;
        vault.supply(&self.store, &path.join("objects"), &commit.0, self.lending.cancel)
    }

    /// Lists everything that differs from the commit: changed, missing, added, ignored.
    fn beside(&self) -> Result<Vec<u8>, GitError> {
        self.call("status")
            .args(["--porcelain", "-z", "--no-renames", "--untracked-files=normal"])
            .args(["--ignored=traditional", "--ignore-submodules=all"])
            .output(self.lending.cancel)
    }

    /// Does the same after the tree was updated to another commit.
    fn beside_of(&self, commit: &CommitId) -> Result<Vec<u8>, VaultError> {
        self.write_git_dir(&self.git_dir(), commit)?;
        Ok(self.beside()?)
    }
}
