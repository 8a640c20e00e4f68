//! Base stores: the only vault objects that a program in a box can read.
//!
//! The vault has everything in the user's repository, including unmerged branches and stashes, and
//! the work of all plans. So a checkout borrows from a store beside the vault, which holds exactly
//! what is reachable from one commit: the base or an integration head of a plan. A checkout that
//! starts from another commit, such as the snapshot of a parent, borrows from the store of the
//! nearest ancestor and gets the missing objects in its own git folder.
//!
//! A new store hard-links the packs of its nearest ancestor's and adds one pack with the rest. A
//! store never changes, so a checkout can borrow from it for its whole lifetime. It is listed after
//! it is on disk; if a fill is killed, the next one starts again.

use crate::{
    Git, Vault,
    error::{FileError, GitError, VaultError},
    files::{self, failed},
    gather_packs::count_packs,
    names,
    records::{self, Durability},
    vault::CONFIG,
};
use pitcrew_model::{CommitId, Failure};
use pitcrew_process::{Cancel, Policy};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    sync::{MutexGuard, PoisonError},
};

/// The stores that are kept although no tree borrows from them: the next plan starts from one.
const UNUSED_MAX: usize = 8;

/// A store with more packs than this is not linked as a whole. Git searches all packs for an object.
const PACKS_MAX: usize = 16;

/// The name of the empty store.
const NONE: &str = "none";

/// How many commits to search for the nearest store. Commits of one attempt are rarely more.
const NEAR_MAX: &str = "--max-count=500";

/// The list of all stores, and who borrows from which.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stores {
    /// The latest last.
    listed: Vec<Listed>,
    /// The checkouts and copies that borrow, by path.
    borrowers: BTreeMap<String, Option<CommitId>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Listed {
    commit: CommitId,
    /// The store with few packs that it descends from, or itself.
    root: CommitId,
}

/// The store that a tree borrows from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Store {
    /// Its objects are reachable from this commit. `None` for the empty store.
    commit: Option<CommitId>,
    folder: PathBuf,
}

impl Store {
    /// The objects folder to borrow from.
    pub(crate) fn objects(&self) -> PathBuf {
        self.folder.join("objects")
    }

    /// The repositories that submodules borrow from.
    pub(crate) fn modules(&self) -> PathBuf {
        self.folder.join("modules")
    }

    /// What a program that uses the tree must be able to read.
    fn folders(&self) -> [PathBuf; 2] {
        [self.objects(), self.modules()]
    }

    /// A policy that allows to read the store too.
    pub(crate) fn readable(&self, policy: &Policy) -> Policy {
        self.folders().iter().fold(policy.clone(), Policy::reading)
    }
}

impl Vault {
    /// Makes the store of a commit of a plan.
    pub(crate) fn publish(&self, commit: &CommitId, cancel: &Cancel) -> Result<(), VaultError> {
        let mut stores = self.stores();
        self.fill_store(&mut stores, commit, cancel)?;
        self.drop_unused(&mut stores)
    }

    /// Chooses the store for a new tree that starts from `start`, and notes that the tree borrows
    /// from it.
    pub(crate) fn lend(
        &self,
        tree: &Path,
        start: &CommitId,
        cancel: &Cancel,
    ) -> Result<Store, VaultError> {
        let mut stores = self.stores();
        let commit = self.choose(&mut stores, start, cancel)?;
        let before = stores.borrowers.insert(key(tree), commit.clone());
        if before.as_ref() != Some(&commit) {
            self.save_stores(&stores)?;
        }
        drop(stores);
        self.store(commit)
    }

    /// The store for a short-lived tree, which is not noted on the disk. `like` is the tree whose
    /// store it uses.
    pub(crate) fn lend_briefly(
        &self,
        tree: &Path,
        like: Option<&Path>,
        start: &CommitId,
        cancel: &Cancel,
    ) -> Result<Store, VaultError> {
        let mut stores = self.stores();
        let noted = like.and_then(|it| stores.borrowers.get(&key(it)).cloned());
        let commit = match noted {
            Some(commit) => commit,
            None => self.choose(&mut stores, start, cancel)?,
        };
        stores.borrowers.insert(key(tree), commit.clone());
        drop(stores);
        self.store(commit)
    }

