//! The base store: the only vault objects that a program in a box can read.
//!
//! The vault has everything in the user's repository, including unmerged branches and stashes. So
//! checkouts borrow from a second bare repository beside it, which holds what is reachable from the
//! bases and the integration heads of plans. A checkout that starts from another commit, such as
//! the snapshot of a parent, gets the missing objects in its own git folder.
//!
//! The store is filled with one pack at a time and never removes an object, so a checkout can
//! borrow from it for its whole lifetime. A commit is listed after its pack is on disk. If a fill
//! is killed, it leaves at most an unlisted pack, and the next fill creates that pack again.

use crate::{
    Git, Vault,
    error::{FileError, GitError, VaultError},
    files::{self, failed},
    records::{self, Durability},
    vault::CONFIG,
};
use pitcrew_model::CommitId;
use pitcrew_process::Cancel;
use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// The maximum number of listed commits. Publishing a commit that was dropped from the list costs a
/// small pack.
const LISTED_MAX: usize = 500;

/// The commits whose objects are all in the base store, the latest last. `None` until the list is
/// read.
pub(crate) type Published = Mutex<Option<Arc<Vec<CommitId>>>>;

impl Vault {
    /// Adds a commit of a plan and its history to the store that every checkout borrows from.
    pub(crate) fn publish(&self, commit: &CommitId, cancel: &Cancel) -> Result<(), VaultError> {
        let mut published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        let listed = self.listed(&mut published)?;
        if listed.contains(commit) {
            return Ok(());
        }
        let store = self.layout.base_store();
        if !files::is_there(&store.join("HEAD")) {
            init_bare(&self.git, &store, commit, cancel)?;
        }
        let packs = store.join("objects/pack");
        self.pack_missing(&packs, &commit.0, &listed, cancel)?;
        fail::fail_point!("publish-packed", |_| std::process::abort());
        sync(&packs)?;
        let first = (listed.len() + 1).saturating_sub(LISTED_MAX);
        let listed: Vec<CommitId> = listed[first..].iter().chain([commit]).cloned().collect();
        records::write(&list(&store), &listed, Durability::PowerLoss)?;
        *published = Some(Arc::new(listed));
        drop(published);
        self.gather_store_packs(cancel)
    }

    /// Writes the objects of a commit or tree that the base store lacks to an objects folder that
    /// borrows from it.
    pub(crate) fn supply(
        &self,
        objects: &Path,
        wanted: &str,
        cancel: &Cancel,
    ) -> Result<(), VaultError> {
        let listed = {
            let mut published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
            self.listed(&mut published)?
        };
        if listed.iter().any(|it| it.0 == wanted) {
            return Ok(());
        }
        Ok(self.pack_missing(&objects.join("pack"), wanted, &listed, cancel)?)
    }

    /// The objects folder that checkouts borrow from.
    pub(crate) fn borrowed(&self) -> PathBuf {
        self.layout.base_store().join("objects")
    }

    fn listed(
        &self,
        published: &mut Option<Arc<Vec<CommitId>>>,
    ) -> Result<Arc<Vec<CommitId>>, FileError> {
        if published.is_none() {
            let listed = records::read(&list(&self.layout.base_store()))?.unwrap_or_default();
            *published = Some(Arc::new(listed));
        }
        Ok(published.clone().expect("it was just read"))
    }

    /// Packs what is reachable from `wanted` but not from the listed commits, directly into another
    /// folder. Git writes the pack under a temporary name in the vault and renames it when it is
    /// complete.
    fn pack_missing(
        &self,
        packs: &Path,
        wanted: &str,
        listed: &[CommitId],
        cancel: &Cancel,
    ) -> Result<(), GitError> {
        let mut revisions = format!("{wanted}\n");
        for commit in listed {
            writeln!(revisions, "^{commit}").expect("a string takes everything");
        }
        // Objects that a partial clone never downloaded are missing in a checkout too.
        let missing = if self.settings.is_partial { "allow-any" } else { "error" };
        self.call("pack-objects")
            .config("pack.writeReverseIndex=false")
            .args(["--quiet", "--revs", "--delta-base-offset", "--non-empty"])
            .arg(format!("--missing={missing}"))
            .arg(packs.join("pack"))
            .stdin(revisions)
            .done(cancel)
    }
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

fn list(store: &Path) -> PathBuf {
    store.join("published.json")
}

fn sync(path: &Path) -> Result<(), FileError> {
    fs::File::open(path).and_then(|it| it.sync_all()).map_err(failed("sync", path))
}