    /// Lends a store to a short-lived tree while `use_tree` runs.
    pub(crate) fn while_lent<T>(
        &self,
        (tree, start): (&Path, &CommitId),
        policy: &Policy,
        cancel: &Cancel,
        use_tree: impl FnOnce(&Store, &Policy) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let store = self.lend_briefly(tree, None, start, cancel)?;
        let used = use_tree(&store, &store.readable(policy));
        self.give_back(tree).ok();
        used
    }

    /// The nearest store, or a new one of a plan's commit in the history of `start`. Another commit
    /// may be work of an agent that was not judged.
    fn choose(
        &self,
        stores: &mut Stores,
        start: &CommitId,
        cancel: &Cancel,
    ) -> Result<Option<CommitId>, VaultError> {
        if let Some(near) = self.nearest(stores, start, cancel)? {
            return Ok(Some(near));
        }
        let commit = self.plan_commit_in(start, cancel)?;
        if let Some(commit) = &commit {
            self.fill_store(stores, commit, cancel)?;
        }
        Ok(commit)
    }

    /// The store that a tree borrows from, which is chosen now if a note was lost.
    pub(crate) fn lender(
        &self,
        tree: &Path,
        start: &CommitId,
        cancel: &Cancel,
    ) -> Result<Store, VaultError> {
        let noted = self.stores().borrowers.get(&key(tree)).cloned();
        match noted {
            Some(commit) => self.store(commit),
            None => self.lend(tree, start, cancel),
        }
    }

    /// The folders that a tree borrows from, which programs in its box must be able to read.
    pub fn shared_folders(&self, tree: &Path) -> Vec<PathBuf> {
        let noted = self.stores().borrowers.get(&key(tree)).cloned();
        let store = noted.and_then(|it| self.store(it).ok());
        store.map(|it| it.folders().to_vec()).unwrap_or_default()
    }

    /// Removes the note of a tree that is gone.
    pub(crate) fn give_back(&self, tree: &Path) -> Result<(), VaultError> {
        let mut stores = self.stores();
        if stores.borrowers.remove(&key(tree)).is_some() {
            self.save_stores(&stores)?;
        }
        Ok(())
    }

    /// Removes the notes of trees that are gone, and the stores that no tree needs.
    pub(crate) fn sweep_stores(&self) -> Result<(), VaultError> {
        let mut stores = self.stores();
        let before = stores.borrowers.len();
        stores.borrowers.retain(|tree, _| files::is_there(Path::new(tree)));
        if stores.borrowers.len() != before {
            self.save_stores(&stores)?;
        }
        // A fill was killed, or the list was lost.
        for entry in fs::read_dir(self.layout.bases()).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_listed = stores.listed.iter().any(|it| *it.commit.0 == *name);
            if !is_listed && name != *NONE && files::is_folder(&entry.path()) {
                files::remove_folder(&entry.path())?;
            }
        }
        self.drop_unused(&mut stores)
    }

    /// Writes the objects of a commit or tree that the store lacks to an objects folder that
    /// borrows from it.
    pub(crate) fn supply(
        &self,
        store: &Store,
        objects: &Path,
        wanted: &str,
        cancel: &Cancel,
    ) -> Result<(), VaultError> {
        if store.commit.as_ref().is_some_and(|it| it.0 == wanted) {
            return Ok(());
        }
        Ok(self.pack_missing(&objects.join("pack"), wanted, store.commit.as_ref(), cancel)?)
    }

    /// Makes the store of a commit, which must not be the work of an agent that was not judged.
    fn fill_store(
        &self,
        stores: &mut Stores,
        commit: &CommitId,
        cancel: &Cancel,
    ) -> Result<(), VaultError> {
        if stores.listed.iter().any(|it| it.commit == *commit) {
            return Ok(());
        }
        let bases = self.layout.bases();
        let temporary = bases.join("new");
        files::remove_folder(&temporary)?;
        let packs = temporary.join("objects/pack");
        files::create_folder(&packs)?;
        files::create_folder(&temporary.join("modules"))?;
        let near = self.nearest(stores, commit, cancel)?;
        let near = near.and_then(|near| stores.listed.iter().find(|it| it.commit == near));
        let from = near.map(|near| {
            let count = count_packs(&bases.join(&near.commit.0).join("objects"));
            if count < PACKS_MAX { &near.commit } else { &near.root }
        });
        if let Some(from) = from {
            let from = bases.join(&from.0);
            link_below(&from.join("objects/pack"), &packs, Way::Link)?;
            link_below(&from.join("modules"), &temporary.join("modules"), Way::Copy)?;
        }
        self.pack_missing(&packs, &commit.0, from, cancel)?;
        fail::fail_point!("publish-packed", |_| std::process::abort());
        sync(&packs)?;
        sync(&temporary.join("objects"))?;
        sync(&temporary)?;
        let folder = bases.join(&commit.0);
        files::remove_folder(&folder)?;
        files::rename(&temporary, &folder)?;
        sync(&bases)?;
        let is_root = count_packs(&folder.join("objects")) < PACKS_MAX / 2;
        let root = near.map(|it| it.root.clone()).filter(|_| !is_root);
        let root = root.unwrap_or_else(|| commit.clone());
        stores.listed.push(Listed { commit: commit.clone(), root });
        self.save_stores(stores)
    }

    /// The listed commit that is nearest to `commit` in its history.
    fn nearest(
        &self,
        stores: &Stores,
        commit: &CommitId,
        cancel: &Cancel,
    ) -> Result<Option<CommitId>, GitError> {
        let listed: BTreeSet<&str> = stores.listed.iter().map(|it| it.commit.0.as_str()).collect();
        if listed.is_empty() || listed.contains(commit.0.as_str()) {
            return Ok(listed.get(commit.0.as_str()).map(|_| commit.clone()));
        }
        let near =
            self.foreign("rev-list").args([NEAR_MAX, "--topo-order", &commit.0]).output(cancel)?;
        let near = String::from_utf8_lossy(&near).into_owned();
        if let Some(found) = near.lines().find(|it| listed.contains(it)) {
            return Ok(Some(CommitId(found.to_owned())));
        }
        for it in stores.listed.iter().rev() {
            if self.is_ancestor(&it.commit, commit, cancel)? {
                return Ok(Some(it.commit.clone()));
            }
        }
        Ok(None)
    }

    /// The latest base or integration head in the history of `commit`.
    fn plan_commit_in(
        &self,
        commit: &CommitId,
        cancel: &Cancel,
    ) -> Result<Option<CommitId>, GitError> {
        let found = self
            .foreign("for-each-ref")
            .args(["--sort=-committerdate", "--format=%(objectname)", "--count=1"])
            .arg(format!("--merged={commit}"))
            .args(names::PLAN_REFS)
            .line(cancel)?;
        Ok(Some(found).filter(|it| !it.is_empty()).map(CommitId))
    }

    fn store(&self, commit: Option<CommitId>) -> Result<Store, VaultError> {
        let name = commit.as_ref().map_or(NONE, |it| it.0.as_str());
        let folder = self.layout.bases().join(name);
        if commit.is_none() {
            files::create_folder(&folder.join("objects/pack"))?;
            files::create_folder(&folder.join("modules"))?;
        }
        Ok(Store { commit, folder })
    }

    /// Removes stores from which no tree borrows, except the latest.
    fn drop_unused(&self, stores: &mut Stores) -> Result<(), VaultError> {
        let borrowed: BTreeSet<&CommitId> = stores.borrowers.values().flatten().collect();
        let unused = stores.listed.iter().filter(|it| !borrowed.contains(&it.commit));
        let unused: Vec<CommitId> = unused.map(|it| it.commit.clone()).collect();
        let Some(count) = unused.len().checked_sub(UNUSED_MAX).filter(|it| *it > 0) else {
            return Ok(());
        };
        // A root has to stay as long as a store that descends from it.
        let roots: BTreeSet<CommitId> = stores
            .listed
            .iter()
            .filter(|it| !unused[..count].contains(&it.commit))
            .map(|it| it.root.clone())
            .collect();
        let dropped = unused[..count].iter().filter(|it| !roots.contains(it));
        let dropped: Vec<CommitId> = dropped.cloned().collect();
        stores.listed.retain(|it| !dropped.contains(&it.commit));
        self.save_stores(stores)?;
        for commit in dropped {
            files::remove_folder(&self.layout.bases().join(&commit.0))?;
        }
        Ok(())
    }

    fn stores(&self) -> StoresGuard<'_> {
        let mut guard = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        if guard.is_none() {
            // Without the list, the stores are made again.
            let read = records::read::<Stores>(&self.stores_note()).ok().flatten();
            *guard = Some(read.unwrap_or_default());
        }
        StoresGuard { guard }
    }

    fn save_stores(&self, stores: &Stores) -> Result<(), VaultError> {
        Ok(records::write(&self.stores_note(), stores, Durability::Process)?)
    }

    fn stores_note(&self) -> PathBuf {
        self.layout.bases().join("stores.json")
    }

    /// Packs what is reachable from `wanted` but not from `known`, directly into another folder.
    /// Git writes the pack under a temporary name in the vault and renames it when it is complete.
    fn pack_missing(
        &self,
        packs: &Path,
        wanted: &str,
        known: Option<&CommitId>,
        cancel: &Cancel,
    ) -> Result<(), GitError> {
        let known = known.map(|it| format!("^{it}\n")).unwrap_or_default();
        // Objects that a partial clone never downloaded are missing in a checkout too.
        let missing = if self.settings.is_partial { "allow-any" } else { "error" };
        self.call("pack-objects")
            .config("pack.writeReverseIndex=false")
            .args(["--quiet", "--revs", "--delta-base-offset", "--non-empty"])
            .arg(format!("--missing={missing}"))
            .arg(packs.join("pack"))
            .stdin(format!("{wanted}\n{known}"))
            .done(cancel)
    }
}

/// The list, locked and read.
struct StoresGuard<'a> {
    guard: MutexGuard<'a, Option<Stores>>,
}

impl std::ops::Deref for StoresGuard<'_> {
    type Target = Stores;

    fn deref(&self) -> &Stores {
        self.guard.as_ref().expect("it was read")
    }
}

impl std::ops::DerefMut for StoresGuard<'_> {
    fn deref_mut(&mut self) -> &mut Stores {
        self.guard.as_mut().expect("it was read")
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Hard links, for files that never change.
    Link,
    /// Copies, but links below `objects`.
    Copy,
}

/// Links or copies all files below a folder. A file that cannot be linked is copied.
fn link_below(from: &Path, to: &Path, way: Way) -> Result<(), FileError> {
    let mut open = vec![(from.to_owned(), to.to_owned(), way)];
    while let Some((from, to, way)) = open.pop() {
        files::create_folder(&to)?;
        for entry in fs::read_dir(&from).into_iter().flatten().flatten() {
            let (source, target) = (entry.path(), to.join(entry.file_name()));
            if files::is_folder(&source) {
                let is_objects = entry.file_name() == "objects";
                open.push((source, target, if is_objects { Way::Link } else { way }));
                continue;
            }
            let linked = match way {
                Way::Link => fs::hard_link(&source, &target),
                Way::Copy => Err(io::ErrorKind::Unsupported.into()),
            };
            linked
                .or_else(|_| fs::copy(&source, &target).map(drop))
                .map_err(failed("copy", &target))?;
        }
    }
    Ok(())
}

/// Creates an empty bare repository with the object format of `commit`. After a crash, it is either
/// complete or missing.
pub(crate) fn init_bare(
    git: &Git,
    path: &Path,
    commit: &CommitId,
    cancel: &Cancel,
) -> Result<(), VaultError> {
    let parent = path.parent().expect("it is in a folder");
    files::create_folder(parent)?;
    let mut name = path.file_name().expect("it has a name").to_owned();
    name.push(".new");
    let temporary = parent.join(name);
    files::remove_folder(&temporary)?;
    let format = if commit.0.len() == 64 { "sha256" } else { "sha1" };
    git.ours(parent, "init")
        .args(["--quiet", "--bare", "--template=", &format!("--object-format={format}")])
        .arg(&temporary)
        .done(cancel)?;
    let config = temporary.join("config");
    let mut text = files::read_if_there(&config)?.unwrap_or_default();
    text.extend_from_slice(CONFIG.as_bytes());
    files::write(&config, text)?;
    files::rename(&temporary, path)?;
    Ok(sync(parent)?)
}

fn key(tree: &Path) -> String {
    tree.display().to_string()
}

fn sync(path: &Path) -> Result<(), FileError> {
    fs::File::open(path).and_then(|it| it.sync_all()).map_err(failed("sync", path))
}
